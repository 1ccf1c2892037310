"""Sphinx extension: what cells print in tables is set as on the page: a root with its index, a true
minus sign, thousands by commas, names in place of those that the code uses.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sdpa_book.writing.names import display_name, names_of_code
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

NAMES = {code: name for code, name in names_of_code().items() if code != "none"}
"""Elsewhere than in :func:`spelled` "none" is a word."""

ROW = re.compile(r"<tr>(.*?)</tr>", re.S)
CELL = re.compile(r"(<t[dh][^>]*>)(.*?)(</t[dh]>)", re.S)
RAISED = "[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]"
FIGURE = rf"[-−]?\d[\d,.]*(e[-+]?\d+)?{RAISED}*"
NUMBER = re.compile(
    r"(&[lg]t;|[<>≤≥±~×])?\s?"
    rf"\(?{FIGURE}\s?%?( ± {FIGURE})?\)?(·10{RAISED}+)?( \({FIGURE} to {FIGURE}\))?"
    r"|[-−]?inf|–|none|all|"
)
"""What a column of numbers holds: also powers, intervals, and shares of all or none."""
CODE_NAME = re.compile(rf"(?<![\w.])({'|'.join(NAMES)})(?!\w)")
MINUS = re.compile(r"(?<![\w)-])-(?=[\d.]*\d|inf)|(?<=[\w)] )-(?= [\w(])")
HEADING = re.compile(r"<th\b.*?</th>", re.S)
EMPTY = re.compile(r"<th\b[^>]*></th>")
"""The head of a column whose cells need none: nothing that a screen reader would announce."""
JOINED = re.compile(r"(?<=[\w)>]) ([−=]) (?=[\w(−<])")
"""A sign in a heading, which does not part a formula."""
EXPONENT = re.compile(r"(?<=\d)e(-?)0*(\d+)(?!\w|\.\d)")
POWER = re.compile(r"\^(?:\(([^()]+)\)|(−?\w+(?:[./]\w+)*))")
APOSTROPHE = re.compile(r"(?<=\w)('|&#x27;)")
WHOLE = re.compile(r"(?<![\w.,^(])(?!20[12]\d\b)\d{4,}(?!\w|\)|, ?\d)")
"""No year, and none of a shape, (2, 32, 2048, 64)."""
INDEX = re.compile(r"(?:(?<![A-Za-z_])|(?<=\bX))([A-Za-zσΣ])_([A-Za-z]{1,6}|\d+)(?![A-Za-z_\d])")
"""Also in XW_Q and in d_k²."""


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_post_transform(SetTables)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class SetTables(SphinxPostTransform):
    default_priority = 195  # after MyST-NB has chosen what is shown of an output
    formats = ("html",)

    def run(self, **_kwargs: Any) -> None:
        for raw in self.document.findall(nodes.raw):
            if 'class="sdpa-table"' in raw.astext():
                raw[:] = [nodes.Text(table(raw.astext()))]


def table(html: str) -> str:
    """A table as HTML, its cells set, and columns of numbers to the right also where they are
    texts.
    """
    rows = [CELL.findall(row) for row in ROW.findall(html)]
    headings = [text for _, text, _ in rows[0]]
    numbers = [
        all(NUMBER.fullmatch(text) for _, text, _ in column)
        for column in zip(*rows[1:], strict=True)
    ]

    def row(line: re.Match[str]) -> str:
        cells = [
            (start.replace('"text"', '"number"') if number else start)
            + typeset(spelled(text, heading))
            + end
            for heading, number, (start, text, end) in zip(
                headings, numbers, CELL.findall(line[1]), strict=True
            )
        ]
        return f"<tr>{''.join(cells)}</tr>"

    html = HEADING.sub(lambda head: JOINED.sub("\u00a0\\1\u00a0", head[0]), ROW.sub(row, html))
    return EMPTY.sub("<td></td>", html)


def spelled(text: str, heading: str) -> str:
    """A cell's text, where it is a heading or says what divides: elsewhere "none" is a word."""
    names_a_scaling = text == heading or heading.startswith("divided by")
    return re.sub("none$", display_name("none"), text) if names_a_scaling else text


def typeset(text: str) -> str:
    """A cell's text as HTML.

    Example:
        >>> typeset("sqrt_d_k")
        '√<i>d</i><sub>k</sub>'
        >>> typeset("-2.5 to 9.18e-07")
        '−2.5 to 9.18·10<sup>−7</sup>'
        >>> typeset("p(1 - p)")
        'p(1 − p)'
        >>> typeset("d_k^(1/3)")
        '<i>d</i><sub>k</sub><sup>1/3</sup>'
        >>> typeset("the root's 131072 keys")
        'the root’s 131,072 keys'
    """
    text = CODE_NAME.sub(lambda name: NAMES[name[1]], text)
    text = APOSTROPHE.sub("’", text)
    text = WHOLE.sub(lambda number: f"{int(number[0]):,}", text)
    text = EXPONENT.sub(lambda e: f"·10<sup>{'−' if e[1] else ''}{e[2]}</sup>", text)
    text = MINUS.sub("−", text)
    text = INDEX.sub(r"<i>\1</i><sub>\2</sub>", text)
    return POWER.sub(lambda power: f"<sup>{power[1] or power[2]}</sup>", text)
