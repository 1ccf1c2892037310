"""What sources say of training, from the stored study of chapter 12.

A comparison is one of the study's, by name. Figures are those of the runs that report, each scaling
at the learning rate chosen for it; a run that has not learned within its budget is censored there.
"""

from __future__ import annotations

import math
from functools import cache

import torch

from sdpa_lib.book.ledger._verdict import Finding, found
from sdpa_lib.book.measured import Measured, mean_and_error, ratio
from sdpa_lib.book.training.plan import by_scaling, load_comparisons
from sdpa_lib.book.training.results import load_study
from sdpa_lib.book.training.study import Record
from sdpa_lib.book.training.summary import Contrast, contrasts, reported
from sdpa_lib.sampling import make_generator


def learns_later(*, comparison: str, scaling: str, against: str) -> Finding:
    """The p value of the declared test that one scaling learns later than another, corrected for
    the number of all contrasts that the study declares; 1 where it is not later.
    """
    (test,) = (
        test
        for test in _contrasts()
        if (test.comparison, test.scaling, test.against) == (comparison, scaling, against)
    )
    ours, theirs = (_runs(comparison)[name] for name in (scaling, against))
    first_gradients = (
        mean_and_error(torch.tensor([r.curves["gradient_qk"][0] for r in runs]))
        for runs in (ours, theirs)
    )
    return found(
        test.adjusted if test.verdict != "sooner" else 1.0,
        times=_times_as_long(ours, theirs),
        steps=test.median.steps,
        other_steps=test.other.steps,
        gradient=ratio(*first_gradients).value,
    )


def share_that_learns(*, scaling: str, against: str) -> Finding:
    """The share of models that learn within their budget, over all comparisons that declare a test
    of one scaling against the other. As facts the same over the other comparisons in which all
    models of the other scaling learn, and those of them in which fewer than half of this one's do.
    """
    names = _that_test(scaling, against)
    runs, theirs = ([r for n in names for r in _runs(n)[s]] for s in (scaling, against))
    others = {
        name: _runs(name)[scaling]
        for name in _that_have(scaling, against)
        if name not in names and _learned(_runs(name)[against]) == len(_runs(name)[against])
    }
    behind = [name for name, rs in others.items() if _learned(rs) < len(rs) / 2]
    elsewhere = [record for rs in others.values() for record in rs]
    budgets = [r.run.cell.budget for r in runs]
    value, error = _share(_learned(runs), len(runs))
    return found(
        value,
        error,
        learned=_learned(runs),
        seeds=len(runs),
        last=max(r.time for r in runs),
        other_last=max(r.time for r in theirs),
        least_budget=min(budgets),
        budget=max(budgets),
        elsewhere=f"{_learned(elsewhere)} of {len(elsewhere)}",
        behind="; ".join(behind) or "none",
    )


def share_that_blows_up(*, scaling: str, against: str) -> Finding:
    """The share of a scaling's runs that blow up, over all learning rates of all comparisons that
    have another one as well.
    """
    runs = {
        record.run: record.blew_up
        for name in _that_have(scaling, against)
        for seeds in by_scaling(_study(), load_comparisons()[name].cell)[scaling].values()
        for record in seeds.values()
    }
    blown = sum(runs.values())
    return found(
        *_share(blown, len(runs)),
        runs=len(runs),
        blown=blown,
        deepest=max(run.cell.n_layers for run in runs),
    )


def largest_gradient(*, scaling: str, against: str) -> Finding:
    """How many times as large the largest gradient of a run is with one scaling as with another,
    on the geometric average over seeds: the least ratio of the comparisons under Adam that declare
    a test of the two. As facts the largest one, and that under gradient descent.
    """
    ratios: dict[str, dict[str, Measured]] = {"adam": {}, "sgd": {}}
    for name in _that_test(scaling, against):
        optimiser = load_comparisons()[name].cell.optimiser
        ratios[optimiser][name] = _ratio_of_gradients(name, scaling, against)
    where, least = min(ratios["adam"].items(), key=lambda item: item[1])
    return found(
        least.value,
        least.error,
        where=where,
        most=max(ratios["adam"].values()),
        descent=min(ratios["sgd"].values()),
    )


def _that_have(*scalings: str) -> list[str]:
    """The comparisons with all runs of these scalings in which all parameters learn at one rate."""
    return [
        name
        for name, comparison in load_comparisons().items()
        if comparison.cell.other_rate is None and {*scalings} <= _runs(name).keys()
    ]


def _ratio_of_gradients(comparison: str, scaling: str, against: str) -> Measured:
    ours, theirs = (
        mean_and_error(torch.tensor([math.log(r.worst_gradient) for r in _runs(comparison)[name]]))
        for name in (scaling, against)
    )
    value = math.exp(ours.value - theirs.value)
    return Measured(value, value * math.hypot(ours.error, theirs.error))


def accuracy_kept(*, comparison: str, scaling: str, against: str, pairs: int) -> Finding:
    """The mean difference in accuracy between two scalings among so many pairs, seed by seed."""
    ours, theirs = (
        torch.tensor([r.tested[str(pairs)] for r in _runs(comparison)[name]], dtype=torch.float64)
        for name in (scaling, against)
    )
    return found(
        *mean_and_error(ours - theirs),
        accuracy=ours.mean().item(),
        other_accuracy=theirs.mean().item(),
    )


def evenness_once_learned(*, comparison: str, scaling: str, beside: str) -> Finding:
    """The entropy of a row of weights, as a fraction of ln n, at the last look at a run that has
    learned; as a fact the same in another comparison.
    """
    last, first, spread = (
        _mean_of_curve(comparison, scaling, name, place)
        for name, place in (("entropy", -1), ("entropy", 0), ("score_std", -1))
    )
    return found(
        last.value,
        last.error,
        first=first.value,
        spread=spread.value,
        beside=_mean_of_curve(beside, scaling, "entropy", -1),
    )


def _mean_of_curve(comparison: str, scaling: str, name: str, place: int) -> Measured:
    """The mean over seeds of a curve at its first or last point."""
    values = [r.curves[name][place] for r in _runs(comparison)[scaling]]
    return mean_and_error(torch.tensor(values, dtype=torch.float64))


@cache
def _study() -> tuple[Record, ...]:
    return tuple(load_study()[1])


@cache
def _runs(comparison: str) -> dict[str, list[Record]]:
    return reported(_study(), load_comparisons()[comparison])


@cache
def _contrasts() -> tuple[Contrast, ...]:
    return tuple(contrasts(_study(), load_comparisons()))


def _that_test(scaling: str, against: str) -> list[str]:
    """The comparisons that declare a test of one scaling against the other."""
    return [
        name
        for name, comparison in load_comparisons().items()
        if scaling in comparison.contrasts and comparison.against == against
    ]


def _times_as_long(ours: list[Record], theirs: list[Record]) -> Measured:
    """The ratio of the median times to learn; the error is that of resampled seeds."""
    times = [torch.tensor([float(r.time) for r in runs]) for runs in (ours, theirs)]
    drawn = [
        t[torch.randint(len(t), (2000, len(t)), generator=make_generator(0, stream))].median(-1)
        for stream, t in enumerate(times)
    ]
    first, second = (
        Measured(t.median().item(), d.values.std().item())
        for t, d in zip(times, drawn, strict=True)
    )
    return ratio(first, second)


def _learned(runs: list[Record]) -> int:
    return sum(record.learned_at is not None for record in runs)


def _share(count: int, total: int) -> Measured:
    """A share and its standard error, which two successes and two failures more keep above 0 where
    all or none are counted.
    """
    moved = (count + 2) / (total + 4)
    return Measured(count / total, math.sqrt(moved * (1 - moved) / (total + 4)))
