"""Sphinx extension: a line does not end between a number and what belongs to it, as in "5 %",
"0.97 ± 0.02", "chapter 7" and "24 blocks", or "7.5e-67" and "(1.0 to 1.7)" where a cell prints
them; and code too long for a phone is broken where its parts end.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

SPACE = re.compile(
    r"(?<=\d) (?=[%±×]|(?:blocks|heads|inputs|keys|layers|minutes|seeds|steps|tokens)\b)"
    r"|(?<=[±×÷]) (?=[\d−√])"
)
NUMBERED = re.compile(r"\b([Cc]hapter|[Ee]xercise|[Ll]ayer|[Ss]eed|[Ss]tep|of) (?=\d)")
PART = re.compile(r"(?<=[\w)][._(])(?=[A-Za-z(])")
CODE = re.compile(r'(<span class="pre">)([^<]{24,})(?=</span></code>)')
PRINTED = re.compile(
    r'(<div class="output [^>]*>\s*<div class="highlight"><pre>)(.*?)(?=</pre>)', re.S
)
NUMBER = re.compile(
    r"\([^()\s<]+ to [^()\s<]+\)"  # an interval
    r"|\(?[\d.,]+ ± [\d.,]+\)?(?:·10[⁻⁰¹²³⁴-⁹]+)?"
    r"|[^\s<>]*\d[e^]-\d[^\s<]*"
)
CELL = re.compile(r"(?<=<td)([^>]*>)([^<]+)(?=</td>)")
AS_WRITTEN = (nodes.FixedTextElement, nodes.literal, nodes.raw, nodes.math, nodes.math_block)
NARROW = (nodes.title, nodes.entry)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_post_transform(Unbroken)
    app.connect("html-page-context", break_code)
    app.connect("html-page-context", keep_printed_numbers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class Unbroken(SphinxPostTransform):
    default_priority = 900  # once links have their text

    def run(self, **_options: Any) -> None:
        for text in list(self.document.findall(nodes.Text)):
            if not within(text, AS_WRITTEN + NARROW):
                joined = unbroken(text.astext())
                if joined != text.astext():
                    text.parent.replace(text, nodes.Text(joined))


def within(node: nodes.Node, kinds: tuple[type, ...]) -> bool:
    while node := node.parent:
        if isinstance(node, kinds):
            return True
    return False


def unbroken(text: str) -> str:
    """The same text with spaces that do not break in place of those that would part a number.

    Example:
        >>> unbroken("12 ± 3 % of them (chapter 7)").replace("\\u00a0", "~")
        '12~±~3~% of them (chapter~7)'
    """
    return NUMBERED.sub("\\1\u00a0", SPACE.sub("\u00a0", text))


def break_code(
    _app: Sphinx, _name: str, _template: str, context: dict[str, Any], _tree: nodes.document | None
) -> None:
    """Say where code that is too long for a line may be broken."""
    if "body" in context:
        context["body"] = CODE.sub(
            lambda match: match[1] + PART.sub("<wbr>", match[2]), context["body"]
        )


def keep_printed_numbers(
    _app: Sphinx, _name: str, _template: str, context: dict[str, Any], _tree: nodes.document | None
) -> None:
    """Keep a number that a cell prints, or a table has, on one line, where a phone breaks it."""
    if "body" in context:
        body = PRINTED.sub(
            lambda match: match[1] + NUMBER.sub(r'<span class="together">\g<0></span>', match[2]),
            context["body"],
        )
        context["body"] = CELL.sub(lambda match: match[1] + unbroken(match[2]), body)
