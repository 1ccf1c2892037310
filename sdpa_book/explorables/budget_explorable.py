"""When the models of chapter 9 learn, and what a study sees that stops earlier."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import sdpa_lib as sdpa
from sdpa_book.drawing import plotting
from sdpa_book.explorables import rounded
from sdpa_book.names import display_name
from sdpa_book.studies.tasks import TASKS, Recall
from sdpa_book.studies.training.censoring import survival
from sdpa_book.studies.training.plan import EVERY, Record, load_plan
from sdpa_book.studies.training.read import load_study, reported

ALT = (
    "How many of ten models have not learned yet, against the step, for each divisor. At step "
    "200 a line stops the study: the curve of the undivided models is still at ten there, and "
    "what comes behind the line is pale."
)

COMPARISONS = ("recall, d_k 16", "recall, d_k 64", "recall, 64 pairs")
"""Of chapter 9: its first figure and its test of all scalings."""


def data() -> dict[str, Any]:
    """For each comparison and rescaling the steps at which the models that report have learned, and
    by how many have, where a step has so many, the interval of the share that has not.
    """
    study, records = load_plan(), load_study()[1]
    cells: dict[str, dict[str, Any]] = {}
    for name in COMPARISONS:
        d_k, task = study[name].cell.d_k, TASKS[study[name].cell.task]
        assert isinstance(task, Recall)
        runs = reported(records, study[name])
        cells[f"{d_k}-{task.n_pairs}"] = {
            "label": f"heads of {d_k}, {task.n_pairs} pairs",
            "learned": {
                scaling: sorted(run.learned_at for run in runs[scaling] if run.learned_at)
                for scaling in runs
                if scaling in sdpa.RESCALINGS
            },
            "intervals": {
                scaling: _intervals(runs[scaling]) for scaling in runs if scaling in sdpa.RESCALINGS
            },
        }
    learned = [cell["learned"] for cell in cells.values()]
    last = max(times[-1] for cell in learned for times in cell.values())
    return {
        "labels": {name: display_name(name) for name in learned[0]},
        "cells": cells,
        "start": list(cells)[-1],
        "steps": list(range(EVERY, 100 * math.ceil(last / 100) + 1, EVERY)),
    }


def _intervals(runs: Sequence[Record]) -> list[list[float] | None]:
    """Of the share that has not learned, by how many of these runs have."""
    curve = survival(runs)
    by_share = {
        round(share * len(runs)): [rounded(low), rounded(high)]
        for share, low, high in zip(curve.share, curve.low, curve.high, strict=True)
    }
    return [by_share.get(len(runs) - count) for count in range(len(runs) + 1)]


def draw(stop: int = 200) -> None:
    """The models that have not learned yet, pale from where a study stops."""
    fig, ax = plotting.figure(height=3.8)
    told = data()
    end = told["steps"][-1]
    for name, times in told["cells"][told["start"]]["learned"].items():
        waiting = range(len(times), -1, -1)
        ax.step([0, *times, end], [*waiting, 0], where="post", **plotting.style(name))
        if name == "none":
            ax.lines[-1].set(label=told["labels"][name], zorder=2.4)  # seen
    ax.axvspan(stop, end, color="white", alpha=0.75, zorder=2.5)
    ax.axvline(stop, color=plotting.INK, linewidth=1.5, zorder=3)
    ax.set(xlim=(0, end), xlabel="step", ylabel="models that have not learned")
    fig.legend(fontsize=9, ncols=4, loc="outside lower center")
