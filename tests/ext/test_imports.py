"""Extensions are of floors: one that imports another is not imported by it."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

FILES = sorted((Path(__file__).parents[2] / "book" / "_ext").glob("*.py"))


def imported(file):
    """The modules that a file imports, within its functions, too."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_no_extension_is_imported_by_what_it_imports():
    names = {file.stem for file in FILES}
    TopologicalSorter({file.stem: names & {*imported(file)} for file in FILES}).prepare()
