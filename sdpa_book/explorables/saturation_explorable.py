"""Eight keys in narrow heads and in wide ones: their scores, weights and responses."""

from __future__ import annotations

from typing import Any

import torch

import sdpa_lib as sdpa
from sdpa_book.drawing import plotting
from sdpa_book.explorables import rounded

ALT = (
    "Three rows of bars, scores, weights and response, in four groups of eight keys. Undivided at "
    "d_k = 4 the scores lie within 5, and all keys respond; effective keys are 3.21. At 64 nine "
    "tenths of the weight are on the first key, and only it and the second respond. At 256 the "
    "scores reach about -25, one key has all of the weight and hardly any response is left. "
    "Divided by the root all eight keys have some weight, and all respond."
)

NUDGE = 0.1
"""By which a score is raised, to see how its weight responds."""


def pattern() -> torch.Tensor:
    """Scores of eight random keys, the largest first, with the spread of divided ones."""
    return sdpa.sample(8, seed=1, device="cpu").sort(descending=True).values.double()


def data() -> dict[str, Any]:
    """The widths, the nudge, and what the scores are at any width when they are divided."""
    scores = [rounded(z, 6) for z in pattern().tolist()]
    return {"d_k": [4, 16, 64, 256], "nudge": NUDGE, "pattern": scores}


def draw() -> None:
    """Scores, weights and responses at three widths, undivided, and divided at any."""
    spreads = {"$d_k = 4$": 2, "$d_k = 64$": 8, "$d_k = 256$": 16, "any $d_k$,\ndivided": 1}
    _, axes = plotting.figure(3, height=1.75, share_x=True)
    for i, spread in enumerate(spreads.values()):
        scores = spread * pattern()
        weights = torch.softmax(scores, -1)
        raised = torch.softmax(scores + NUDGE * torch.eye(8), -1).diagonal()
        color = plotting.style("sqrt_d_k" if spread == 1 else "none")["color"]
        for ax, heights in zip(axes, (scores, weights, raised - weights), strict=True):
            ax.bar(range(10 * i, 10 * i + 8), heights.tolist(), color=color)
        seen = f"{sdpa.effective_keys(weights):.2f}\neffective\nkeys"
        axes[1].text(10 * i + 5, 0.5, seen, ha="center", color=plotting.INK)
    for ax, name in zip(axes, ("scores", "weights", "response"), strict=True):
        ax.set_ylabel(name)
        ax.grid(visible=False, axis="x")
    axes[1].set_ylim(0, 1.05)
    axes[2].set_xticks([3.5, 13.5, 23.5, 33.5], spreads)
    axes[0].figure.align_ylabels(axes)
