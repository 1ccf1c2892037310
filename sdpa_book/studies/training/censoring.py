"""What times to learn say, of which some are known to be longer than a run was watched.

A run that has not learned within its budget says that its time to learn is longer, and no more: the
estimates here are those for censored data, Kaplan and Meier's curve :cite:p:`kaplan1958` and the
log-rank test :cite:p:`mantel1966`. Its p values are those of a permutation test: a table of
chi-squared holds for many runs, and here ten stand against ten.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.stats

from sdpa_book.studies.training.plan import Record

LEVEL_OF_INTERVALS = 0.95

RELABELINGS = 200_000
"""All relabelings of two groups of runs are made where they are no more than this; of more, so many
are drawn.
"""


RESAMPLINGS = 20_000
"""How often seeds are resampled for the interval of a ratio."""


class Survival(NamedTuple):
    """The share of runs that have not learned yet, a step function.

    Attributes:
        steps: where it falls, from 0.
        share: from each of the steps on.
        low: where the 95 % confidence interval of the share begins.
        high: where it ends.
    """

    steps: list[float]
    share: list[float]
    low: list[float]
    high: list[float]


def survival(records: Sequence[Record]) -> Survival:
    """Kaplan and Meier's estimate from runs that have learned and runs that are censored.

    Intervals are those of the log-log transformation, and where no run has learned yet, or all
    have, the exact ones of :cite:t:`clopper1934`.
    """
    curve = scipy.stats.ecdf(_censored(records)).sf
    with warnings.catch_warnings(action="ignore"):  # that method has none at 0 and at 1
        band = curve.confidence_interval(method="log-log")
    reach = (1 - LEVEL_OF_INTERVALS) / 2
    reach **= 1 / len(records)
    ends = {0.0: (0.0, 1.0 - reach), 1.0: (reach, 1.0)}
    rows = [
        (step, share, *ends.get(share, bounds))
        for step, share, *bounds in zip(
            curve.quantiles,
            curve.probabilities,
            band.low.probabilities,
            band.high.probabilities,
            strict=True,
        )
    ]
    columns = zip((0.0, 1.0, *ends[1.0]), *rows, strict=True)
    return Survival(*([float(x) for x in column] for column in columns))


class Median(NamedTuple):
    """The median time to learn and its 95 % confidence interval; infinite where a run has to be
    longer to say it, and from 0 where fewer than six runs say nothing of a lower limit.
    """

    steps: float
    low: float
    high: float

    def __str__(self) -> str:
        def text(steps: float) -> str:
            return f"{steps:,.0f}" if math.isfinite(steps) else "∞"

        return f"{text(self.steps)} ({text(self.low)} to {text(self.high)})"


def median_time(records: Sequence[Record]) -> Median:
    """The median time to learn, where the survival curve crosses a half.

    Of ten runs it lies in the middle between the fifth and the sixth, as medians do. Its interval
    is the one of :cite:t:`brookmeyer1982`, between the steps at which the limits of the curve fall
    to a half.
    """
    curve = survival(records)

    def falls(shares: Sequence[float], below: float = 0.5 + 1e-9) -> float:
        fallen = (step for step, share in zip(curve.steps, shares, strict=True) if share <= below)
        return next(fallen, math.inf)

    middle = (falls(curve.share) + falls(curve.share, 0.5 - 1e-9)) / 2
    return Median(middle, falls(curve.low), falls(curve.high))


class Ratio(NamedTuple):
    """How many times as long one group takes as another, with a 95 % confidence interval."""

    times: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.times:.1f} ({self.low:.1f} to {self.high:.1f})"


def times_as_long(
    ours: Sequence[Record], theirs: Sequence[Record], *, censored: bool = False
) -> Ratio:
    """The ratio of the medians of two groups of runs.

    A run is first seen to have learned at a look, and did so between it and the look before. So
    each time is put in the middle of the two; for the interval seeds are resampled, and their
    times lie anywhere between the two.

    Args:
        ours, theirs: the runs of either group.
        censored: runs may be censored. Each counts with the step at which it was, so that of a
            censored run of ours what is found is no more than it would be with its time.

    Raises:
        ValueError: a run is censored, so that its time is not known, and none may be.

    Example:
        >>> from sdpa_book.studies.training import load_plan, load_study, reported
        >>> runs = reported(load_study()[1], load_plan()["recall, d_k 64"])
        >>> print(times_as_long(runs["none"], runs["sqrt_d_k"]))
        3.6 (3.3 to 4.3)
    """
    if not censored:
        for name, runs in (("ours", ours), ("theirs", theirs)):
            if any(record.learned_at is None for record in runs):
                raise ValueError(f"{name} must have learned, got a run that is censored")
    return _ratio([ours], [theirs])


def ratio_of_ratios(
    first: tuple[Sequence[Record], Sequence[Record]],
    second: tuple[Sequence[Record], Sequence[Record]],
) -> Ratio:
    """How many times as large the ratio of the medians of one pair of groups is as that of another.

    Times, censored runs and the interval are as in :func:`times_as_long`.

    Example:
        >>> from sdpa_book.studies.training import load_plan, load_study, reported
        >>> runs = reported(load_study()[1], load_plan()["recall, d_k 64"])
        >>> pair = runs["none"], runs["sqrt_d_k"]
        >>> ratio_of_ratios(pair, pair).times
        1.0
    """
    return _ratio([first[0], second[1]], [first[1], second[0]])


def _ratio(above: Sequence[Sequence[Record]], below: Sequence[Sequence[Record]]) -> Ratio:
    """The product of the medians of some groups over that of others."""
    middle, drawn = 1.0, np.ones(RESAMPLINGS)
    powers = [1] * len(above) + [-1] * len(below)
    for stream, (runs, power) in enumerate(zip([*above, *below], powers, strict=True)):
        generator = np.random.default_rng([0, stream])
        times = np.array([float(record.time) for record in runs])
        chosen = generator.choice(times, (RESAMPLINGS, len(times)))
        every = runs[0].run.cell.every
        medians = np.median(chosen - every * generator.random(chosen.shape), axis=1)
        drawn = drawn * medians**power
        middle *= (np.median(times) - every / 2) ** power
    reach = (1 - LEVEL_OF_INTERVALS) / 2
    low, high = np.quantile(drawn, [reach, 1 - reach])
    return Ratio(float(middle), float(low), float(high))


def holm(p_values: Sequence[float], declared: int | None = None) -> list[float]:
    """P values after the correction of :cite:t:`holm1979` for their number.

    Args:
        p_values: one for each test.
        declared: how many tests there are; more than are given where some are still to come.

    Example:
        >>> holm([0.01, 0.04, 0.03])
        [0.03, 0.06, 0.06]
    """
    declared = len(p_values) if declared is None else declared
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted, largest = [0.0] * len(p_values), 0.0
    for place, i in enumerate(order):
        largest = max(largest, min(1.0, (declared - place) * p_values[i]))
        adjusted[i] = largest
    return adjusted


class LogRank(NamedTuple):
    """The log-rank test of two groups of runs.

    Attributes:
        excess: how many more of ours have learned than if at each step every waiting run were as
            likely as any other to be the one that learns.
        p_value: the share of relabelings whose excess is as large, whatever its sign.
    """

    excess: float
    p_value: float


def log_rank(ours: Sequence[Record], theirs: Sequence[Record], *, paired: bool = False) -> LogRank:
    """The log-rank test, its p value from relabeling the runs.

    If the scaling made no difference, which runs are called ours would be a matter of chance. So
    the excess is computed for every other way to call as many of all runs ours.

    Args:
        ours: the runs of one scaling.
        theirs: those of another.
        paired: swap only ours with theirs of the same place, as runs of one seed can be. It allows
            for whatever two runs of a seed share, and n seeds cannot get below 2 / 2**n.

    Example:
        >>> from sdpa_book.studies.training import load_plan, load_study, reported
        >>> runs = reported(load_study()[1], load_plan()["recall, d_k 64"])
        >>> log_rank(runs["none"], runs["sqrt_d_k"], paired=True).p_value * 2**10
        2.0
    """
    scores = _scores([*ours, *theirs])
    rows = _swaps(len(ours)) if paired else _relabelings(len(scores), len(ours))
    excess = scores[: len(ours)].sum()
    as_large = np.abs(scores[rows].sum(axis=1)) >= abs(excess) - 1e-9
    return LogRank(float(excess), float(as_large.mean()))


def step_down(pairs: Sequence[tuple[Sequence[Record], Sequence[Record]]]) -> list[float]:
    """P values of several paired log-rank tests, corrected for their number by the step-down
    procedure of :cite:t:`westfall1993`.

    In each of the 2**n ways all tests swap the runs of the same seeds. An excess, in units of its
    standard deviation over these ways, counts as large where it exceeds the largest of its own test
    and of all tests that are less clear. Tests that are clear together share their ways, so that
    the p values need not be multiplied by the number of tests. For each test by itself the swaps
    are exact; for tests that share a group they are so if the differences to it, all turned round,
    are as likely.

    Args:
        pairs: the two groups of each test, with one run for each of the same n seeds.

    Example:
        >>> from sdpa_book.studies.training import load_plan, load_study, reported
        >>> runs = reported(load_study()[1], load_plan()["recall, d_k 64"])
        >>> pairs = [(runs[s], runs["sqrt_d_k"]) for s in ("none", "k_total")]
        >>> max(step_down(pairs)) * 2**10
        2.0
    """
    excesses = []
    for ours, theirs in pairs:
        excess = np.abs(_scores([*ours, *theirs])[_swaps(len(ours))].sum(axis=1))
        excesses.append(excess / (np.sqrt((excess**2).mean()) or 1.0))
    table = np.array(excesses)  # the first way is the one that was seen
    adjusted, largest = [1.0] * len(table), 0.0
    order = np.argsort(-table[:, 0])
    for place, i in enumerate(order):
        least_clear = table[order[place:]].max(axis=0)
        largest = max(largest, float((least_clear >= table[i, 0] - 1e-9).mean()))
        adjusted[i] = largest
    return adjusted


def _scores(records: Sequence[Record]) -> npt.NDArray[np.float64]:
    """What each run adds to the excess of its group: 1 if it has learned, less its expected number,
    the sum of 1 / (runs still waiting) over all learning up to its time.
    """
    times = np.array([record.time for record in records])
    learned = np.array([record.learned_at is not None for record in records])
    steps = times[learned]
    hazards = 1 / (times >= steps[:, None]).sum(axis=1)
    expected: npt.NDArray[np.float64] = (steps <= times[:, None]) @ hazards
    return learned - expected


@cache
def _relabelings(n_runs: int, n_ours: int) -> npt.NDArray[np.intp]:
    """Which runs are called ours, a row for each relabeling; the first is the one that was seen."""
    if math.comb(n_runs, n_ours) <= RELABELINGS:
        return np.array(list(itertools.combinations(range(n_runs), n_ours)))
    drawn = np.random.default_rng(0).random((RELABELINGS, n_runs)).argsort(axis=1)[:, :n_ours]
    return np.vstack([np.arange(n_ours), drawn])


@cache
def _swaps(n_pairs: int) -> npt.NDArray[np.intp]:
    """The same where run i may change places with run n_pairs + i only."""
    return np.array(list(itertools.product(*((i, n_pairs + i) for i in range(n_pairs)))))


def _censored(records: Sequence[Record]) -> scipy.stats.CensoredData:
    return scipy.stats.CensoredData(
        uncensored=[float(r.time) for r in records if r.learned_at is not None],
        right=[float(r.time) for r in records if r.learned_at is None],
    )
