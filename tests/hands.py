"""Execute each chapter as a learner would who changes it: with other sizes, one at a time, and with
other seeds. ``hands.toml`` says which sizes a chapter has, and what they are changed to.

No cell may raise or warn, nor print a nan. Whether an answer is right may depend on a size: what
``check`` says is not looked at, nor where a figure's labels lie.
"""

from __future__ import annotations

import argparse
import ast
import io
import multiprocessing
import os
import re
import sys
import time
import tomllib
import warnings
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import nbformat

import sdpa_book  # noqa: F401
from sdpa_book.drawing.description import describe

BOOK = Path(__file__).resolve().parents[1] / "book"
TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
OTHER = 1000
"""What is added to a seed."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="a chapter, such as 05")
    names = tuple(parser.parse_args().names) or ("",)
    chapters = [x for x in TABLE["sizes"] if x.startswith(names) or Path(x).name.startswith(names)]
    mpl.use("agg")
    any_fault = False
    # Each trial in a process of its own, which has the libraries from this one.
    with multiprocessing.get_context("fork").Pool(2, maxtasksperchild=1) as pool:
        trials = pool.imap(tried, [(x, way) for x in chapters for way in ways(x)], chunksize=1)
        for chapter in chapters:
            results = {way: next(trials) for way in ways(chapter)}
            seconds = sum(took for took, _ in results.values())
            print(f"{chapter} ({seconds:.0f} s): {', '.join(results)}", flush=True)
            for way, (_, problems) in results.items():
                any_fault = any_fault or bool(problems)
                print(*(f"    {way}: {fault}\n" for fault in problems), sep="", end="", flush=True)
    sys.exit(any_fault)


def ways(chapter: str) -> dict[str, dict[str, str]]:
    """The chapter's cells by what was changed in them."""
    cells = code(BOOK / f"{chapter}.ipynb")
    changed = {"other seeds": {x: with_other_seeds(source) for x, source in cells.items()}}
    for name, values in TABLE["sizes"][chapter].items():
        changed |= {f"{name} = {value}": with_size(cells, name, value) for value in values}
    return changed


def tried(trial: tuple[str, str]) -> tuple[float, list[str]]:
    """How many seconds of a processor a change took, and the faults that it showed."""
    (chapter, way), start = trial, time.process_time()
    holds = {f"holds {x}": f"assert {x}" for x in TABLE["holds"].get(chapter, [])}
    problems = faults(BOOK / f"{chapter}.ipynb", ways(chapter)[way] | holds)
    return time.process_time() - start, problems


def code(path: Path) -> dict[str, str]:
    """The source of a chapter's code cells, by the cell's id."""
    cells = nbformat.read(path, nbformat.NO_CONVERT).cells
    return {cell.id: cell.source for cell in cells if cell.cell_type == "code"}


def numbers(source: str) -> Iterator[tuple[str, ast.expr]]:
    """The names that a cell gives a number or numbers that are written there, and these."""
    for statement in ast.parse(source).body:
        if not isinstance(statement, ast.Assign):
            continue
        value, pairs = statement.value, []
        for target in statement.targets:
            pairs.append((target, value))
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs += zip(target.elts, value.elts, strict=False)
        for name, given in pairs:
            if isinstance(name, ast.Name) and is_number(given):
                yield name.id, given


def is_number(given: ast.expr) -> bool:
    """Whether an expression holds numbers, such as 2**3 or [1, 4], and nothing else."""
    parts = list(ast.walk(given))
    written = [x.value for x in parts if isinstance(x, ast.Constant)]
    worked_out = any(isinstance(x, ast.Name | ast.Call) for x in parts)
    return bool(written) and not worked_out and all(type(x) in (int, float) for x in written)


def with_size(cells: dict[str, str], name: str, value: object) -> dict[str, str]:
    """The cells, with another value where ``name`` is given one.

    Raises:
        ValueError: unless that is at exactly one place.
    """
    places = [(cell, node) for cell in cells for x, node in numbers(cells[cell]) if x == name]
    if len(places) != 1:
        raise ValueError(f"{name} must be given a number at one place, got {len(places)}")
    ((cell, node),) = places
    return cells | {cell: replaced(cells[cell], [(node, repr(value))])}


def with_other_seeds(source: str) -> str:
    """A cell, with ``OTHER`` added to each seed that is written there."""
    named = [x for x in ast.walk(ast.parse(source)) if isinstance(x, ast.keyword)]
    given = [*numbers(source), *((x.arg, x.value) for x in named)]
    nodes = [x for name, x in given if name == "seed" and isinstance(x, ast.Constant)]
    return replaced(source, [(node, str(ast.literal_eval(node) + OTHER)) for node in nodes])


def replaced(source: str, texts: list[tuple[Any, str]]) -> str:
    """A cell with other texts in place of nodes of its syntax tree."""
    lines = source.encode().splitlines(keepends=True)  # columns of a node count bytes
    for node, text in sorted(texts, key=lambda x: (x[0].lineno, x[0].col_offset), reverse=True):
        first, last = node.lineno - 1, node.end_lineno - 1
        after = lines[last][node.end_col_offset :]
        lines[first : last + 1] = [lines[first][: node.col_offset] + text.encode() + after]
    return b"".join(lines).decode()


def faults(path: Path, cells: dict[str, str]) -> list[str]:
    """Execute a chapter's cells. What a reader would not expect: errors, warnings, and a nan."""
    words: list[str] = []

    def show() -> None:
        words.extend(describe(plt.figure(number)) for number in plt.get_fignums())
        plt.close("all")

    names: dict[str, Any] = {"display": lambda value: words.append(repr(value))}
    problems = []
    plt.show = show  # type: ignore[assignment]
    os.chdir(path.parent)
    warnings.simplefilter("error", append=True)  # those that a reader would see
    warnings.filterwarnings("ignore", "constrained_layout not applied")  # a label far away
    for cell, source in cells.items():
        words.clear()
        plt.close("all")
        try:
            with redirect_stdout(io.StringIO()) as printed:
                words.append(repr(value_of(source, names)))
        except Exception as error:
            problems.append(f"{cell}: {type(error).__name__}: {error}")
        for line in "\n".join([printed.getvalue(), *words]).splitlines():
            if "nan" in re.findall(r"[a-z]+", line):
                problems.append(f"{cell}: {line.strip()}")
    return problems


def value_of(source: str, names: dict[str, Any]) -> object:
    """Execute a cell, and return the value that it ends in."""
    *before, last = ast.parse(source).body
    if not isinstance(last, ast.Expr):
        exec(source, names)
        return None
    exec(compile(ast.Module(before, []), "a cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "a cell", "eval"), names)


if __name__ == "__main__":
    main()
