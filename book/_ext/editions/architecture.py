"""The picture and the tables of ARCHITECTURE.md, made of the code.

An arrow is an import that a module of one room has of a module of another, within functions, too.
A module's line is the first sentence of its docstring.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "ARCHITECTURE.md"
ROOMS = {
    "library": ("sdpa_lib", "sdpa_lib<br/>the library"),
    "writing": ("sdpa_book/writing", "writing"),
    "drawing": ("sdpa_book/drawing", "drawing"),
    "calculations": ("sdpa_book/calculations", "calculations"),
    "exercises": ("sdpa_book/exercises", "exercises"),
    "ledger": ("sdpa_book/ledger", "ledger"),
    "studies": ("sdpa_book/studies", "studies"),
    "explorables": ("sdpa_book/explorables", "explorables"),
    "outputs": ("book/_ext/outputs", "outputs"),
    "cells": ("book/_ext/cells", "cells"),
    "website": ("book/_ext/website", "website"),
    "editions": ("book/_ext/editions", "editions"),
    "benchmarks": ("benchmarks", "benchmarks"),
    "lecture": ("lecture", "lecture"),
    "chapters": ("book/*.ipynb", "chapters, articles<br/>and notes"),
}
"""By name a room's folder, and what the picture calls it."""
FLOORS = {
    "sdpa_book": [name for name, (folder, _) in ROOMS.items() if "sdpa_book/" in folder],
    "book/_ext": [name for name, (folder, _) in ROOMS.items() if "book/_ext/" in folder],
}
"""Rooms that stand in one box."""
BESIDES = """\
  calculations -. "reads results" .-> benchmarks
  editions -. "makes slides and lab of" .-> lecture
  lecture -. "its extensions" .-> cells
  explorables -. "node book/_bundler" .-> static["book/_static"]
  website -. "node book/_bundler" .-> static
  chapters ==> build(["jupyter-book build"])
  editions ==> build
  theme["book/_theme"] ==> build
  static ==> build
  build ==> site["_build/html"]
  tests(["pytest, with nbval"]) ==> chapters
  browser(["tests/site, in Chromium"]) ==> site"""
"""What else leads from one to another: dotted what is read or made, thick what goes into the site
or looks at it.
"""


def main() -> None:
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8", newline="\n")


def filled(page: str) -> str:
    """The page with picture and tables between their marks."""
    parts = {"picture": picture(), "modules": "\n\n".join(tables())}
    for name, text in parts.items():
        before, begin, rest = page.partition(f"<!-- {name} -->\n")
        _, end, behind = rest.partition(f"<!-- end of {name} -->\n")
        if not end:
            sys.exit(f"{PAGE.name} has no marks for the {name}")
        page = f"{before}{begin}{text}\n{end}{behind}"
    return page


def picture() -> str:
    lines = ["```mermaid", "flowchart LR"]
    boxed = {name for names in FLOORS.values() for name in names}
    for box, names in FLOORS.items():
        lines += [f'  subgraph {box.replace("/", "_")}_box["{box}"]']
        lines += [f'    {name}["{ROOMS[name][1]}"]' for name in names]
        lines += ["  end"]
    lines += [f'  {name}["{label}"]' for name, (_, label) in ROOMS.items() if name not in boxed]
    lines += [f"  {one} --> {other}" for one, other in arrows()]
    return "\n".join([*lines, *BESIDES.splitlines(), "```"])


def arrows() -> list[tuple[str, str]]:
    """The imports from room to room, each pair once."""
    place = list(ROOMS)
    pairs = {
        (room, other)
        for room in ROOMS
        for path in modules(room)
        for name in imported(path)
        if (other := room_of(name)) not in (None, room)
    }
    return sorted(pairs, key=lambda pair: tuple(map(place.index, pair)))


def modules(room: str) -> list[Path]:
    """The files of a room, without tests."""
    folder = ROOMS[room][0]
    if folder.endswith(".ipynb"):
        book = ROOT / "book"
        return sorted([*book.glob("*.ipynb"), *book.glob("[!._]*/*.ipynb")])
    paths = (ROOT / folder).rglob("*.py")
    return sorted(path for path in paths if not path.name.startswith(("test_", "conftest")))


@cache
def imported(path: Path) -> frozenset[str]:
    """The modules that a file imports."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        text = "\n".join("".join(cell["source"]) for cell in cells)
    return frozenset(_imports(ast.parse(text), path))


def _imports(tree: ast.AST, path: Path) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = ".".join(path.relative_to(ROOT).parts[: -node.level]) if node.level else ""
            of = ".".join(filter(None, (above, node.module)))
            yield from (of, *(f"{of}.{alias.name}" for alias in node.names))


@cache
def passed_on() -> dict[str, str]:
    """By what the book's package offers at its top the module that it is from."""
    tree = ast.parse((ROOT / "sdpa_book" / "__init__.py").read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module]
    return {
        f"sdpa_book.{alias.name}": f"{node.module}.{alias.name}"
        for node in imports
        for alias in node.names
    }


def room_of(module: str) -> str | None:
    """The room that a module's name leads to."""
    module = passed_on().get(module, module)
    for name, (folder, _) in ROOMS.items():
        dotted = folder.removeprefix("book/_ext/").replace("/", ".")
        if f"{module}.".startswith(f"{dotted}."):
            return name
    return None


def tables() -> Iterator[str]:
    for room, (folder, _) in ROOMS.items():
        if room in ("lecture", "chapters"):
            continue
        paths = [path for path in modules(room) if name(path, folder)]
        rows = [f"| `{name(path, folder)}` | {first_sentence(path)} |" for path in paths]
        what = first_sentence(ROOT / folder / "__init__.py")
        room = f"<code>{folder}</code>: " + re.sub("`(.+?)`", r"<code>\1</code>", what)
        head = f"<details>\n<summary>{room}</summary>\n\n| module | what it is |\n| --- | --- |"
        yield "\n".join([head, *rows, "\n</details>"])


def name(path: Path, folder: str) -> str:
    """A module's place in its room; nothing for the room itself."""
    inside = path.relative_to(ROOT / folder).with_suffix("").as_posix()
    return inside.removesuffix("__init__").rstrip("/")


def first_sentence(path: Path) -> str:
    """The first sentence of a module's docstring, in one line."""
    text = " ".join((ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").split())
    if not text:
        sys.exit(f"{path.relative_to(ROOT)} has no docstring, whose first sentence says what it is")
    sentence = re.split(r"(?<=[.?!])\s", text)[0]
    return sentence.replace("``", "`").replace("|", "\\|").removeprefix("Sphinx extension: ")


if __name__ == "__main__":
    main()
