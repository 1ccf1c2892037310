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

import freshness
import nbformat
import pytest
from click.testing import CliRunner
from nbclient import NotebookClient
from notebooks import stored

ROOT = Path(__file__).resolve().parents[1]

CONFIG = """
title: Two chapters
execute: {execute_notebooks: cache}
sphinx:
  local_extensions: {freshness: book/_ext}
  config: # no more than the test needs, so that it is quick
    extensions:
      [myst_nb, jupyter_book, sphinx_comments, sphinx_external_toc, freshness, execution]
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


class Book:
    """A small book that loads the extensions of the real one."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.site = root / "_build" / "html"
        (root / "sdpa_lib").mkdir()
        (root / "book" / "_ext").mkdir(parents=True)
        for name in ("freshness.py", "execution.py"):
            shutil.copy(ROOT / "book" / "_ext" / name, root / "book" / "_ext")
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


# A repository by its files: of each what it holds, and whether the chapter depends on it.
FILES = {
    "requirements.txt": ("torch", True),
    "benchmarks/results/cpu.json": ("{}", True),
    "README.md": ("What it is", False),
    "sdpa_lib/README.md": ("What it is", False),
    "sdpa_lib/__init__.py": ("from sdpa_lib.attention import attention", True),
    "sdpa_lib/attention.py": ("from . import _checks", True),
    "sdpa_lib/_checks.py": ("", True),
    "sdpa_lib/models.py": ("", False),
    "sdpa_lib/table.csv": ("1", True),
    "sdpa_book/__init__.py": ("from sdpa_book.exercises import check", True),
    "sdpa_book/costs.py": ("", False),
    "sdpa_book/exercises/__init__.py": ("import importlib\nimportlib.import_module", True),
    "sdpa_book/exercises/variance_exercises.py": ("import sdpa_book.answers", True),
    "sdpa_book/exercises/depth_exercises.py": ("", False),
    "sdpa_book/answers.py": ("", True),
    "sdpa_book/studies/heads/__init__.py": ("", True),
    "sdpa_book/studies/heads/results.py": (
        "def f():\n    from .. import plan",
        True,
    ),
    "sdpa_book/studies/heads/results/heads.json": ("1", True),
    "sdpa_book/studies/heads/results/heads.npz": ("1", True),
    "sdpa_book/studies/heads/train.py": ("", False),
    "sdpa_book/studies/plan.py": ("__import__", True),
    "sdpa_book/studies/anything.py": ("", True),
    "sdpa_book/studies/depth/__init__.py": ("", False),
    "sdpa_book/studies/depth/results.json": ("1", False),
}
CELLS = """
import sdpa_lib as sdpa
from sdpa_book import check
from sdpa_book.studies.heads.results import f
check("variance.uniform", 1)
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for name, (text, _) in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    write_notebook(tmp_path / "chapter.ipynb", CELLS)
    return tmp_path


def write_notebook(path: Path, code: str, text: str = "") -> None:
    cells = [nbformat.v4.new_markdown_cell(text), nbformat.v4.new_code_cell(code)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)


@pytest.mark.parametrize("name", FILES)
def test_a_chapter_depends_on_what_it_imports_and_on_nothing_else(
    name: str, repository: Path
) -> None:
    before = freshness.digest(repository, repository / "chapter.ipynb")
    with open(repository / name, "a") as file:
        file.write("\n# changed")
    changed = freshness.digest(repository, repository / "chapter.ipynb") != before
    assert changed == FILES[name][1]


@pytest.mark.parametrize("code", ["%matplotlib inline", "__import__('sdpa_lib')"])
def test_a_chapter_whose_imports_no_one_can_read_depends_on_all(
    code: str, repository: Path
) -> None:
    write_notebook(repository / "chapter.ipynb", code)
    found = freshness.files(repository, repository / "chapter.ipynb")
    read_me = {"README.md", "sdpa_lib/README.md"}
    assert {path.relative_to(repository).as_posix() for path in found} == FILES.keys() - read_me


def test_a_new_file_of_data_is_seen_and_another_device(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chapter = repository / "chapter.ipynb"
    keys = [freshness.digest(repository, chapter)]
    (repository / "sdpa_book" / "studies" / "heads" / "results" / "more.npz").touch()
    keys.append(freshness.digest(repository, chapter))
    monkeypatch.setenv("SDPA_DEVICE", "mps")
    keys.append(freshness.digest(repository, chapter))
    assert len(set(keys)) == 3


def test_the_chapters_of_this_book_depend_on_their_own_exercises() -> None:
    """And on no other's: else a changed exercise would execute all."""
    of = {}
    for path in stored(ROOT / "book"):
        names = {file.name for file in freshness.files(ROOT, path)}
        place = path.relative_to(ROOT / "book").as_posix()
        of[place] = {name for name in names if name.endswith("_exercises.py")}
    assert of["02_dot_products_grow.ipynb"] >= {"growth_exercises.py"}
    assert all(len(names) <= 3 for names in of.values()), of


@pytest.mark.skipif(os.name != "posix" or not shutil.which("make"), reason="no make here")
def test_a_builder_that_does_nothing_is_found_out_behind_an_earlier_site(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "_build" / "html").mkdir(parents=True)
    (tmp_path / "_build" / "html" / "index.html").touch()
    (tmp_path / "jupyter-book").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "jupyter-book").chmod(0o755)
    make = ["make", "book", f"BIN={tmp_path}", "INSTALLED="]
    made = subprocess.run(make, cwd=tmp_path, capture_output=True, text=True)
    assert made.returncode != 0
    assert "No book was built" in made.stderr


@pytest.mark.skipif(os.name != "posix" or not shutil.which("make"), reason="no make here")
def test_make_installs_and_builds_where_the_locale_knows_only_ascii() -> None:
    """Else pip can't install in a folder whose name has other letters."""
    told = subprocess.run(
        ["make", "-s", "-f", "Makefile", "-f", "-", "told"],
        input="told:\n\t@locale charmap\n",
        cwd=ROOT,
        env=os.environ | {"LC_ALL": "C"},
        capture_output=True,
        text=True,
    )
    assert told.stdout == "UTF-8\n", told.stderr
