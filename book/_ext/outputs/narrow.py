"""The drawings for narrow screens, which lie beside the notebooks.

A cell's SVG has two drawings in it, see ``sdpa_book/drawing/svg.py``. A notebook keeps the wide
one, which is what people see who open it; the narrow one, which only the site shows, is a file in
``book/_narrow``, named by the notebook and the cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NARROW = re.compile(r'<metadata>(<svg id="narrow" .*</svg>)</metadata>', re.S)
SVG = "image/svg+xml"


def part(notebook: Any, folder: Path) -> None:
    """Take the narrow drawings out of a notebook's outputs, and let the folder hold them alone."""
    before = set(folder.glob("*.svg"))
    for file, output in _figures(notebook, folder):
        if drawing := NARROW.search(output.data[SVG]):
            output.data[SVG] = NARROW.sub("", output.data[SVG])
            folder.mkdir(parents=True, exist_ok=True)
            file.write_text(drawing[1], encoding="utf-8", newline="\n")
            before.discard(file)
    for file in before:
        file.unlink()


def join(notebook: Any, folder: Path) -> None:
    """Put the narrow drawings that the folder holds back into a notebook's outputs."""
    for file, output in _figures(notebook, folder):
        if file.exists():
            inner = f"<metadata>{file.read_text(encoding='utf-8')}</metadata></svg>"
            output.data[SVG] = output.data[SVG].removesuffix("</svg>") + inner


def folder_of(notebook: Path, book: Path) -> Path:
    """Where the narrow drawings of a notebook lie."""
    return book / "_narrow" / notebook.relative_to(book).with_suffix("")


def _figures(notebook: Any, folder: Path) -> Iterator[tuple[Path, Any]]:
    """The outputs that are SVGs, each with the file of its narrow drawing."""
    for cell in notebook.cells:
        drawn = [output for output in cell.get("outputs", []) if SVG in output.get("data", {})]
        for place, output in enumerate(drawn):
            yield folder / f"{cell.id}{f'-{place + 1}' if place else ''}.svg", output
