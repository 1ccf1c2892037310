"""When the models of chapter 9 learn, and what a study sees that stops earlier."""

from __future__ import annotations

import math
from typing import Any

import sdpa_lib as sdpa
from sdpa_book.drawing import plotting
from sdpa_book.names import display_name
from sdpa_book.studies.training.plan import EVERY, load_plan
from sdpa_book.studies.training.read import load_study, reported

ALT = (
    "How many of ten models have not learned yet, against the step, for each divisor. At step "
    "200 a line stops the study: the curve of the undivided models is still at ten there, and "
    "what comes behind the line is pale."
)

COMPARISON = "recall, 64 pairs"
"""Of chapter 9: the one in which undivided models are latest."""


def data() -> dict[str, Any]:
    """By rescaling the steps at which the models that report have learned; every model has."""
    runs = reported(load_study()[1], load_plan()[COMPARISON])
    learned = {
        name: sorted(run.learned_at for run in runs[name] if run.learned_at)
        for name in runs
        if name in sdpa.RESCALINGS
    }
    last = max(times[-1] for times in learned.values())
    return {
        "labels": {name: display_name(name) for name in learned},
        "learned": learned,
        "steps": list(range(EVERY, 100 * math.ceil(last / 100) + 1, EVERY)),
    }


def draw(stop: int = 200) -> None:
    """The models that have not learned yet, pale from where a study stops."""
    fig, ax = plotting.figure(height=3.8)
    told = data()
    end = told["steps"][-1]
    for name, times in told["learned"].items():
        waiting = range(len(times), -1, -1)
        ax.step([0, *times, end], [*waiting, 0], where="post", **plotting.style(name))
        if name == "none":
            ax.lines[-1].set(label=told["labels"][name], zorder=2.4)  # seen
    ax.axvspan(stop, end, color="white", alpha=0.75, zorder=2.5)
    ax.axvline(stop, color=plotting.INK, linewidth=1.5, zorder=3)
    ax.set(xlim=(0, end), xlabel="step", ylabel="models that have not learned")
    fig.legend(fontsize=9, ncols=4, loc="outside lower center")
