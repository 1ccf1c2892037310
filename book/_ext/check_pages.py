"""Fail unless the build that just ran came to its end and left every page that _toc.yml lists.

A builder's exit status is not enough: Jupyter Book 2, installed over this configuration, writes no
page and exits 0. The Makefile removes the marker before it builds, so that the pages of an earlier
build can't stand in for those of this one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

MARKER = ".built"  # written by freshness.py


def pages(toc: object) -> Iterator[str]:
    """The documents a table of contents names, at any depth."""
    if isinstance(toc, dict):
        yield from (toc[key] for key in ("root", "file") if key in toc)
        for value in toc.values():
            yield from pages(value)
    elif isinstance(toc, list):
        for item in toc:
            yield from pages(item)


def missing(root: Path) -> list[str]:
    """What should be in the site of the book at ``root`` and is not."""
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf8"))
    expected = [
        MARKER,
        "index.html",
        *(page.removesuffix(".md").removesuffix(".ipynb") + ".html" for page in pages(toc)),
    ]
    site = root / "_build" / "html"
    return [name for name in expected if not (site / name).is_file()]


def main(root: Path) -> int:
    absent = missing(root)
    if absent:
        print(
            f"No book was built: {root / '_build' / 'html'} lacks {', '.join(absent)}",
            file=sys.stderr,
        )
        return 1
    print(f"The book is ready. Open {root / '_build' / 'html' / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parents[2]))
