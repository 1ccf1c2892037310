"""Eight keys in narrow heads and in wide ones: how much weight each gains from 1 more."""

from __future__ import annotations

import math
from typing import Any

import torch

from sdpa_book.drawing import plotting
from sdpa_book.explorables import rounded
from sdpa_book.writing.names import display_name
from sdpa_lib.sampling import sample

ALT = (
    "What each of eight keys gains if 1 is added to it, in two rows of three panels, for d_k = 4, "
    "64 and 256, without the division and divided by the root. In the upper row the 1 is added to "
    "the score: divided, all eight keys gain the same in all panels, up to 0.24; without the "
    "division fewer gain in each panel, two at 64 and none to speak of at 256. In the lower row it "
    "is added to the dot product: divided, all keys gain less and less, at 64 less than the two "
    "best keys without the division."
)

NUDGE = 1
"""What is added."""


def pattern() -> torch.Tensor:
    """Scores of eight random keys, the largest first, with the spread of divided ones."""
    return sample(8, seed=1, device="cpu").sort(descending=True).values.double()


def gains(scores: torch.Tensor, nudge: float = NUDGE) -> torch.Tensor:
    """By how much each weight of a row, or of each of many, grows when its own score alone is
    raised by ``nudge``.
    """
    raised = scores[..., None, :] + nudge * torch.eye(scores.shape[-1]).to(scores)
    return raised.softmax(-1).diagonal(dim1=-2, dim2=-1) - scores.softmax(-1)


def data() -> dict[str, Any]:
    """Widths with whole roots, the nudge, and what scores are at any width when divided."""
    scores = [rounded(z, 6) for z in pattern().tolist()]
    return {"d_k": [(2 * i) ** 2 for i in range(1, 9)], "nudge": NUDGE, "pattern": scores}


def draw() -> None:
    """Gains at three widths, undivided and divided, with 1 added after dividing and before."""
    widths = 4, 64, 256
    _, axes = plotting.figure(rows=2, columns=3, height=2.2, share_y=True)
    for i, d_k in enumerate(widths):
        for divisor, c, left in (("none", 1.0, -0.2), ("sqrt_d_k", math.sqrt(d_k), 0.2)):
            scores = math.sqrt(d_k) / c * pattern()
            color = plotting.style(divisor)["color"]
            at = [j + left for j in range(8)]
            for ax, nudge in zip(axes[:, i], (NUDGE, NUDGE / c), strict=True):
                ax.bar(at, gains(scores, nudge).tolist(), 0.4, color=color)
                ax.set(xticks=[])
                ax.grid(visible=False, axis="x")
        axes[0, i].set_title(f"$d_k = {d_k}$")
        axes[1, i].set_xlabel("keys, best first")
    for ax, what in zip(axes[:, 0], ("score", "dot product"), strict=True):
        ax.set_ylabel(f"gain, 1 added\nto the {what}")
    for y, divisor, name in ((0.22, "none", display_name("none")), (0.18, "sqrt_d_k", "divided")):
        color = plotting.style(divisor)["color"]
        axes[0, 2].text(7.5, y, name, color=color, ha="right")
