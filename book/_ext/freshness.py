"""Sphinx extension: no page outlives what it was made from.

jupyter-cache knows a notebook by its cells, and would show old outputs after a change to
``sdpa_lib``: so the outputs of a chapter are in a cache of its own, named by what its cells depend
on. Sphinx knows a page by its file, and would overlook a changed extension and not repeat the
warning that failed the last build: so every page is read and written anew, which takes seconds once
its outputs are cached.

A chapter depends on the modules of this repository that its cells import, and on what those import;
on the data that lie beside these modules, on the exercises that it asks, on what ``make bench``
stored, on the packages asked for, on Python and on the device. Where that can't be read off the
code, it depends on all.
"""

from __future__ import annotations

import ast
import hashlib
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
from sphinx.application import Sphinx
from sphinx.config import Config

ALL_DEPEND_ON = ("requirements.txt", "constraints.txt", "benchmarks/results")
PACKAGES = ("sdpa_lib", "sdpa_book")

BY_NAME = {"import_module", "__import__", "iter_modules"}
"""A module that uses one of these may import any other of its folder."""

EXERCISES = "sdpa_book.exercises"
"""The package that imports by name what a cell asks for, as the beginning of a text: of
``check("variance.uniform", ...)`` the module ``variance_exercises``.
"""


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", begin)
    app.connect("source-read", choose_cache)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def begin(app: Sphinx, _config: Config) -> None:
    (Path(app.doctreedir) / "environment.pickle").unlink(missing_ok=True)


def choose_cache(app: Sphinx, name: str, _source: list[str]) -> None:
    """Have MyST-NB look for the outputs of the page that is read next in the cache of its own."""
    path = Path(app.env.doc2path(name))
    if path.suffix == ".ipynb":
        settings: Any = app.env
        folder = str(cache_of(app, path))
        settings.mystnb_config = settings.mystnb_config.copy(execution_cache_path=folder)


def cache_of(app: Sphinx, notebook: Path) -> Path:
    """The folder of the outputs of a chapter, as it and all that it depends on are now."""
    return Path(app.outdir).parent / ".jupyter_cache" / digest(Path(app.srcdir), notebook)


def digest(root: Path, notebook: Path) -> str:
    """Of the files in ``root`` that the cells of a chapter depend on, this Python, and the device
    asked for.
    """
    sha = hashlib.sha256(repr((sys.version_info[:2], os.environ.get("SDPA_DEVICE"))).encode())
    for path in sorted(files(root, notebook)):
        sha.update(path.relative_to(root).as_posix().encode())
        sha.update(hashlib.sha256(path.read_bytes()).digest())
    return sha.hexdigest()[:16]


def files(root: Path, notebook: Path) -> set[Path]:
    """The files in ``root`` that the cells of a chapter depend on, without the chapter itself."""
    found = {path for name in ALL_DEPEND_ON for path in _within(root / name)}
    cells = nbformat.read(notebook, nbformat.NO_CONVERT).cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    if _is_open(code):
        return found | {path for name in PACKAGES for path in _within(root / name)}
    waiting, asked, known = [*_imports(code, "")], _texts(code), set[str]()
    while waiting:
        name = waiting.pop()
        if name in known or not name.startswith(PACKAGES):
            continue
        known.add(name)
        waiting.append(name.rpartition(".")[0])
        place = root.joinpath(*name.split("."))
        if place.is_dir():
            found.update(_data(place))
        module = place / "__init__.py"
        if not module.exists():
            module = place.with_suffix(".py")
        if not module.exists():
            continue  # a name in a module, or a folder of modules
        found.add(module)
        package = ".".join(module.parent.relative_to(root).parts)
        source = module.read_text(encoding="utf-8")
        waiting += _imports(source, package)
        if name == EXERCISES:
            waiting += [f"{name}.{text.partition('.')[0]}_exercises" for text in asked]
        elif _is_open(source):
            waiting += [f"{package}.{path.stem}" for path in module.parent.glob("*.py")]
    return found


def _within(place: Path) -> Iterator[Path]:
    """A file, or those of a folder that are no copy and no description of others."""
    for path in [place, *place.rglob("*")]:
        inside = path.relative_to(place).parts
        hidden = any(part.startswith((".", "__pycache__")) for part in inside)
        if path.is_file() and not hidden and path.name != "README.md":
            yield path


def _data(folder: Path) -> Iterator[Path]:
    """The files beside modules that are none, and those in folders that hold none."""
    for path in folder.iterdir():
        if path.is_dir():
            if not any(path.glob("*.py")):
                yield from _data(path)
        elif path.suffix != ".py":
            yield from _within(path)


@cache
def _imports(code: str, package: str) -> frozenset[str]:
    """What code in ``package`` imports, by its absolute name, also inside of functions; of
    ``from a import b`` both, for b may be a module.
    """
    names = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level]
            of = ".".join([*(above if node.level else []), *([node.module] if node.module else [])])
            names |= {of, *(f"{of}.{alias.name}" for alias in node.names)}
    return frozenset(names)


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
def _texts(code: str) -> frozenset[str]:
    nodes = ast.walk(ast.parse(code))
    return frozenset(
        n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)
    )
