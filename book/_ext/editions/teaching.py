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

from outputs import stored
from outputs.notebooks import METADATA
from website.edition import first_cell

LECTURE = Path(__file__).parents[3] / "lecture"
LISTED = re.compile(r"^\| (\d+) \| ([a-z_]+\.[a-z_]+) \|\n", re.M)
"""Minutes and name of an exercise."""
OWN = re.compile(r"^([a-z_]+\.[a-z_]+) (\d\d): (.*)$")
"""The heading of an exercise that no chapter has, in the lab's text: name, chapter and title."""
CODE = re.compile(r"```python(| asked| solved)\n(.*?)\n```\n*", re.S)
"""A cell, and whether only the lab or only the solutions have it."""
CLONED = "Clone it, `git clone {repository}`, or download it there and unpack it."
GIVEN = "Clone or unpack the one that you were given."
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
    address, repository = app.config.html_baseurl, app.config.html_context.get("repository")
    command += ["-D", f"lecture_address={address.rstrip('/')}"]
    command += ["-D", f"lecture_repository={repository or ''}"]
    command += ["-d", str(Path(app.doctreedir).parent / "lecture"), str(LECTURE), str(folder)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode:
        logger.warning("the lecture was not built:\n%s", built.stderr)
    pages = f"{address.rstrip('/')}/book" if address else None
    for name, solved in {"lab": False, "lab_solutions": True}.items():
        notebook = lab(pages, repository, solved=solved)
        needs = first_cell(repository)
        notebook.cells.insert(0, nbformat.from_dict(needs))
        nbformat.write(notebook, folder / f"{name}.ipynb")


def lab(pages: str | None = None, repository: str | None = None, *, solved: bool) -> Any:
    """The notebook of the lab: what is asked, and the solution where it is ``solved``; ``pages`` is
    where the chapters are: a notebook that somebody has downloaded has none beside it.
    """
    text = (LECTURE / "lab.md").read_text(encoding="utf-8")
    before, *parts = re.split(r"^## ", text, flags=re.M)
    sections = {heading: body for heading, _, body in (part.partition("\n") for part in parts)}
    headings = [heading for heading in map(OWN.match, sections) if heading]
    own = {heading[1]: (heading, sections[heading[0]]) for heading in headings}
    listed = LISTED.findall(before)
    exercises = [
        Own(int(minutes), *own[name]) if name in own else Exercise(name, int(minutes))
        for minutes, name in listed
    ]
    titles = iter(exercises)
    before = LISTED.sub(lambda row: f"| {row[1]} | {next(titles).title} |\n", before)
    for (_, name), exercise in zip(listed, exercises, strict=True):
        exercise.asked += [code for _, code in CODE.findall(sections.get(f"with {name}", ""))]
    source = CLONED.format(repository=repository) if repository else GIVEN
    install, _, code, _ = CODE.split(sections["Before you come"].replace("{source}", source))
    cells = [new_markdown_cell(SOLUTIONS.strip() if solved else before.strip())]
    if not solved:
        cells.append(new_markdown_cell(f"## Before you come\n\n{install.strip()}"))
    cells.append(new_code_cell(code))
    for place, exercise in enumerate(exercises, 1):
        cells += exercise.cells(place, pages, solved=solved)
    if not solved:
        words, _, code, _ = CODE.split(sections["At the end"])
        cells += [new_markdown_cell(f"## At the end\n\n{words.strip()}"), new_code_cell(code)]
    for place, cell in enumerate(cells):
        cell["id"] = f"lab-{place:02}"  # the same in each build
    return new_notebook(cells=cells, metadata=METADATA)


class Exercise:
    """An exercise of a chapter: question, cells with dots, and solution in words and code."""

    def __init__(self, name: str, minutes: int) -> None:
        self.minutes = minutes
        places = [
            (path.name.partition("_")[0], place)
            for path in sorted(stored.BOOK.glob("[0-9]*.ipynb"))
            for place, cell in enumerate(stored.cells(path.name.partition("_")[0]))
            if f'check("{name}"' in cell.source
        ]
        if len(places) != 2:
            raise LookupError(f"{name} is asked and solved in one chapter, and not in {places}")
        (self.chapter, asked), (_, solved) = places
        texts = [cell.source for cell in stored.cells(self.chapter)]
        self.asked, self.solved = [texts[asked]], [texts[solved]]
        _, _, question = texts[asked - 1].rpartition("### ")
        heading, _, self.question = question.partition("\n")
        self.title = heading.partition(": ")[2].capitalize()
        self.reason = re.sub(r"</?details>|<summary>.*?</summary>", "", texts[solved - 1]).strip()

    def cells(self, place: int, pages: str | None, *, solved: bool) -> list[Any]:
        where = f"*{self.minutes} minutes, {self.source(pages)}*"
        question = f"## {place}. {self.title}\n\n{where}\n\n{self.standalone(self.question, pages)}"
        if not solved:
            return [new_markdown_cell(question), *map(new_code_cell, self.asked)]
        reason = f"**Solution.** {self.standalone(self.reason, pages)}"
        cells = [new_markdown_cell(question), new_markdown_cell(reason)]
        return [*cells, *map(new_code_cell, self.solved)]

    def source(self, pages: str | None) -> str:
        """Where the exercise is from: a link, or words."""
        number = f"chapter {int(self.chapter)}"
        if pages is None:
            title = self.headings()[0]
            return f"from {number}: {title}{'' if title.endswith('?') else '.'}"
        return f"from [{number}]({stored.address(self.chapter, pages)})."

    def standalone(self, markdown: str, pages: str | None) -> str:
        """Words of the chapter, without the chapter around them: where they name one of its
        sections, they name the chapter, too.
        """
        for heading in {part for line in self.headings() for part in (line, line.split(":")[0])}:
            named = f"*{heading}* in chapter {int(self.chapter)}"
            markdown = markdown.replace(f"*{heading}*", named)
        return stored.relinked(markdown.strip(), self.chapter, pages)

    def headings(self) -> list[str]:
        texts = (cell.source for cell in stored.cells(self.chapter))
        return [line for text in texts for line in re.findall(r"^#+ (.*)$", text, re.M)]


class Own(Exercise):
    """An exercise that the lab's text has: the question, cells, and the reason behind them."""

    def __init__(self, minutes: int, heading: re.Match[str], body: str) -> None:
        self.minutes = minutes
        self.chapter, self.title = heading[2], heading[3]
        self.asked = [code for of, code in CODE.findall(body) if of != " solved"]
        self.solved = [code for of, code in CODE.findall(body) if of != " asked"]
        self.question, _, self.reason = CODE.sub("", body).partition("**Solution.**")

    def source(self, pages: str | None) -> str:
        return super().source(pages).replace("from ", "goes with ", 1)
