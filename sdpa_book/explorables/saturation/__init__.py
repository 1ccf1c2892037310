"""Eight keys in narrow heads and in wide ones: their weights, and how far a nudge moves these."""

from __future__ import annotations

from typing import Any

import torch

from sdpa_book.drawing import plotting
from sdpa_book.explorables import rounded
from sdpa_lib.sampling import sample

ALT = (
    "Four panels of eight bars, the weights of eight keys, each with a faint piece, which it gains "
    "when 1 is added to its own score. Undivided at d_k = 4 all eight have gained. At 64 "
    "the first key has nine tenths of the weight, and only it and the second gain. At 256 the "
    "scores reach -24.4, the first key has all of the weight, and hardly any gain is left. Divided "
    "by the root all keys have some weight, and all gain."
)

NUDGE = 1
"""By which the score that softmax sees is raised, to see how far its weight moves."""


def pattern() -> torch.Tensor:
    """Scores of eight random keys, the largest first, with the spread of divided ones."""
    return sample(8, seed=1, device="cpu").sort(descending=True).values.double()


def gains(scores: torch.Tensor) -> torch.Tensor:
    """By how much each weight of a row, or of each of many, grows when its own score alone is
    raised by `NUDGE`.
    """
    raised = scores[..., None, :] + NUDGE * torch.eye(scores.shape[-1]).to(scores)
    return raised.softmax(-1).diagonal(dim1=-2, dim2=-1) - scores.softmax(-1)


def data() -> dict[str, Any]:
    """Widths with whole roots, the nudge, and what scores are at any width when divided."""
    scores = [rounded(z, 6) for z in pattern().tolist()]
    return {"d_k": [(2 * i) ** 2 for i in range(1, 9)], "nudge": NUDGE, "pattern": scores}


def draw() -> None:
    """Weights at three widths, undivided, and divided at any, and what each would gain."""
    spreads = {"undivided,\n$d_k = 4$": 2, "undivided,\n$d_k = 64$": 8}
    spreads |= {"undivided,\n$d_k = 256$": 16, "divided,\nany $d_k$": 1}
    _, axes = plotting.figure(columns=4, height=2.6)
    for ax, (name, spread) in zip(axes, spreads.items(), strict=True):
        scores = spread * pattern()
        weights = torch.softmax(scores, -1)
        color = plotting.style("sqrt_d_k" if spread == 1 else "none")["color"]
        ax.barh(range(8), (weights + gains(scores)).tolist(), color=color, alpha=0.45)
        ax.barh(range(8), weights.tolist(), color=color)
        labels = [f"{round(z, 1) + 0.0:.1f}".replace("-", "−") for z in scores.tolist()]
        ax.set_yticks(range(8), labels)
        ax.set(title=name, xlim=(0, 1), xlabel="weight")
        ax.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
        ax.grid(visible=False, axis="y")
        ax.invert_yaxis()
    axes[0].set_ylabel("score")
