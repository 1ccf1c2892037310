"""Extensions are of floors: one that imports another is not imported by it."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

FILES = sorted((Path(__file__).parents[2] / "book" / "_ext").glob("*/*.py"))


def imported(file):
    """The modules that a file imports, within its functions, too."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_no_extension_is_imported_by_what_it_imports():
    names = {file: f"{file.parent.name}.{file.stem}" for file in FILES}
    imports = {name: {*names.values()} & {*imported(file)} for file, name in names.items()}
    assert sum(map(len, imports.values())) > 30
    TopologicalSorter(imports).prepare()


def test_a_floor_rests_on_those_below_it():
    order = ("outputs", "cells", "website", "editions")
    for file in FILES:
        below = order[: order.index(file.parent.name) + 1]
        floors = {name.partition(".")[0] for name in imported(file)} & {*order}
        assert floors <= {*below}, file


def test_no_module_is_longer_than_300_lines():
    assert [file for file in FILES if len(file.read_text("utf-8").splitlines()) > 300] == []
