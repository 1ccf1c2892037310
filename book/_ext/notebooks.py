"""Execute chapters in place and store their outputs: those that changed, or those named.

A chapter has changed if its code cells, their stored outputs or what they depend on differ from
when it was last executed here, which ``_build/notebooks.json`` remembers. Where the text of an
output comes out as it was, a figure's description included, the stored picture stays: another
machine's rendering of it is no change. ``--all`` executes every chapter and renders anew.

Of a figure's two drawings the wide one is stored, as curves: the pages have both, for the build
executes the chapters itself. So a picture takes half of the room, in a checkout and in the history,
where the next version of it is a small difference: most of an SVG are the outlines of letters,
which stay, while a picture of pixels would be new with each change. README's picture is one: the
book's first figure.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from sdpa_book.drawing.description import describe

from figures import NARROW
from freshness import digest

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
    parser.add_argument("--all", action="store_true", help="every chapter, with new pictures")
    options = parser.parse_args()
    # A user's own kernel of the same name may have another Python.
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    memory = root / "_build" / "notebooks.json"
    known = json.loads(memory.read_text()) if memory.exists() else {}
    book = root / "book"
    paths = [*stored(book), *book.glob("_template/*.ipynb")]
    for path in chosen(paths, options.names):
        name = path.relative_to(book).as_posix()
        if not (options.all or options.names) and known.get(name) == state(root, path):
            continue
        print(name, flush=True)
        execute(path, keep_pictures=not options.all)
        if path.name.startswith("00_"):
            draw_first_figure(path, book / "_static" / "weights_by_rank.png")
        known[name] = state(root, path)
        memory.parent.mkdir(exist_ok=True)
        memory.write_text(json.dumps(known, indent=1))


def stored(book: Path) -> list[Path]:
    """The notebooks of the book: chapters, and in folders studies and notes."""
    return sorted([*book.glob("*.ipynb"), *book.glob("[!._]*/*.ipynb")])


def chosen(paths: list[Path], names: list[str]) -> Iterable[Path]:
    """Those whose file name begins with one of ``names``, as those of a chapter and of its notes do
    with 04, or whose folder and name do; without names all of them.
    """
    called = {path: (path.name, f"{path.parent.name}/{path.name}") for path in paths}
    for name in names:
        if not any(told.startswith(name) for both in called.values() for told in both):
            known = ", ".join(path.stem for path in paths)
            sys.exit(f"NAME must be the beginning of a chapter's, got {name!r}; there are {known}")
    return [p for p in paths if any(told.startswith(tuple(names or [""])) for told in called[p])]


def state(root: Path, path: Path) -> str:
    """A digest of the code cells with their outputs, and of what they depend on."""
    cells = [cell for cell in read(path).cells if cell.cell_type == "code"]
    told = [(cell.source, cell.execution_count, cell.outputs) for cell in cells]
    return hashlib.sha256(
        json.dumps([digest(root, path), told], sort_keys=True).encode()
    ).hexdigest()


def execute(path: Path, *, keep_pictures: bool) -> None:
    """Run the cells of one chapter and store what they put out, or nothing where one raises."""
    notebook, before = read(path), read(path)
    started = []
    client = NotebookClient(
        notebook,
        timeout=SECONDS_A_CELL,
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(path.parent)}},
        extra_arguments=["--log-level=ERROR"],  # no word from each kernel about its transport
        on_cell_start=lambda cell, cell_index: started.append(cell_index),
    )
    try:
        client.execute()
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        sys.exit(f"{error}\n{path.name}, cell {started[-1] + 1}, failed; the notebook is as it was")
    if keep_pictures:
        for old, new in zip(before.cells, notebook.cells, strict=True):
            take_pictures(old.get("outputs", []), new.get("outputs", []))
    for cell in notebook.cells:
        leave_out_narrow(cell.get("outputs", []))
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


def take_pictures(old: list[Any], new: list[Any]) -> None:
    """Put the old outputs' pictures into those of the new ones that say the same."""
    for before, after in zip(old, new, strict=False):
        if words(before) == words(after):
            for kind in pictures(after) & pictures(before):
                after.data[kind] = before.data[kind]


def leave_out_narrow(outputs: list[Any]) -> None:
    """Take the drawing for narrow screens out of each SVG."""
    for output in outputs:
        if drawn := output.get("data", {}).get("image/svg+xml"):
            output.data["image/svg+xml"] = NARROW.sub("", drawn)


def is_folded(cell: Any) -> bool:
    """Whether the site folds a cell's code, and so JupyterLab does: what a reader need not see, and
    what draws.
    """
    tags = {"hide-cell", "hide-input"} & set(cell.metadata.get("tags", []))
    return cell.cell_type == "code" and bool(tags or any(map(pictures, cell.outputs)))


def words(output: Any) -> dict[str, Any]:
    """All of an output that the tests compare."""
    data = output.get("data", {})
    told = {kind: data[kind] for kind in data.keys() - pictures(output)}
    return {**output, "data": told, "execution_count": None}


def pictures(output: Any) -> set[str]:
    return {kind for kind in output.get("data", {}) if kind.startswith("image/")}


def read(path: Path) -> Any:
    return nbformat.read(path, nbformat.NO_CONVERT)


if __name__ == "__main__":
    main(Path(__file__).resolve().parents[2])
