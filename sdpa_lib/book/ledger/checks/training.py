"""What sources say of training, from the stored study of chapter 12.

A cell is named by its task, its key dimension and, where they are not the usual two, its layers.
Figures are those of each scaling's own best learning rate, averaged over the seeds.
"""

from __future__ import annotations

import math
from functools import cache

import torch

from sdpa_lib.book.ledger._verdict import Finding, found
from sdpa_lib.book.measured import mean_and_error, ratio
from sdpa_lib.book.training.results import load_study
from sdpa_lib.book.training.study import STUDY, Record
from sdpa_lib.book.training.summary import accuracies, at_best_rate, curve

LEARNED = 0.9
"""The accuracy at which a task counts as learned."""


def steps_to_learn(*, task: str, d_k: int, scaling: str, other: str) -> Finding:
    """How many times as many steps one scaling needs as another; a run that never learns counts
    with its whole length.
    """
    ours, theirs = (_steps(_records(task, d_k)[name]) for name in (scaling, other))
    value, error = ratio(mean_and_error(ours), mean_and_error(theirs))
    return found(value, error, steps=ours.mean().item(), other_steps=theirs.mean().item())


def seeds_that_learn(*, task: str, d_k: int, scaling: str) -> Finding:
    """The share of seeds whose model learns within the run."""
    learned = [record.steps_to(LEARNED) is not None for record in _records(task, d_k)[scaling]]
    return found(sum(learned) / len(learned), learned=sum(learned), seeds=len(learned))


def runs_that_learn(*, scaling: str, other: str) -> Finding:
    """Over all learning rates tried in all cells of recall: by how much larger a share of runs
    learns with one scaling.
    """
    shares = {}
    for name in (scaling, other):
        learned = [
            record.test_accuracy[record.run.cell.task] >= LEARNED
            for record in _study()
            if record.run.scaling == name and record.run.cell.task != "digits"
        ]
        shares[name] = (sum(learned) / len(learned), len(learned))
    (ours, n), (theirs, m) = shares.values()
    error = math.sqrt(ours * (1 - ours) / n + theirs * (1 - theirs) / m)
    return found(ours - theirs, error, share=ours, other_share=theirs)


def runs_that_diverge(*, scaling: str) -> Finding:
    """The share of all runs of a scaling, at every learning rate, whose loss blew up."""
    diverged = [record.diverged for record in _study() if record.run.scaling == scaling]
    return found(sum(diverged) / len(diverged), runs=len(diverged), diverged=sum(diverged))


def accuracy_gained(
    *, task: str, d_k: int, scaling: str, other: str, tested: str = "", n_layers: int = 2
) -> Finding:
    """The mean difference in test accuracy between two scalings, seed by seed; ``tested`` names
    another length of recall.
    """
    ours, theirs = (
        torch.tensor(
            accuracies(_records(task, d_k, n_layers)[name], tested or task), dtype=torch.float64
        )
        for name in (scaling, other)
    )
    return found(
        *mean_and_error(ours - theirs),
        accuracy=ours.mean().item(),
        other_accuracy=theirs.mean().item(),
    )


def evenness_after_training(*, task: str, d_k: int, scaling: str) -> Finding:
    """The entropy of a row of weights at the end of training, as a fraction of ln n."""
    records = _records(task, d_k)[scaling]
    entropies, spreads = (curve(records, name)[1].double() for name in ("entropy", "score_std"))
    value, error = mean_and_error(entropies[:, -1])
    return found(
        value, error, first=entropies[:, 0].mean().item(), spread=spreads[:, -1].mean().item()
    )


def first_gradient(*, task: str, d_k: int, scaling: str, other: str, n_layers: int) -> Finding:
    """How many times as large the first gradient of all parameters is with one scaling as with
    another.
    """
    cell = _records(task, d_k, n_layers)
    ours, theirs = (curve(cell[name], "gradient")[1][:, 0].double() for name in (scaling, other))
    value, error = ratio(mean_and_error(ours), mean_and_error(theirs))
    reached = {name: sum(accuracies(cell[name])) / len(cell[name]) for name in (scaling, other)}
    return found(value, error, accuracy=reached[scaling], other_accuracy=reached[other])


@cache
def _study() -> tuple[Record, ...]:
    return tuple(load_study()[1])


@cache
def _records(task: str, d_k: int, n_layers: int = 2) -> dict[str, list[Record]]:
    (cell,) = (
        c
        for c in STUDY
        if (c.task, c.d_k, c.n_layers, c.optimiser) == (task, d_k, n_layers, "adam")
    )
    return at_best_rate(_study(), cell)


def _steps(records: list[Record]) -> torch.Tensor:
    def steps(record: Record) -> int:
        reached = record.steps_to(LEARNED)
        return record.run.cell.steps if reached is None else reached

    return torch.tensor([float(steps(record)) for record in records], dtype=torch.float64)
