"""What the outputs of a notebook depend on, and whether those that are stored still are its own.

``book/executed.json``, which ``make notebooks`` writes and which is committed, holds a digest for
each notebook: of its code cells, of their stored outputs with the drawings for narrow screens, and
of what the outputs depend on. While that is the digest of what lies there, the outputs are known,
and nothing has to execute the notebook for its page. They do not depend on the processor, on
Python's version or on the device: cells print what holds on all of them, which the tests see to.

The outputs of a notebook depend on the modules of this repository that its cells import, and on
what those import; on the data that lie beside these modules; on the exercises that it asks and the
explorables that it shows; and on the versions of the packages. Where that can't be read off the
code, they depend on all.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from outputs.narrow import folder_of

RECORD = Path("book/executed.json")
PINS = ("requirements.txt", "constraints.txt")
PACKAGES = ("sdpa_lib", "sdpa_book")

BY_NAME = {"import_module", "__import__", "iter_modules"}
"""A module that uses one of these may import any other of its folder."""

ASKED_FOR = {
    "sdpa_book.exercises": ("check", "{}_exercises"),
    "sdpa_book.explorables": ("movable", "{}"),
}
"""The packages that import by name what a cell asks for by a function: for
``check("variance.uniform", ...)`` the module ``variance_exercises``.
"""

OF_A_PAGE = (".js", ".css")
"""What lies beside modules for browsers, and no cell reads."""

READS = {"sdpa_book.calculations.costs": "benchmarks/results"}
"""The modules whose data do not lie beside them."""


def record(root: Path) -> dict[str, str]:
    """By notebook the digest with which it was executed last."""
    path = root / RECORD
    known: dict[str, str] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return known


def is_known(root: Path, notebook: Path) -> bool:
    """Whether the stored outputs of a notebook are what its cells put out."""
    return record(root).get(name_of(root, notebook)) == digest(root, notebook)


def name_of(root: Path, notebook: Path) -> str:
    """What the record calls a notebook."""
    return notebook.relative_to(root / "book").as_posix()


def digest(root: Path, notebook: Path) -> str:
    """Of the code cells, their stored outputs and drawings, and all that these depend on."""
    fields = ("id", "source", "execution_count", "outputs")
    stored = [[cell.get(name) for name in fields] for cell in _code_cells(notebook)]
    drawings = sorted(folder_of(notebook, root / "book").glob("*.svg"))
    sha = hashlib.sha256(json.dumps(stored, sort_keys=True).encode())
    sha.update(_of_files(root, drawings).encode())
    sha.update(of_inputs(root, notebook).encode())
    return sha.hexdigest()[:16]


def of_inputs(root: Path, notebook: Path) -> str:
    """A digest of what the outputs depend on, the cells apart."""
    pins = [line.split("#")[0].strip() for name in PINS for line in _lines(root / name)]
    sha = hashlib.sha256("\n".join(sorted(filter(None, pins))).encode())
    sha.update(_of_files(root, sorted(files(root, notebook))).encode())
    return sha.hexdigest()[:16]


def _of_files(root: Path, paths: Iterable[Path]) -> str:
    """A digest of files by their names in ``root``, whatever a checkout ends their lines with."""
    sha = hashlib.sha256()
    for path in paths:
        sha.update(path.relative_to(root).as_posix().encode())
        sha.update(hashlib.sha256(path.read_bytes().replace(b"\r\n", b"\n")).digest())
    return sha.hexdigest()


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def _code_cells(notebook: Path) -> list[dict[str, Any]]:
    """As they stand in the file: nbformat would look through them, in ten times as long."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def files(root: Path, notebook: Path) -> set[Path]:
    """The files in ``root`` that the cells of a notebook depend on, without the notebook itself."""
    code = "\n".join("".join(cell["source"]) for cell in _code_cells(notebook))
    if _is_open(code):
        return {path for name in (*PACKAGES, *READS.values()) for path in _within(root / name)}
    waiting, paths, known = [*_imports(code, "")], set[Path](), set[str]()
    if "sdpa_lib" in waiting:  # some of its modules are imported when they are asked for
        waiting += [f"sdpa_lib.{name}" for name in _attributes(code)]
    later = _later(root / "sdpa_lib" / "__init__.py")
    while waiting:
        name = waiting.pop()
        name = later.get(name, name)
        if name in known or not name.startswith(PACKAGES):
            continue
        known.add(name)
        waiting.append(name.rpartition(".")[0])
        place = root.joinpath(*name.split("."))
        if place.is_dir():
            paths.update(_data(place))
        module = place / "__init__.py"
        if not module.exists():
            module = place.with_suffix(".py")
        if not module.exists():
            continue  # a name in a module, or a folder of modules
        paths.add(module)
        if name in READS:
            paths.update(_within(root / READS[name]))
        package = ".".join(module.parent.relative_to(root).parts)
        source = module.read_text(encoding="utf-8")
        waiting += _imports(source, package)
        modules = {path.stem for path in module.parent.glob("*.py")}
        if name in ASKED_FOR:
            function, called = ASKED_FOR[name]
            asked = _first_arguments(code, function)
            if None in asked:
                modules |= {path.parent.name for path in module.parent.glob("[!_]*/__init__.py")}
            else:
                modules = {called.format(argument) for argument in asked}
        if name in ASKED_FOR or _is_open(source):
            waiting += [f"{package}.{module}" for module in sorted(modules)]
    return paths


def _within(place: Path) -> Iterator[Path]:
    """A file, or those of a folder that are no copy and no description of others."""
    for path in [place, *place.rglob("*")]:
        inside = path.relative_to(place).parts
        hidden = any(part.startswith((".", "__pycache__")) for part in inside)
        if path.is_file() and not hidden and path.name != "README.md":
            yield path


def _data(folder: Path) -> Iterator[Path]:
    """The files beside modules that are none, and those in folders that hold none, but for the
    checkpoints of a study that is under way, which no cell reads.
    """
    for path in folder.iterdir():
        if path.is_dir():
            if path.name != "state" and not any(path.glob("*.py")):
                yield from _data(path)
        elif path.suffix not in (".py", *OF_A_PAGE):
            yield from _within(path)


@cache
def _imports(code: str, package: str) -> frozenset[str]:
    """What code in ``package`` imports, by its absolute name, also inside of functions; of
    ``from a import b`` both, for b may be a module.
    """
    names, tree = set(), ast.parse(code)
    unused = {node for block in _for_type_checkers(tree) for node in block}
    for node in ast.walk(tree):
        if node in unused:
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level]
            of = ".".join([*(above if node.level else []), *([node.module] if node.module else [])])
            names |= {of, *(f"{of}.{alias.name}" for alias in node.names)}
    return frozenset(names)


def _for_type_checkers(tree: ast.AST) -> list[list[ast.stmt]]:
    """What code does not execute: the statements of each ``if TYPE_CHECKING``."""
    ifs = [node for node in ast.walk(tree) if isinstance(node, ast.If)]
    return [node.body for node in ifs if getattr(node.test, "id", "") == "TYPE_CHECKING"]


def _later(package: Path) -> dict[str, str]:
    """By name the module from which a package takes it once it is asked for, such as
    ``sdpa_lib.watch``: for type checkers it is imported at once.
    """
    tree = ast.parse(package.read_text(encoding="utf-8") if package.exists() else "")
    return {
        f"{package.parent.name}.{alias.name}": node.module or ""
        for block in _for_type_checkers(tree)
        for node in block
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


@cache
def _attributes(code: str) -> frozenset[str]:
    return frozenset(n.attr for n in ast.walk(ast.parse(code)) if isinstance(n, ast.Attribute))


@cache
def _is_open(code: str) -> bool:
    """Whether code may import what it doesn't name: by :data:`BY_NAME`, or by a command to IPython,
    which is no Python.
    """
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return True
    used = {getattr(node, "id", getattr(node, "attr", "")) for node in ast.walk(tree)}
    return not used.isdisjoint(BY_NAME)


@cache
def _first_arguments(code: str, function: str) -> frozenset[str | None]:
    """Up to its first point, the text that each call of a function has as its first argument;
    ``None`` for one that is no text, which may be any.
    """
    return frozenset(
        text.partition(".")[0] if isinstance(text, str) else None
        for call in ast.walk(ast.parse(code))
        if isinstance(call, ast.Call)
        and function == getattr(call.func, "id", getattr(call.func, "attr", ""))
        for text in [getattr(call.args[0], "value", None) if call.args else None]
    )
