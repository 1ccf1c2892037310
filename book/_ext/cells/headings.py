"""Sphinx extension: d_k, W_Q and their like are set with their index in a heading, wherever it is
shown: on the page, among the chapters, on the way to the next one, in the text of a link. The
source keeps the underscore, by which the heading is searched for and by which a browser's tab names
it.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

SYMBOL = re.compile(r"(?<![\w.])([dW])_(k|v|model|[QKV])\b(?![^<]*>)")
HEADING = re.compile(
    r"<h[1-6][ >].*?</h[1-6]>|<a class=\"reference internal\"(?:(?!<code).)*?</a>", re.DOTALL
)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("html-page-context", set_headings)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def set_headings(
    _app: Sphinx, _name: str, _template: str, context: dict[str, Any], _tree: nodes.document | None
) -> None:
    """Set the headings of one page, and those of others that it links to."""
    context["with_index"] = with_index
    if "body" in context:
        context["body"] = HEADING.sub(lambda heading: with_index(heading[0]), context["body"])


def with_index(html: str) -> str:
    """The same text with symbols for d_k and the like, but for names in code and what stands within
    a tag.

    Example:
        >>> with_index("Why √d_k, and what is sqrt_d_k?")
        'Why √<i>d</i><sub>k</sub>, and what is sqrt_d_k?'
        >>> with_index("d_v and W_Q")
        '<i>d</i><sub>v</sub> and <i>W</i><sub>Q</sub>'
        >>> with_index("d_k^(-1/4) each")
        '<i>d</i><sub>k</sub><sup>−1/4</sup> each'
        >>> with_index('<a href="#d_k">Model.d_k</a>')
        '<a href="#d_k">Model.d_k</a>'
    """
    html = SYMBOL.sub(r"<i>\1</i><sub>\2</sub>", html)
    return re.sub(r"(?<=</sub>)\^\(-([^)]*)\)", r"<sup>−\1</sup>", html)
