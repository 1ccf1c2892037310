"""What the cells of the built book printed is what the notebooks store, as nbval would find it by
executing them once more.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import notebooks
import pytest
from conftest import ROOT

BOOK = ROOT / "book"
CHAPTERS = notebooks.stored(BOOK)


def told(path: Path) -> list[list[dict[str, Any]]]:
    """What each cell of a notebook puts out, pictures apart, and nothing of one not compared."""
    return [
        []
        if "nbval-ignore-output" in cell.metadata.get("tags", [])
        else [notebooks.words(output) for output in cell.outputs]
        for cell in notebooks.read(path).cells
        if cell.cell_type == "code"
    ]


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.relative_to(BOOK).as_posix())
def test_the_site_shows_what_is_stored(path: Path) -> None:
    assert told(ROOT / "_build" / "jupyter_execute" / path.relative_to(ROOT)) == told(path)
