"""A report: benchmarks that run one after the other, and the two files that hold the results."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

# Not sdpa_book's: to import the book's package is to compute with one thread.
RESULTS = Path(__file__).parent / "results"

Results = dict[str, Any]
Parts = Mapping[str, Callable[[float], object]]
"""By name what measures; it takes the seconds for each comparison."""


class Report(NamedTuple):
    """What is stored in one file.

    Attributes:
        folder: where, in the folder of results.
        budget: seconds for each comparison, if nothing else is said.
        parts: the benchmarks, in the order in which they are run.
        measure: runs those of these parts, for that many seconds each.
        table: the results to read.
    """

    folder: str
    budget: float
    parts: Parts
    measure: Callable[[Iterable[str], float], Results]
    table: Callable[[Results], str]


def measured(parts: Parts, names: Iterable[str], budget: float) -> Results:
    """The results of the parts of these names."""
    results = {}
    for name in names:
        print(f"{name} ...", flush=True)
        results[name] = parts[name](budget)
    return results


def store(results: Results, table: str, folder: Path) -> None:
    """Writes both files, which are named after the device."""
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"\W+", "-", results["device"].lower()).strip("-")
    (folder / f"{name}.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (folder / f"{name}.md").write_text(table, encoding="utf-8")
