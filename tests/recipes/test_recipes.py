"""The recipes of CONTRIBUTING.md, followed by a reader who does what is written there and no more.

A recipe is a section with numbered steps. Its blocks of code are taken out of the page: a block
whose first line is a comment with a file's name is written into that file, and one of ``bash`` is
run. At night, by ``make test-recipes``, each recipe is followed on a copy of the tree of its own,
and every command has to end well. The recipe for a rescaling executes the whole book, builds it and
runs all tests, in about a quarter of an hour on two free cores; others run one chapter, and the
tests apart from notebooks that they cannot change.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import textwrap
from pathlib import Path
from typing import NamedTuple

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
PAGE = "CONTRIBUTING.md"

NOT_FOLLOWED = {
    "Raise the pins, such as torch": "it installs what has been published since",
    "Find out why an output changed": "nothing has changed",
    "Release the library": "it publishes",
    "Publish the site": "it publishes",
}
"""The recipes that are read alone, each with the reason."""

SCREEN = 40
"""Lines of a screen, of 110 characters each."""

WORDS = 250
"""What a reader takes in on a screen, blocks apart."""


class Block(NamedTuple):
    """A fenced block: its language, and its lines without the indentation of its step."""

    language: str
    text: str


class Place(NamedTuple):
    """Where a block's first line says that the rest goes."""

    file: str
    where: str
    beside: str
    caption: str
    tag: str


def sections(text: str) -> dict[str, str]:
    """The sections of a page by their headings of the second level."""
    parts = re.split(r"^## (.+)\n", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


SECTIONS = sections((ROOT / PAGE).read_text(encoding="utf-8"))
RECIPES = {title: text for title, text in SECTIONS.items() if re.search(r"^1\. ", text, re.M)}
FENCED = re.compile(r"^( *)(```+)(\w+)\n(.*?)^\1\2$", re.M | re.S)


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a section, in their order."""
    return [Block(language, textwrap.dedent(body)) for *_, language, body in FENCED.findall(text)]


PLACE = re.compile(
    r"(?:#|//|<!--) (?P<file>[\w./-]+)"
    r"(?:, (?P<where>at its end|(?:above|below|in place of|metadata of)(?= `)))?"
    r"(?: `(?P<beside>[^`]+)`)?"
    r"(?:, captioned `(?P<caption>[^`]+)`)?(?:, tagged `(?P<tag>[^`]+)`)?(?: -->)?"
)


def place(block: Block) -> Place | None:
    """Where a block goes, or ``None`` of commands."""
    if block.language == "bash":
        return None
    match = PLACE.fullmatch(block.text.partition("\n")[0])
    assert match, f"the first line must be a comment that names the file:\n{block.text}"
    return Place(**match.groupdict(""))


def write(block: Block, root: Path) -> None:
    """Put a block where it belongs."""
    there, text = place(block), block.text.partition("\n")[2]
    assert there is not None
    path = root / there.file
    if path.suffix == ".ipynb" and there.where:
        write_cell(path, there, block.language, text)
        return
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    if not there.where:
        assert not before, f"{there.file} exists"
    elif there.where == "at its end":
        text = before + text
    elif there.where == "in place of":
        assert before.count(there.beside) == 1, f"{there.file} must have {there.beside!r} once"
        text = before.replace(there.beside, text.strip())
    else:
        lines = before.splitlines(keepends=True)
        at = line_with(there.beside, lines, there.file) + (there.where == "below")
        text = "".join([*lines[:at], text, *lines[at:]])
    path.write_text(text, encoding="utf-8", newline="\n")


def line_with(text: str, lines: list[str], file: str) -> int:
    """The one line that begins with a text, or else has it."""
    numbers = [i for i, line in enumerate(lines) if line.startswith(text)]
    numbers = numbers or [i for i, line in enumerate(lines) if text in line]
    assert len(numbers) == 1, f"one line of {file} must have {text!r}"
    return numbers[0]


def write_cell(path: Path, there: Place, language: str, text: str) -> None:
    """Put a block into a notebook, beside the one cell that has what it names."""
    notebook = nbformat.read(path, as_version=4)
    cells = [cell for cell in notebook.cells if there.beside in cell.source]
    assert len(cells) == 1, f"one cell of {path.name} must have {there.beside!r}"
    if there.where == "in place of":
        cells[0].source = cells[0].source.replace(there.beside, text.strip())
    elif there.where == "metadata of":
        cells[0].metadata.update(nbformat.from_dict(nbformat.reader.parse_json(f"{{{text}}}")))
    else:
        metadata = {"caption": there.caption} if there.caption else {}
        metadata |= {"tags": [there.tag]} if there.tag else {}
        new = nbformat.v4.new_markdown_cell if language == "markdown" else nbformat.v4.new_code_cell
        at = notebook.cells.index(cells[0]) + (there.where == "below")
        notebook.cells.insert(at, new(text.strip(), metadata=metadata))
    nbformat.write(notebook, path)


def run(command: str, root: Path) -> None:
    """Run commands as a reader would in the copy, whose packages are the copy's."""
    ours = re.compile("PYTEST|MAKE|MFLAGS|SDPA_BOOK")
    environment = {name: value for name, value in os.environ.items() if not ours.match(name)}
    environment |= {
        "PYTHONPATH": str(root),
        "MAKEFLAGS": "-- INSTALLED= TOOLS=",  # else make would install the copy in its place
        "MYPY_CACHE_DIR": str(root.parents[1] / "mypy"),
    }
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=root,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, f"{command}\nends with {done.returncode}:\n{done.stdout[-20_000:]}"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the tree as it is, with its environment, in which nothing is installed."""
    root = tmp_path / "tree"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    for name in listed.stdout.decode().split("\0"):
        if (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, root / name)
    (root / ".venv").symlink_to(ROOT / ".venv", target_is_directory=True)
    here = "import sdpa_lib; assert sdpa_lib.__file__.startswith({!r}), sdpa_lib.__file__"
    run(f'.venv/bin/python -c "{here.format(str(root))}"', root)
    return root


@pytest.mark.recipes
@pytest.mark.parametrize("title", [title for title in RECIPES if title not in NOT_FOLLOWED])
def test_a_recipe_is_green(title: str, copy: Path) -> None:
    for block in blocks(RECIPES[title]):
        if block.language == "bash":
            run(block.text, copy)
        else:
            write(block, copy)


def test_a_recipe_that_is_not_followed_is_one() -> None:
    assert NOT_FOLLOWED.keys() <= RECIPES.keys()
    followed = {title for title, text in RECIPES.items() if blocks(text)}
    assert followed | NOT_FOLLOWED.keys() == RECIPES.keys(), "a recipe needs blocks to be followed"


@pytest.mark.parametrize("title", RECIPES)
def test_every_block_of_a_recipe_finds_its_place(title: str, tmp_path: Path) -> None:
    """Which no command has made before it."""
    for block in blocks(RECIPES[title]):
        there = place(block)
        if there:
            copied = tmp_path / "tree" / there.file
            copied.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / there.file).exists() and not copied.exists():
                shutil.copy(ROOT / there.file, copied)
            write(block, tmp_path / "tree")


@pytest.mark.parametrize("title", RECIPES)
def test_a_recipe_is_one_screen(title: str) -> None:
    """But for empty lines and for the fences of blocks, which are not shown."""
    lines = re.sub(r"^ *```.*\n", "", RECIPES[title], flags=re.M).splitlines()
    assert sum(len(textwrap.wrap(line, 110)) for line in lines) <= SCREEN
    assert len(FENCED.sub("", RECIPES[title]).split()) <= WORDS


@pytest.mark.parametrize("title", SECTIONS)
def test_what_a_section_names_is_there(title: str) -> None:
    """Its files and the targets of make; what a block writes may be new in a folder that exists."""
    text = SECTIONS[title]
    written = {there.file for block in blocks(text) if (there := place(block))}
    for name in written:
        assert (ROOT / name).parent.is_dir(), name
    prose = FENCED.sub("", text)
    named = re.findall(r"\]\(([^)#:]+)\)", prose) + re.findall(r"`([\w.]+/[\w./-]+)`", prose)
    for name in named:
        placeholder = re.search(r"NN|NAME|TAG", name)
        assert placeholder or name in written or (ROOT / name).exists() or name in IN_BUILD, name
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.M))
    for line in re.findall(r"\bmake ((?:[a-z-]+\b(?!=) ?)+)", "\n".join(code(text))):
        assert {*line.split()} <= targets, line


IN_BUILD = {".venv/bin", "_build/release"}


def code(text: str) -> list[str]:
    """What stands in a section as code: in fenced blocks of commands, and within lines."""
    commands = [block.text for block in blocks(text) if block.language == "bash"]
    return commands + re.findall(r"`([^`\n]+)`", FENCED.sub("", text))


STEP = """1. Write

   ```python
   # a.py, below `one`
   two
   ```
"""


@pytest.mark.parametrize(
    ("where", "after"),
    [
        ("", None),
        (", at its end", "zero\none = 1\nthree\ntwo\n"),
        (", above `one`", "zero\ntwo\none = 1\nthree\n"),
        (", below `one`", "zero\none = 1\ntwo\nthree\n"),
        (", in place of `one`", "zero\ntwo = 1\nthree\n"),
        (", below `four`", None),
    ],
)
def test_a_block_is_written_where_it_says(where: str, after: str | None, tmp_path: Path) -> None:
    (block,) = blocks(STEP.replace(", below `one`", where))
    (tmp_path / "a.py").write_text("zero\none = 1\nthree\n")
    if after is None:
        with pytest.raises(AssertionError):
            write(block, tmp_path)
    else:
        write(block, tmp_path)
        assert (tmp_path / "a.py").read_text() == after


def test_a_command_that_fails_is_red_and_says_what_it_printed(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="seven"):
        run("echo seven\nfalse\ntrue", tmp_path)
