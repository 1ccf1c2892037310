"""Sphinx extension: with the book its lecture and its lab are made, in the folder ``lecture``.

The lecture is a Sphinx project of its own, ``lecture/``, whose builder is that of sphinx-revealjs;
``slides`` says what it may show. The lab is a notebook made of chapters' exercises, as
``lecture/lab.md`` lists them, without their solutions, and a second one has these.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from sphinx.application import Sphinx
from sphinx.util import logging

import stored
from edition import first_cell

LECTURE = Path(__file__).parents[2] / "lecture"
LISTED = re.compile(r"^\| (\d+) \| ([a-z_]+\.[a-z_]+) \|\n", re.M)
"""Minutes and name of an exercise."""
SOLUTIONS = """\
# Solutions to the lab

They are the book's, in the order of the lab: what is asked, the reason, and code that passes."""

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("build-finished", make)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def make(app: Sphinx, exception: Exception | None) -> None:
    if exception is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir, "lecture")
    command = [sys.executable, "-m", "sphinx", "-b", "revealjs", "-q", "-E", "-W", "--keep-going"]
    command += ["-D", f"lecture_address={app.config.html_baseurl.rstrip('/')}"]
    command += ["-d", str(Path(app.doctreedir).parent / "lecture"), str(LECTURE), str(folder)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode:
        logger.warning("the lecture was not built:\n%s", built.stderr)
    address = app.config.html_baseurl.rstrip("/") or ".."
    for name, solved in {"lab": False, "lab_solutions": True}.items():
        notebook = lab(f"{address}/book", solved=solved)
        needs = first_cell(app.config.html_context.get("repository"))
        notebook.cells.insert(0, nbformat.from_dict(needs))
        nbformat.write(notebook, folder / f"{name}.ipynb")


def lab(pages: str = "../book", *, solved: bool) -> Any:
    """The notebook of the lab: what is asked, and the solution where it is ``solved``; ``pages`` is
    where the chapters are.
    """
    text = (LECTURE / "lab.md").read_text(encoding="utf-8")
    before, code, after = re.split(r"```(?:python)?\n", text)
    exercises = [Exercise(name, int(minutes)) for minutes, name in LISTED.findall(before)]
    titles = iter(exercises)
    before = LISTED.sub(lambda row: f"| {row[1]} | {next(titles).title} |\n", before)
    if solved:
        before = SOLUTIONS
    cells = [new_markdown_cell(before.strip()), new_code_cell(code.strip())]
    for place, exercise in enumerate(exercises, 1):
        cells += exercise.cells(place, pages, solved=solved)
    cells += [] if solved else [new_markdown_cell(after.strip())]
    for place, cell in enumerate(cells):
        cell["id"] = f"lab-{place:02}"  # the same in each build
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel})


class Exercise:
    """An exercise of a chapter: question, cell with dots, and solution in words and code."""

    def __init__(self, name: str, minutes: int) -> None:
        self.minutes = minutes
        found = [
            (path.name.partition("_")[0], place)
            for path in sorted(stored.BOOK.glob("[0-9]*.ipynb"))
            for place, cell in enumerate(stored.cells(path.name.partition("_")[0]))
            if f'check("{name}"' in cell.source
        ]
        if len(found) != 2:
            raise LookupError(f"{name} is asked and solved in one chapter, and not in {found}")
        (self.chapter, asked), (_, solved) = found
        texts = [cell.source for cell in stored.cells(self.chapter)]
        self.asked, self.solved = texts[asked], texts[solved]
        _, _, question = texts[asked - 1].rpartition("### ")
        heading, _, self.question = question.partition("\n")
        self.title = heading.partition(": ")[2].capitalize()
        self.reason = re.sub(r"</?details>|<summary>.*?</summary>", "", texts[solved - 1]).strip()

    def cells(self, place: int, pages: str, *, solved: bool) -> list[Any]:
        page = stored.address(self.chapter, pages)
        where = f"*{self.minutes} minutes, from [chapter {int(self.chapter)}]({page}).*"
        heading = f"## {place}. {self.title}\n\n{where}\n\n"
        question = heading + stored.relinked(self.question.strip(), self.chapter, pages)
        if not solved:
            return [new_markdown_cell(question), new_code_cell(self.asked)]
        reason = f"**Solution.** {stored.relinked(self.reason, self.chapter, pages)}"
        return [new_markdown_cell(question), new_markdown_cell(reason), new_code_cell(self.solved)]
