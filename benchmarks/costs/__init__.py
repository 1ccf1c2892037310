"""What attention costs with each rescaling: in time, in memory, and in simulation."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch

import sdpa_lib
from benchmarks.costs import attention, caches, limits, memory, others, short, simulation
from benchmarks.machine import description, dtype_name, working_dtype
from benchmarks.reports import Parts, Report, Results, measured

PARTS: Parts = {
    "limits": lambda budget: limits.measure(),
    "attention": attention.measure,
    "caches": caches.measure,
    "short": short.measure,
    "others": others.measure,
    "memory": lambda budget: memory.measure(),
    "simulation": simulation.measure,
}
TABLES: dict[str, Callable[[Any], list[str]]] = {
    "attention": attention.tables,
    "caches": caches.tables,
    "short": short.tables,
    "others": others.tables,
    "memory": memory.tables,
    "simulation": simulation.tables,
}


def measure(names: Iterable[str], budget: float, parts: Parts = PARTS) -> Results:
    """What these parts find, and on what."""
    started = time.perf_counter()
    versions = {
        "torch": torch.__version__,
        "numpy": np.__version__,
        "sdpa_lib": sdpa_lib.__version__,
    }
    results = description() | {
        "versions": versions,
        "dtype": dtype_name(working_dtype()),
        "budget": budget,
    }
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning)  # other packages' advice
        results |= measured(parts, names, budget)
    return results | {"seconds": round(time.perf_counter() - started)}


def table(results: Results) -> str:
    """The results to read, as many as there are."""
    about = [
        ", ".join(f"{k} {v}" for k, v in results["versions"].items()) + f"; {results['dtype']}.",
        *([limits.sentence(results["limits"])] if "limits" in results else []),
        f"Its load was {results['load']:.1f} when the run began.",
    ]
    lines = [f"# {results['device']}", "", " ".join(about), ""]
    for name, tables in TABLES.items():
        if name in results:
            lines += tables(results[name])
    return "\n".join(lines)


REPORT = Report("", 5.0, PARTS, measure, table)
