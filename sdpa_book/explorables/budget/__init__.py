"""When the models of chapter 9 learn, and what a study sees that stops earlier."""

from __future__ import annotations

import math
from typing import Any

import sdpa_lib as sdpa
from sdpa_book.drawing import plotting
from sdpa_book.studies.training.plan import EVERY, load_plan
from sdpa_book.studies.training.read import load_study, reported
from sdpa_book.writing.names import display_name, plot_label

ALT = (
    "The steps at which ten models of each of four divisors learn, as dots in four rows, up to "
    "step 500. A line stops the study at step 200: dots before it are filled, and those of the "
    "undivided models are all behind it, hollow."
)

COMPARISON = "recall, d_k 64"
"""Of chapter 9: that of its answer."""


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
    """The steps at which models learn, hollow from where a study stops."""
    _, ax = plotting.figure(height=3.4)
    study = data()
    for row, (name, times) in enumerate(study["learned"].items()):
        color = plotting.LOOKS[name].color
        for at in sorted({*times}):
            alike = times.count(at)
            level = [row + 0.085 * (i - (alike - 1) / 2) for i in range(alike)]
            ink = color if at <= stop else "white"
            ax.plot([at] * alike, level, "o", markersize=5, color=color, markerfacecolor=ink)
    ax.axvline(stop, color=plotting.INK, linewidth=1.5)
    ax.text(stop + 8, -0.6, "the study stops", va="center")
    ax.text(study["steps"][-1], -0.3, "hollow dots: learned later", ha="right", va="center")
    ax.set_yticks(range(len(study["labels"])), [plot_label(x) for x in study["labels"]])
    ax.set(xlim=(0, study["steps"][-1]), ylim=(3.6, -0.8), xlabel="step at which a model learns")
    ax.grid(axis="x", visible=False)
