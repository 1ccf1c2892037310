"""What chapters hold, for the lecture and the lab: cells, outputs and boxes, as they are stored.

A chapter is named by the beginning of its file: ``04``, ``d`` for article D, ``notes/04`` for its
notes.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
from bs4 import BeautifulSoup

BOOK = Path(__file__).parents[2]
LINKED = re.compile(r"\[([^\[\]]*)\]\((?!https?:)[\w/.]+\.(?:ipynb|md)(?:#[^)]*)?\)")
LINK = re.compile(r"\]\((?!https?:)([\w/.]+)\.(?:ipynb|md)(#[^)]*)?\)")
NUMBER = r"([-−]?\d[\d,.]*(?<![.,])(?:·10\S+)?)"


def path_of(chapter: str) -> Path:
    """The notebook of a chapter or an article."""
    (path,) = [*BOOK.glob(f"{chapter}_*.ipynb"), *BOOK.glob(f"articles/{chapter}_*.ipynb")]
    return path


@cache
def cells(chapter: str) -> list[Any]:
    return list(nbformat.read(path_of(chapter), as_version=4).cells)


def cell(chapter: str, name: str) -> Any:
    """A cell by its id."""
    named = [cell for cell in cells(chapter) if cell.id == name]
    if not named:
        raise LookupError(f"{path_of(chapter).name} has no cell {name}")
    return named[0]


def address(chapter: str, folder: str = "../book") -> str:
    """Where the chapter's page is, seen from a folder beside the book's."""
    return f"{folder}/{path_of(chapter).relative_to(BOOK).with_suffix('.html').as_posix()}"


def relinked(markdown: str, chapter: str, folder: str | None = "../book") -> str:
    """Markdown of a chapter with links that lead to the site's pages, or with none where nobody
    knows where these are.
    """
    if folder is None:
        return LINKED.sub(r"\1", markdown)
    around = path_of(chapter).parent

    def link(target: re.Match[str]) -> str:
        page = (around / target[1]).resolve().relative_to(BOOK.resolve()).as_posix()
        return f"]({folder}/{page}.html{target[2] or ''})"

    return LINK.sub(link, markdown)


def data(of: Any, kind: str) -> str | None:
    """What a cell put out of a kind, such as ``image/svg+xml``; ``stream`` is what it printed."""
    for output in of.get("outputs", []):
        if kind == "stream" and output.output_type == "stream":
            return str(output.text)
        if kind in output.get("data", {}):
            return str(output.data[kind])
    return None


def number(reference: str) -> str:
    """A number that a cell has put out, or a text cell says, which tests compare with outputs.

    Of what is printed, said, or told of a figure the words about it are quoted, with a star in its
    place and three dots for whatever stands between; of a table the beginning of the row and the
    heading are named.

    Example:
        >>> number("05 cell-31: the median query: undivided * times as much")
        '2.8'
        >>> number("04 cell-14 [64, undivided]")
        '1.57'
    """
    if of_table := re.fullmatch(r"([\w/]+) (\S+) \[(.+), ([^,]+)\]", reference):
        return entry(cell(of_table[1], of_table[2]), of_table[3], of_table[4])
    place, _, quoted = reference.partition(": ")
    chapter, name = place.split()
    of = cell(chapter, name)
    printed = data(of, "stream") or data(of, "text/x-figure-description") or ""
    if of.cell_type == "markdown":
        printed = " ".join(of.source.split())
    before, star, after = (re.escape(words).replace("…", ".*?") for words in quoted.partition("*"))
    matches = re.findall(before + NUMBER + after, printed, re.S) if star else []
    if len(matches) != 1:
        raise LookupError(f"{place} has printed {len(matches)} times: {quoted}")
    return str(matches[0])


def entry(of: Any, row: str, heading: str) -> str:
    """An entry of a table that a cell has put out."""
    table = BeautifulSoup(data(of, "text/html") or "", "html.parser")
    rows = [[x.text.strip() for x in line.find_all(["th", "td"])] for line in table.find_all("tr")]
    of_row = [line for line in rows if f"{' '.join(line)} ".startswith(f"{row} ")]
    if len(of_row) != 1 or heading not in rows[0]:
        raise LookupError(f"cell {of.id} has no table with {row} and {heading}: {rows}")
    return of_row[0][rows[0].index(heading)]


def quotation(chapter: str, label: str) -> str:
    """The Markdown of the box with a label, without the label."""
    for one in cells(chapter):
        for box in re.findall(r"(?:^>.*\n?)+", one.source, re.M):
            text = re.sub(r"^> ?", "", box, flags=re.M).strip()
            if text.startswith(f"**{label}"):
                return relinked(re.sub(r"^\*\*.*?\*\*\s*", "", text), chapter)
    raise LookupError(f"{path_of(chapter).name} has no box {label}")
