"""The derived variance of q·k/√d_k, with each assumption dropped."""

from __future__ import annotations

import torch

from sdpa_book.drawing import plotting

ALT = (
    "Variance of q·k/√d_k against d_k, from 1 to 16: level at 1 where all assumptions hold, "
    "lifted to 3 with means of 1 in queries and keys, and tilted up to 2.35 at 16 with "
    "correlations of 0.3 in both. All three are straight."
)


def draw() -> None:
    """The derived variance of q·k/√d_k against d_k, with each assumption dropped."""
    _, ax = plotting.figure(height=3.0)
    d_k = torch.tensor([1, 16])
    for constant, excess, label, at in (
        (1, 0.0, "all assumptions hold", 1.1),
        (3, 0.0, "mean 1 in both", 3.1),
        (1, 0.09, "correlation 0.3 in both", 2.45),
    ):
        ax.plot(d_k, constant + (d_k - 1) * excess, color=plotting.ROLES["weights"])
        ax.text(16, at, label, ha="right")
    ax.set(xlabel="$d_k$", ylabel=r"variance of q·k/$\sqrt{d_k}$", ylim=(0, 4), yticks=range(5))
    ax.set_xticks([1, 4, 8, 12, 16])
