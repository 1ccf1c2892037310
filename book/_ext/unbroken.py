"""Sphinx extension: a line does not end between a number and what belongs to it, as in "5 %",
"0.97 ± 0.02" and "chapter 7".
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

SPACE = re.compile(
    r"(?<=\d) (?=[%±×])|(?<=[±×]) (?=[\d−])|(?<=\b[Cc]hapter) (?=\d)|(?<=\b[Ee]xercise) (?=\d)"
)
AS_WRITTEN = (nodes.FixedTextElement, nodes.literal, nodes.raw, nodes.math, nodes.math_block)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_post_transform(Unbroken)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class Unbroken(SphinxPostTransform):
    default_priority = 900  # once links have their text

    def run(self, **_options: Any) -> None:
        for text in list(self.document.findall(nodes.Text)):
            if not within(text, (*AS_WRITTEN, nodes.title)):
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
    return SPACE.sub("\u00a0", text)
