"""Sphinx extension: a chapter's title begins with its number, which its file has already, wherever
the title is shown: on the page, among the chapters, on the way to the next one, in search. An
article has a letter, and notes have the number or letter of what they stand behind.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_transform(NumberTitle)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class NumberTitle(SphinxTransform):
    default_priority = 700

    def apply(self, **_kwargs: Any) -> None:
        number = number_of(self.env.docname)
        title = next(self.document.findall(nodes.title), None)
        if title is not None and number not in (None, "0"):
            word = "Notes " if number.startswith("N") else ""
            title.insert(0, nodes.Text(f"{word}{number.removeprefix('N')}. "))


def number_of(page: str) -> str | None:
    """The number of a chapter, the letter of an article, either with an N before it for notes, and
    ``None`` of any other page.

    Example:
        >>> number_of("book/04_saturation"), number_of("book/articles/b_depth")
        ('4', 'B')
        >>> number_of("book/notes/04_saturation"), number_of("book/notes/b_depth")
        ('N4', 'NB')
    """
    file = re.search(r"(?:^|/)(notes/|articles/)?(\d\d|[a-z])_[^/]*$", page)
    if file is None or (file[1] is None and file[2].isalpha()):
        return None
    number = str(int(file[2])) if file[2].isdigit() else file[2].upper()
    return f"N{number}" if file[1] == "notes/" else number
