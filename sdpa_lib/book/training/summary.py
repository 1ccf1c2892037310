"""From the records of a study to the figures that a chapter shows."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence

import scipy.stats
import torch
from torch import Tensor

from sdpa_lib.book.training.model import SCALINGS
from sdpa_lib.book.training.study import SEEDS, SWEEP_SEEDS, Cell, Record, best_rate, plan


def by_scaling(records: Iterable[Record], cell: Cell) -> dict[str, dict[int, dict[int, Record]]]:
    """A cell's records by scaling, in the order of ``SCALINGS``, by rate and by seed."""
    table: dict[str, dict[int, dict[int, Record]]] = {}
    for record in records:
        run = record.run
        if run.cell == cell:
            table.setdefault(run.scaling, {}).setdefault(run.rate, {})[run.seed] = record
    return {name: dict(sorted(table[name].items())) for name in SCALINGS if name in table}


def at_best_rate(records: Iterable[Record], cell: Cell) -> dict[str, list[Record]]:
    """The records of each scaling's best learning rate, one a seed in the order of seeds.

    A scaling whose runs are not all made yet is left out; ``plan`` in the module ``study`` names
    the runs that are missing.
    """
    records = list(records)
    table = by_scaling(records, cell)
    waiting = {run.scaling for run in plan(records, {cell: tuple(table)})}
    return {
        scaling: [rates[best_rate(rates)][seed] for seed in range(SEEDS)]
        for scaling, rates in table.items()
        if scaling not in waiting
    }


def sweep(records: Iterable[Record], cell: Cell, scaling: str) -> tuple[list[float], list[float]]:
    """The learning rates tried, and at each the test accuracy on the cell's own task, averaged over
    the sweep's seeds.
    """
    rates = by_scaling(records, cell)[scaling]
    accuracies = [
        statistics.fmean(seeds[seed].test_accuracy[cell.task] for seed in range(SWEEP_SEEDS))
        for seeds in rates.values()
    ]
    return [10 ** (rate / 2) for rate in rates], accuracies


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The mean, and half the width of its 95% confidence interval by Student's t.

    Args:
        values: one number a seed, two or more.

    Example:
        >>> mean, half = interval([0.90, 0.92, 0.94, 0.92, 0.92])
        >>> round(mean, 3), round(half, 3)
        (0.92, 0.018)
    """
    if len(values) < 2:
        raise ValueError(f"values must hold two numbers or more, got {len(values)}")
    quantile = float(scipy.stats.t.ppf(0.975, len(values) - 1))
    return statistics.fmean(values), quantile * statistics.stdev(values) / math.sqrt(len(values))


def accuracies(records: Iterable[Record], task: str | None = None) -> list[float]:
    """Test accuracies, on the task trained on or on another length of it."""
    return [record.test_accuracy[task or record.run.cell.task] for record in records]


def curve(records: Sequence[Record], name: str) -> tuple[list[float], Tensor]:
    """The steps, and one row of a curve for each record, (records, steps).

    Example:
        >>> from sdpa_lib.book.training.results import load_study
        >>> records = at_best_rate(load_study()[1], Cell("digits", 64, 300))["sqrt_d_k"]
        >>> curve(records, "entropy")[1].shape
        torch.Size([5, 16])
    """
    return records[0].curves["step"], torch.tensor([record.curves[name] for record in records])
