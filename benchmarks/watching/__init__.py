"""What watching costs, and, on a GPU, that it is right there.

Ratios are those of a call that is watched to the same call that is not, in the same round. On a GPU
this is all that has to be shown, and takes less than five minutes::

    python -m benchmarks watching
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

import sdpa_lib
from benchmarks.machine import description
from benchmarks.reports import Parts, Report, Results, measured
from benchmarks.watching import equality, memory, shares, speed, training

PARTS: Parts = {
    "memory": lambda budget: memory.measure(),
    "equality": lambda budget: equality.measure(),
    "speed": speed.measure,
    "shares": shares.measure,
    "training": training.measure,
}
TABLES: dict[str, Callable[[Any], list[str]]] = {
    "speed": speed.tables,
    "shares": shares.tables,
    "training": training.tables,
    "memory": memory.tables,
    "equality": equality.tables,
}


def measure(names: Iterable[str], budget: float, parts: Parts = PARTS) -> Results:
    """What these parts find, and on what."""
    versions = {"torch": torch.__version__, "sdpa_lib": sdpa_lib.__version__}
    results = description() | {"versions": versions, "budget": budget}
    return results | measured(parts, names, budget)


def table(results: Results) -> str:
    """The results to read, as many as there are."""
    tables = ["\n".join(TABLES[name](results[name])) for name in TABLES if name in results]
    return "\n".join([f"# Watching: {results['device']}", "", "\n\n".join(tables)]) + "\n"


REPORT = Report("watching", 2.0, PARTS, measure, table)
