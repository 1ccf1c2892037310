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
from sdpa_lib.book.training.plan import load_comparisons
from sdpa_lib.book.training.results import load_study
from sdpa_lib.book.training.study import Record
from sdpa_lib.book.training.summary import reported
from sdpa_lib.sampling import make_generator


def time_to_learn(*, comparison: str, scaling: str, against: str) -> Finding:
    """How many times as many steps one scaling takes as another until half of the seeds have
    learned; the error is that of resampled seeds.
    """
    ours, theirs = (_runs(comparison)[name] for name in (scaling, against))
    times = [torch.tensor([float(r.time) for r in runs]) for runs in (ours, theirs)]
    drawn = [
        t[torch.randint(len(t), (2000, len(t)), generator=make_generator(0, stream))].median(-1)
        for stream, t in enumerate(times)
    ]
    first, second = (
        Measured(t.median().item(), d.values.std().item())
        for t, d in zip(times, drawn, strict=True)
    )
    value, error = ratio(first, second)
    return found(
        value,
        error,
        steps=first.value,
        other_steps=second.value,
        learned=_learned(ours),
        seeds=len(ours),
        budget=ours[0].run.cell.budget,
    )


def share_that_learns(*, comparison: str, scaling: str) -> Finding:
    """The share of seeds whose model learns within the budget."""
    runs = _runs(comparison)[scaling]
    value, error = _share(_learned(runs), len(runs))
    return found(
        value, error, learned=_learned(runs), seeds=len(runs), budget=runs[0].run.cell.budget
    )


def share_that_blows_up(*, scaling: str, layers: int) -> Finding:
    """The share of runs that blow up, over all learning rates and comparisons with so many
    layers.
    """
    runs = [r for r in _study() if r.run.scaling == scaling and r.run.cell.n_layers == layers]
    blown = sum(record.blew_up for record in runs)
    return found(*_share(blown, len(runs)), runs=len(runs), blown=blown)


def largest_gradient(*, comparison: str, scaling: str, against: str) -> Finding:
    """How many times as large the largest gradient of a run is with one scaling as with another,
    on the geometric average over seeds.
    """
    ours, theirs = (
        mean_and_error(torch.tensor([math.log(r.worst_gradient) for r in _runs(comparison)[name]]))
        for name in (scaling, against)
    )
    value = math.exp(ours.value - theirs.value)
    return found(
        value,
        value * math.hypot(ours.error, theirs.error),
        largest=math.exp(ours.value),
        other_largest=math.exp(theirs.value),
    )


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


def evenness_once_learned(*, comparison: str, scaling: str) -> Finding:
    """The entropy of a row of weights, as a fraction of ln n, at the last look at a run that has
    learned.
    """
    runs = _runs(comparison)[scaling]
    last, first, spread = (
        torch.tensor([r.curves[name][place] for r in runs], dtype=torch.float64)
        for name, place in (("entropy", -1), ("entropy", 0), ("score_std", -1))
    )
    value, error = mean_and_error(last)
    return found(value, error, first=first.mean().item(), spread=spread.mean().item())


@cache
def _study() -> tuple[Record, ...]:
    return tuple(load_study()[1])


@cache
def _runs(comparison: str) -> dict[str, list[Record]]:
    return reported(_study(), load_comparisons()[comparison])


def _learned(runs: list[Record]) -> int:
    return sum(record.learned_at is not None for record in runs)


def _share(count: int, total: int) -> Measured:
    """A share and its standard error, which two successes and two failures more keep above 0 where
    all or none are counted.
    """
    moved = (count + 2) / (total + 4)
    return Measured(count / total, math.sqrt(moved * (1 - moved) / (total + 4)))
