"""What a page shows of its cells' outputs is what the notebook stores, which the tests of notebooks
compare with what the cells give.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup, Tag
from cells.table_names import table
from outputs import notebooks
from outputs.execution import read

from sdpa_book.exercises.exercise import UNANSWERED
from tests.site.browser import ROOT, SITE

BOOK = ROOT / "book"
CHAPTERS = notebooks.stored(BOOK)


def stored(path: Path) -> Iterator[str]:
    """The texts and the tables that a notebook stores, as the page has them, one by one. Where a
    cell asks for an answer, the page has a field.
    """
    for cell in read(path).cells:
        if cell.cell_type == "code" and "remove-output" not in cell.metadata.get("tags", []):
            texts = filter(None, map(text_of, cell.outputs))
            yield from (text for text in texts if not text.startswith(repr(UNANSWERED)))


def text_of(output: Any) -> str:
    data = output.get("data", {})
    if output.output_type == "stream":
        return str(output.text).rstrip()
    if notebooks.pictures(output):
        return ""
    if "text/html" in data:
        html = table(data["text/html"]) if "sdpa-table" in data["text/html"] else data["text/html"]
        return rows(BeautifulSoup(html, "html.parser"))
    return str(data["text/plain"]).rstrip()


def output_texts(page: Tag) -> Iterator[str]:
    for output in page.select(".output"):
        if text := output.find("pre"):
            yield text.get_text().rstrip()
        elif output.find("table"):
            yield rows(output)


def rows(element: Tag) -> str:
    """A table's rows in lines, without what only keeps a line from breaking."""
    lines = ([cell.get_text() for cell in row.find_all(["th", "td"])] for row in element("tr"))
    return "\n".join(" | ".join(" ".join(cell.split()) for cell in line) for line in lines)


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.relative_to(BOOK).as_posix())
def test_a_page_shows_what_its_notebook_stores(path: Path) -> None:
    page = (SITE / path.relative_to(ROOT)).with_suffix(".html").read_text(encoding="utf-8")
    assert list(output_texts(BeautifulSoup(page, "html.parser"))) == list(stored(path))
