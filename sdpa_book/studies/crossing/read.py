"""What is stored of the crossing, and the measures that it declares."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from scipy.stats import spearmanr

from sdpa_book.studies.training.censoring import median_time
from sdpa_book.studies.training.plan import Cell, Comparison, Record
from sdpa_book.studies.training.read import load_study, reported
from sdpa_book.writing.names import display_name
from sdpa_lib.rescaling import RESCALINGS

STORED = Path(__file__).parent / "results" / "cpu.jsonl"
"""The runs that come with the book."""
LIKE = 1.5
"""Spreads are alike whose ratio is no more."""


class Group(NamedTuple):
    """The runs that report of one cell and divisor, at one learning rate.

    Attributes:
        cell, scaling, rate: of all of them.
        sigma: the spread of their fresh scores.
        time: the median time to learn; infinite where half have not learned yet.
        runs: themselves.
    """

    cell: Cell
    scaling: str
    rate: float
    sigma: float
    time: float
    runs: list[Record]

    def __str__(self) -> str:
        cell, learned = self.cell, sum(run.learned_at is not None for run in self.runs)
        when = f"{self.time:.0f}" if math.isfinite(self.time) else "not yet"
        scaling = display_name(self.scaling) if self.scaling in RESCALINGS else self.scaling
        return (
            f"{cell.task}, heads of {cell.d_k}, warm-up {cell.warm_up}, {cell.start}, {scaling}: "
            f"spread {self.sigma:.2g}, rate 10^{self.rate:g}, step {when} ({learned} of "
            f"{len(self.runs)} learned)"
        )


def load_crossing(path: Path = STORED) -> list[Record]:
    """The stored runs, and none where nothing is stored.

    Example:
        >>> {record.run.cell.budget for record in load_crossing()}
        {1000}
    """
    return load_study(path)[1] if path.exists() else []


def groups(
    records: Sequence[Record], plan: Mapping[str, Comparison], *, one_rate: bool
) -> list[Group]:
    """The groups whose runs are all made, in the plan's order.

    Args:
        records: the stored runs.
        plan: the comparisons.
        one_rate: those at the one rate for all, else those at the rates that were chosen.
    """
    return [
        Group(
            comparison.cell,
            scaling,
            runs[0].run.rate,
            statistics.fmean(run.curves["score_std"][0] for run in runs),
            median_time(runs).steps,
            runs,
        )
        for comparison in plan.values()
        if (len(comparison.rates) == 1) == one_rate
        for scaling, runs in reported(records, comparison).items()
    ]


def rank_correlation(some: Iterable[Group]) -> float:
    """Spearman's correlation of the time to learn with the spread of fresh scores; those that have
    not learned yet share the last rank. It is no number where all spreads or times are equal.
    """
    sigmas, times = zip(*((g.sigma, g.time) for g in some), strict=True)
    if len(set(sigmas)) == 1 or len(set(times)) == 1:
        return math.nan
    correlation: Any = spearmanr(sigmas, times)
    return float(correlation.statistic)


class Gap(NamedTuple):
    """Two groups of like spreads, and how many times as long the later one takes."""

    times: float
    sooner: Group
    later: Group


def widest_gap(some: Iterable[Group], *, same_divisor: bool) -> Gap | None:
    """The pair of one task and warm-up, of spreads within ``LIKE``, whose times are furthest apart.

    Args:
        some: groups at the chosen rates, or at the one.
        same_divisor: whether the two divide by the same.

    Returns:
        The pair, or ``None`` where there is none. Two that have not learned yet are none.
    """
    gaps = []
    for pair in combinations(some, 2):
        a, b = sorted(pair, key=lambda g: g.time)
        alike = max(a.sigma, b.sigma) <= LIKE * min(a.sigma, b.sigma)
        setting = (a.cell.task, a.cell.warm_up) == (b.cell.task, b.cell.warm_up)
        if alike and setting and (a.scaling == b.scaling) == same_divisor and math.isfinite(a.time):
            half = a.cell.every / 2  # a look that saw it came half a look late on average
            gaps.append(Gap((b.time - half) / (a.time - half), a, b))
    return max(gaps, key=lambda gap: gap.times, default=None)
