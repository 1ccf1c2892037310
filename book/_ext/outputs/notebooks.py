"""Execute notebooks in place and store their outputs: those that changed, or those named.

A notebook has changed if its digest is not the one that ``book/executed.json`` has: ``freshness``
says what it is made of. The digest is written together with the outputs and the pictures of that
very execution.

Of a figure's two drawings the notebook keeps the wide one, as curves, and ``narrow`` puts the other
one beside it. So a picture takes little room in the history, where the next version of it is a
small difference: most of an SVG are the outlines of letters, which stay, while a picture of pixels
would be new with each change. README's picture is one: the book's first figure.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import nbformat
from sdpa_book.drawing.description import describe

from outputs.execution import execute, read
from outputs.freshness import RECORD, digest, is_known, name_of, record
from outputs.narrow import folder_of, part

SECONDS_A_CELL = 600
METADATA = {
    "kernelspec": {
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "name": "python3",
    },
    "language_info": {
        "codemirror_mode": {"name": "ipython", "version": 3},
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
    },
}
"""All that a kernel says of itself and Jupyter adds to a notebook, but for the version of Python,
which is the reader's: ``lab.py`` fills it in.
"""


def main(root: Path) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="a chapter, such as 05")
    parser.add_argument("--all", action="store_true", help="every notebook")
    options = parser.parse_args()
    # A user's own kernel of the same name may have another Python.
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    book = root / "book"
    paths = chosen([*stored(book), *book.glob("_template/*.ipynb")], options.names)
    if not (options.all or options.names):
        paths = [path for path in paths if not is_known(root, path)]
    failures = []

    def done(path: Path, notebook: Any) -> None:
        put_away(path, notebook, book)
        if path.name.startswith("00_"):
            draw_first_figure(path, book / "_static" / "weights_by_rank.png")
        known = record(root) | {name_of(root, path): digest(root, path)}
        there = {name: known[name] for name in sorted(known) if (book / name).exists()}
        (root / RECORD).write_text(json.dumps(there, indent=1) + "\n", "utf-8", newline="\n")

    def failed(path: Path, cell: int, error: Exception) -> None:
        failures.append(f"{error}\n{path.name}, cell {cell + 1}, failed; the notebook is as it was")

    asyncio.run(
        execute(
            sorted(paths, reverse=True),  # the longest first, so that none runs on alone
            begin=lambda path: print(name_of(root, path), flush=True),
            done=done,
            failed=failed,
            timeout=SECONDS_A_CELL,
        )
    )
    if failures:
        sys.exit("\n".join(failures))


def stored(book: Path) -> list[Path]:
    """The notebooks of the book: chapters, and in folders articles and notes."""
    return sorted([*book.glob("*.ipynb"), *book.glob("[!._]*/*.ipynb")])


def chosen(paths: list[Path], names: list[str]) -> list[Path]:
    """Those whose file name begins with one of ``names``, as those of a chapter and of its notes do
    with 04, or whose folder and name do; without names all of them.
    """
    called = {path: (path.name, f"{path.parent.name}/{path.name}") for path in paths}
    for name in names:
        if not any(one.startswith(name) for both in called.values() for one in both):
            known = ", ".join(path.stem for path in paths)
            sys.exit(f"NAME must be the beginning of a chapter's, got {name!r}; there are {known}")
    return [p for p in paths if any(one.startswith(tuple(names or [""])) for one in called[p])]


def put_away(path: Path, notebook: Any, book: Path) -> None:
    """Store what was executed, without what another machine would write otherwise."""
    part(notebook, folder_of(path, book))
    for cell in notebook.cells:
        if is_folded(cell):
            cell.metadata.setdefault("jupyter", {})["source_hidden"] = True
    notebook.metadata = nbformat.from_dict(METADATA)
    nbformat.write(notebook, path)


def draw_first_figure(path: Path, picture: Path) -> None:
    """Draw a chapter's first figure as pixels, for README and for previews of a link. The file has
    the figure's description in it, by which a test finds one that is stale.
    """
    mpl.use("agg")
    names: dict[str, Any] = {}
    for cell in read(path).cells:
        if cell.cell_type == "code":
            exec(cell.source.replace("plt.show()", ""), names)
        if plt.get_fignums():
            break
    figure = plt.gcf()
    figure.savefig(picture, dpi=150, metadata={"Description": describe(figure)})
    plt.close(figure)


def is_folded(cell: Any) -> bool:
    """Whether the site folds a cell's code, and so JupyterLab does: what a reader need not see, and
    what draws.
    """
    tags = {"hide-cell", "hide-input"} & set(cell.metadata.get("tags", []))
    return cell.cell_type == "code" and bool(tags or any(map(pictures, cell.outputs)))


def words(output: Any) -> dict[str, Any]:
    """All of an output that the tests compare."""
    data = output.get("data", {})
    texts = {kind: data[kind] for kind in data.keys() - pictures(output)}
    return {**output, "data": texts, "execution_count": None}


def pictures(output: Any) -> set[str]:
    return {kind for kind in output.get("data", {}) if kind.startswith("image/")}


if __name__ == "__main__":
    main(Path(__file__).resolve().parents[3])
