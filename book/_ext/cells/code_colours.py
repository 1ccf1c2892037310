"""Sphinx extension: code carries the classes that the style sheet colours, and no others.

Pygments marks every name, bracket and blank; most have no colour of their own. Without those marks
a chapter has half as many elements, and its first view is a fifth lighter.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO, Any

from pygments.formatters import HtmlFormatter
from pygments.token import Comment, Generic, Keyword, Name, Number, Operator, String, Text
from pygments.token import _TokenType as Kind
from sphinx.application import Sphinx
from sphinx.highlighting import PygmentsBridge

# What has a colour, the special before the general, and in whose colour it stands.
COLOURS = {
    Keyword: Keyword,
    Operator.Word: Keyword,
    Name.Tag: Keyword,
    String: String,
    Number: Number,
    Comment: Comment,
    Generic.Output: Comment,
    Name.Function: Name.Function,
    Name.Class: Name.Function,
    Name.Decorator: Name.Function,
    Name.Builtin: Name.Function,
    Generic.Prompt: Name.Function,
}


def setup(app: Sphinx) -> dict[str, Any]:
    PygmentsBridge.html_formatter = ColouredOnly
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class ColouredOnly(HtmlFormatter):  # type: ignore[misc]  # it carries no types
    """A formatter that marks a token by the colour it has, and leaves the others unmarked."""

    def format_unencoded(self, tokensource: Iterable[tuple[Kind, str]], outfile: IO[str]) -> None:
        super().format_unencoded(((colour(kind), text) for kind, text in tokensource), outfile)


def colour(kind: Kind) -> Kind:
    """The kind of token in whose colour one of this kind stands; text where it has none."""
    return next((coloured for general, coloured in COLOURS.items() if kind in general), Text)
