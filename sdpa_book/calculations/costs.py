"""What the benchmarks found: one JSON file a device, and a table to read beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


def load_benchmarks(gpu: bool = False) -> list[dict[str, Any]]:
    """The results of every CPU, or of every GPU, on which ``python -m benchmarks`` was run.

    Example:
        >>> sorted({"device", "attention", "memory"} & set(load_benchmarks()[0]))
        ['attention', 'device', 'memory']
    """
    files = sorted(RESULTS.glob("*.json"))
    runs = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    # A CPU's name says how many threads it had.
    return [run for run in runs if ("thread" not in run["device"]) == gpu]
