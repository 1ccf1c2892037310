"""What sources say of training, from the stored study of chapter 9.

A comparison is one of the study's, by name. Figures are those of the runs that report, each scaling
at the learning rate chosen for it; a run that has not learned within its budget is censored there.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache

import torch
from scipy.stats import binomtest

from sdpa_book.ledger.checks.decoders import of_the_root
from sdpa_book.ledger.verdict import STANDARD_ERRORS, Finding, finding
from sdpa_book.studies.training.censoring import times_as_long
from sdpa_book.studies.training.plan import (
    LEARNED,
    LOSS_BOUND,
    STAY,
    WARM_UP,
    Comparison,
    Record,
    by_scaling,
    load_plan,
)
from sdpa_book.studies.training.read import Contrast, contrasts, load_study, reported
from sdpa_book.writing.measured import Measured, mean_and_error

RISE_BOUND = 100.0
"""A run diverges where its gradient is ever so many times that of its first step."""


def learns_later(*, comparison: str, scaling: str, against: str) -> Finding:
    """The p value of the declared test that one scaling learns later than another, corrected for
    the number of all contrasts that the study declares; 1 where it is not later.
    """
    (test,) = (
        test
        for test in _contrasts()
        if (test.comparison, test.scaling, test.against) == (comparison, scaling, against)
    )
    return finding(
        test.adjusted if test.verdict != "sooner" else 1.0,
        times=times_as_long(*(_runs(comparison)[name] for name in (scaling, against))),
        steps=test.median.steps,
        other_steps=test.other.steps,
    )


def share_that_learns(*, scaling: str, against: str) -> Finding:
    """The share of models that learn within their budget, over all comparisons that declare a test
    and have both scalings. As facts the same over the other comparisons in which all models of the
    other scaling learn; those of them in which fewer than half of this one's do, with what becomes
    of them in a comparison of more steps, and with how many seeds and up to which share that leaves
    open, the upper end of an exact interval of 95 %.
    """
    have = [n for n in _that_have(scaling, against) if not _is_longer(n)]
    names = [n for n in have if _comparisons()[n].contrasts]
    runs, theirs = ([r for n in names for r in _runs(n)[s]] for s in (scaling, against))
    others = [n for n in have if n not in names]
    fair = [n for n in others if _learned(_runs(n)[against]) == len(_runs(n)[against])]
    of_others = _distinct(r for n in fair for r in _runs(n)[scaling])
    elsewhere = [r for r in of_others if r.run not in {of.run for of in runs}]
    behind = [n for n in fair if 2 * _learned(_runs(n)[scaling]) < len(_runs(n)[scaling])]
    budgets = [r.run.cell.budget for r in runs]
    value, error = _share(_learned(runs), len(runs))
    return finding(
        value,
        error,
        learned=_learned(runs),
        seeds=len(runs),
        last=max(r.time for r in runs),
        other_last=max(r.time for r in theirs),
        least_budget=min(budgets),
        budget=max(budgets),
        elsewhere=f"{_learned(elsewhere)} of {len(elsewhere)}",
        behind="; ".join(_followed(name, scaling) for name in behind) or "none",
        behind_seeds=max(len(_runs(n)[scaling]) for n in behind),
        reach=min(_upper(_runs(n)[scaling]) for n in behind),
    )


def share_that_diverges(*, scaling: str) -> Finding:
    """The share of runs of a scaling that diverge, of all runs that report: after the warm-up the
    loss is ever twice that of guessing, or the gradient a hundred times what it was at the first
    step of the same run. As facts how far the worst of them go; and of the runs that chose a rate,
    at all that were tried, how many there are, how many have a loss beyond the bound, and how many
    were given up before their budget.
    """
    runs = _distinct(r for name in _comparisons() for r in _runs(name).get(scaling, []))
    chose = [r for r in _study() if r.run.scaling == scaling and r.run.chooses]
    rises = [r.worst_gradient / r.curves["gradient"][0] for r in runs]
    diverged = [
        not r.finite or r.worst_loss > LOSS_BOUND or rise > RISE_BOUND
        for r, rise in zip(runs, rises, strict=True)
    ]
    return finding(
        *_share(sum(diverged), len(runs)),
        runs=len(runs),
        diverged=sum(diverged),
        deepest=max(r.run.cell.n_layers for r in runs),
        worst_loss=max(r.worst_loss for r in runs),
        rise=max(rises),
        chose=len(chose),
        chose_diverged=sum(not r.finite or r.worst_loss > LOSS_BOUND for r in chose),
        chose_given_up=sum(r.learned_at is None and r.steps < r.run.cell.budget for r in chose),
    )


def largest_gradient(*, scaling: str, against: str, until: int | None = None) -> Finding:
    """How many times as large the largest gradient of a run is with one scaling as with another, on
    the geometric average over seeds: the lower end of an interval of three standard errors, the
    least of the comparisons on recall under Adam that declare a test of the two. As facts that
    ratio, the smallest and the largest one, and those of the digits under Adam and under gradient
    descent.

    ``None`` takes every step of a run after the warm-up, and runs end when they have learned;
    ``until`` takes the looks up to a step, the same for all.
    """

    def largest(record: Record) -> float:
        if until is None:
            return record.worst_gradient
        curve = zip(record.curves["step"], record.curves["gradient"], strict=True)
        return max(gradient for step, gradient in curve if WARM_UP <= step <= until)

    ratios: dict[tuple[bool, str], dict[str, Measured]] = defaultdict(dict)
    for name in _that_test(scaling, against):
        cell = _comparisons()[name].cell
        kind = cell.task == "digits", cell.optimiser
        ratios[kind][name] = _ratio(_runs(name), scaling, against, largest)
    recall = ratios[False, "adam"]
    ends = {name: r.value - STANDARD_ERRORS * r.error for name, r in recall.items()}
    where = min(ends, key=ends.__getitem__)
    smallest, greatest = (f(recall, key=recall.__getitem__) for f in (min, max))
    return finding(
        ends[where],
        where=where,
        least=recall[where],
        smallest=f"{recall[smallest]} times, in “{smallest}”",
        largest=f"{recall[greatest]}, in “{greatest}”",
        most=max(recall.values()),
        digits=min(ratios[True, "adam"].values()),
        descent=min(ratios[True, "sgd"].values()),
    )


def _that_have(*scalings: str) -> list[str]:
    """The comparisons with all runs of these scalings in which all parameters learn at one rate."""
    return [
        name
        for name, comparison in _comparisons().items()
        if comparison.cell.other_rate is None and {*scalings} <= _runs(name).keys()
    ]


def _longer(name: str) -> list[str]:
    """The comparisons that are this one with a larger budget."""
    cell = _comparisons()[name].cell
    return [
        other
        for other, comparison in _comparisons().items()
        if comparison.cell.budget > cell.budget
        and replace(comparison.cell, budget=cell.budget) == cell
    ]


def _is_longer(name: str) -> bool:
    return any(name in _longer(other) for other in _comparisons())


def _followed(name: str, scaling: str) -> str:
    """What became of a comparison's runs by their budget, and by a larger one if it was given."""
    counts = [
        f"{_count(_runs(n)[scaling])} by step {_comparisons()[n].cell.budget:,}"
        f"{_short_of(n, scaling)}"
        for n in (name, *_longer(name))
    ]
    return f"{name} ({', then '.join(counts)})"


def _short_of(name: str, scaling: str) -> str:
    """What the models answer in the end that have not learned, those that chose the rate too where
    a single one reports.
    """
    runs = _runs(name)[scaling]
    behind = [r.accuracy for r in runs if r.learned_at is None]
    if not behind:
        return f", the last at step {max(r.time for r in runs):,}"
    text = f", the others at {_range(behind)}"
    if min(behind) >= LEARNED:
        text += f", past {100 * LEARNED:.0f} % too late to stay there for {STAY} steps"
    if len(runs) == 1:
        text = f", at {_range(behind)}"
        rates = by_scaling(_study(), _comparisons()[name].cell)[scaling]
        chose = [r.accuracy for r in rates[runs[0].run.rate].values() if r.run.chooses]
        text += f", and the seed that chose its rate at {_range(chose)}"
    return text


def _range(shares: list[float]) -> str:
    low, high = (f"{100 * end:.0f}" for end in (min(shares), max(shares)))
    return f"{low} %" if low == high else f"{low} to {high} %"


def _ratio(
    runs: dict[str, list[Record]],
    scaling: str,
    against: str,
    of: Callable[[Record], float],
) -> Measured:
    """The ratio of a figure of two scalings, on the geometric average over the seeds they share."""
    pairs = zip(runs[scaling], runs[against], strict=True)
    logs = mean_and_error(torch.tensor([math.log(of(a) / of(b)) for a, b in pairs]))
    value = math.exp(logs.value)
    return Measured(value, value * logs.error)


def accuracy_kept(*, comparison: str, scaling: str, against: str, pairs: int) -> Finding:
    """The mean difference in accuracy between two scalings among so many pairs, seed by seed."""
    ours, theirs = (
        torch.tensor([r.tested[str(pairs)] for r in _runs(comparison)[name]], dtype=torch.float64)
        for name in (scaling, against)
    )
    return finding(
        *mean_and_error(ours - theirs),
        accuracy=ours.mean().item(),
        other_accuracy=theirs.mean().item(),
    )


def evenness_once_learned(*, comparison: str, scaling: str, beside: str) -> Finding:
    """The entropy of a row of weights, as a fraction of ln n, at the last look at a run that has
    learned; as facts the same in another comparison, and in the decoders of chapter 10.
    """
    last, first, spread = (
        _mean_of_curve(comparison, scaling, name, place)
        for name, place in (("entropy", -1), ("entropy", 0), ("score_std", -1))
    )
    return finding(
        last.value,
        last.error,
        first=first.value,
        spread=spread.value,
        beside=_mean_of_curve(beside, scaling, "entropy", -1),
        decoders=of_the_root("entropy")[1],
        longer=of_the_root("entropy", "longer")[1],
    )


def _mean_of_curve(comparison: str, scaling: str, name: str, place: int) -> Measured:
    """The mean over seeds of a curve at its first or last point."""
    values = [r.curves[name][place] for r in _runs(comparison)[scaling]]
    return mean_and_error(torch.tensor(values, dtype=torch.float64))


@cache
def _study() -> tuple[Record, ...]:
    return tuple(load_study()[1])


@cache
def _comparisons() -> dict[str, Comparison]:
    return load_plan()


@cache
def _runs(comparison: str) -> dict[str, list[Record]]:
    return reported(_study(), _comparisons()[comparison])


@cache
def _contrasts() -> tuple[Contrast, ...]:
    return tuple(contrasts(_study(), _comparisons()))


def _that_test(scaling: str, against: str) -> list[str]:
    """The comparisons that declare a test of one scaling against the other."""
    return [
        name
        for name, comparison in _comparisons().items()
        if scaling in comparison.contrasts and comparison.against == against
    ]


def _distinct(runs: Iterable[Record]) -> list[Record]:
    """Each run once: comparisons at one rate share runs with those that choose it."""
    return list({record.run: record for record in runs}.values())


def _learned(runs: list[Record]) -> int:
    return sum(record.learned_at is not None for record in runs)


def _count(runs: list[Record]) -> str:
    return f"{_learned(runs)} of {len(runs)}"


def _upper(runs: list[Record]) -> float:
    """Up to which share of models that learn these runs leave open, at 95 %: the upper end of the
    exact interval of Clopper and Pearson.
    """
    return float(binomtest(_learned(runs), len(runs)).proportion_ci(0.95).high)


def _share(count: int, total: int) -> Measured:
    """A share and its standard error, which two successes and two failures more keep above 0 where
    all or none are counted.
    """
    moved = (count + 2) / (total + 4)
    return Measured(count / total, math.sqrt(moved * (1 - moved) / (total + 4)))
