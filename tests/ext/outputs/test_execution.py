"""The build executes what changed and nothing else, shows nothing stale, and fails when it should:
tried on a throw-away book of two chapters.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import nbformat
import pytest
from click.testing import CliRunner
from nbclient import NotebookClient
from outputs import notebooks

ROOT = Path(__file__).resolve().parents[3]

CONFIG = """
title: Two chapters
execute: {execute_notebooks: cache}
sphinx:
  local_extensions: {outputs.execution: book/_ext}
  config: # no more than the test needs, so that it is quick
    extensions:
      [myst_nb, jupyter_book, sphinx_comments, sphinx_external_toc, outputs.execution]
    html_theme: basic
    html_theme_options: {}
"""
TOC = """
format: jb-book
root: book/one
chapters: [{file: book/two}]
"""
# A chapter says that it ran, and shows what it read from the library. While a file named kill is
# there, it ends its own build, as a power cut would.
CELL = """
import os, sys
from pathlib import Path
sys.path.insert(0, "..")
from sdpa_lib import CONSTANT
with open("../runs", "a") as runs:
    print("NAME", file=runs)
if Path("../kill").exists():
    os.kill(os.getppid(), 9)
print("constant", CONSTANT)
"""

WAIT = """
import time
from pathlib import Path
Path("../NAME").touch()
end = time.monotonic() + 30
while not Path("../OTHER").exists():
    assert time.monotonic() < end
    time.sleep(0.1)
"""


DRAWN = '<svg width="1pt" height="1pt"><metadata><svg id="narrow" ></svg></metadata></svg>'
DRAWING = f"""
from IPython.display import display
with open("../runs", "a") as runs:
    print("one", file=runs)
display({{"image/svg+xml": {DRAWN!r}, "text/plain": "a line"}}, raw=True)
"""


class Book:
    """A small book that loads the extensions of the real one."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.site = root / "_build" / "html"
        (root / "sdpa_lib").mkdir()
        shutil.copytree(ROOT / "book" / "_ext" / "outputs", root / "book" / "_ext" / "outputs")
        (root / "_config.yml").write_text(CONFIG)
        (root / "_toc.yml").write_text(TOC)
        self.set_constant(1)
        for name in ("one", "two"):
            self.write_chapter(name, CELL.replace("NAME", name))

    def set_constant(self, value: int) -> None:
        (self.root / "sdpa_lib" / "__init__.py").write_text(f"CONSTANT = {value}\n")

    def write_chapter(self, name: str, code: str, text: str = "") -> None:
        cells = [
            nbformat.v4.new_markdown_cell(f"# Chapter {name}\n\n{text}"),
            nbformat.v4.new_code_cell(code),
        ]
        notebook = nbformat.v4.new_notebook(
            cells=cells, metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}}
        )
        nbformat.write(notebook, self.root / "book" / f"{name}.ipynb")

    def build(self) -> tuple[int, list[str]]:
        """Build as ``make book`` does, but in this process, which has imported what it takes; the
        exit status, and the chapters that were executed.
        """
        with warnings.catch_warnings(action="ignore"):  # of Jupyter Book's own packages
            from jupyter_book.cli.main import main

            built = CliRunner().invoke(main, ["build", str(self.root), "-W", "--keep-going"])
        return built.exit_code, self.executed()

    def build_until_killed(self) -> tuple[int, list[str]]:
        """The same in a process of its own, which a chapter can end."""
        command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()"]
        built = subprocess.run([*command, "build", self.root, "-W"], capture_output=True)
        return built.returncode, self.executed()

    def store(self) -> list[str]:
        """Store the outputs of what changed, as ``make notebooks`` does; the chapters executed."""
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(action="ignore"):
            patch.setattr(sys, "argv", ["notebooks.py"])
            notebooks.main(self.root)
        return self.executed()

    def executed(self) -> list[str]:
        """The chapters that ran since this was asked last, of which two run at a time."""
        runs = self.root / "runs"
        names = sorted(runs.read_text().split()) if runs.exists() else []
        runs.unlink(missing_ok=True)
        return names

    def shows(self, name: str, text: str) -> bool:
        return text in (self.site / "book" / f"{name}.html").read_text(encoding="utf8")


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Book:
    monkeypatch.setenv("JUPYTER_PREFER_ENV_PATH", "1")
    for variable in ("FRESH", "SDPA_DEVICE"):  # with which a build executes all
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(sys, "path", [*sys.path])  # to which a build adds
    return Book(tmp_path)


def test_a_kernel_that_does_not_start_is_started_again(
    book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when another program took its port."""
    start, fails = NotebookClient.async_start_new_kernel_client, iter([True])

    async def start_later(client: NotebookClient) -> Any:
        if next(fails, False):
            raise RuntimeError("Kernel died before replying to kernel_info")
        return await start(client)

    monkeypatch.setattr(NotebookClient, "async_start_new_kernel_client", start_later)
    assert book.build() == (0, ["one", "two"])
    assert next(fails, None) is None


def test_only_what_changed_is_executed_and_no_page_is_stale(book: Book) -> None:
    assert book.build() == (0, ["one", "two"])
    assert book.build() == (0, [])

    book.write_chapter("two", CELL.replace("NAME", "two") + "print('changed')")
    assert book.build() == (0, ["two"])
    assert book.shows("two", "changed")

    book.set_constant(2)
    if os.name == "posix":  # elsewhere a chapter can't end its own build
        (book.root / "kill").touch()
        status, started = book.build_until_killed()
        assert status == -9
        assert started  # interrupted: the next one has everything left to do
        (book.root / "kill").unlink()
    assert book.build() == (0, ["one", "two"])
    assert book.shows("one", "constant 2")
    assert book.shows("two", "constant 2")

    book.set_constant(1)
    assert book.build() == (0, [])  # these outputs are known
    assert book.shows("one", "constant 1")
    assert book.shows("two", "changed")


def test_what_the_notebooks_know_is_not_executed(
    book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a fresh clone, which has no caches of earlier builds."""
    assert book.store() == ["one", "two"]
    assert book.build() == (0, [])
    assert book.shows("one", "constant 1")

    book.write_chapter("two", CELL.replace("NAME", "two") + "print('changed')")
    assert book.build() == (0, ["two"])
    assert book.store() == ["two"]
    shutil.rmtree(book.root / "_build")
    assert book.build() == (0, [])
    assert book.shows("two", "changed")

    for variable in ("FRESH", "SDPA_DEVICE"):
        monkeypatch.setenv(variable, "1")
        assert [book.build() for _ in range(2)] == [(0, ["one", "two"])] * 2
        monkeypatch.delenv(variable)

    path = book.root / "book" / "one.ipynb"
    path.write_text(path.read_text().replace("constant 1", "constant 7"))
    assert book.build()[0] == 0
    assert book.shows("one", "constant 1"), "somebody wrote 7 by hand"


def test_a_phone_gets_its_drawing_of_a_stored_figure(book: Book) -> None:
    book.write_chapter("one", DRAWING)
    book.store()
    (drawing,) = (book.root / "book" / "_narrow" / "one").glob("*.svg")
    assert drawing.read_text() == '<svg id="narrow" ></svg>'
    (output,) = nbformat.read(book.root / "book" / "one.ipynb", 4).cells[1].outputs
    assert output.data["image/svg+xml"] == '<svg width="1pt" height="1pt"></svg>'
    assert book.build() == (0, [])
    (image,) = (book.site / "_images").glob("*.svg")
    assert image.read_text() == DRAWN
    drawing.write_text('<svg id="narrow" >another</svg>')
    assert book.store() == ["one"], "the record knows that drawing, too"
    book.write_chapter("one", CELL)
    assert book.store() == ["NAME"]
    assert not drawing.exists()


def test_a_line_that_arrives_in_pieces_is_shown_whole(book: Book) -> None:
    code = "import time\nfor part in ('one line', ' in', ' pieces'):\n"
    code += "    print(part, end='', flush=True)\n    time.sleep(0.4)"
    book.write_chapter("two", code)
    assert book.build()[0] == 0
    assert book.shows("two", "one line in pieces")


def test_two_chapters_are_executed_at_a_time(book: Book) -> None:
    """Each waits for the other, which one after the other would never come."""
    for name, other in (("one", "two"), ("two", "one")):
        book.write_chapter(name, WAIT.replace("NAME", name).replace("OTHER", other))
    assert book.build()[0] == 0


def test_what_is_wrong_fails_every_build_until_it_is_mended(book: Book) -> None:
    book.write_chapter("two", "1 / 0")
    assert book.build() == (1, ["one"])
    assert "ZeroDivisionError" in (book.site / "reports" / "book" / "two.err.log").read_text()
    assert book.build() == (1, [])

    book.write_chapter("two", "1 / 1", text="[no such page](three.ipynb)")
    assert [book.build() for _ in range(2)] == [(1, [])] * 2  # a warning
    book.write_chapter("two", "1 / 1")
    assert book.build() == (0, [])
