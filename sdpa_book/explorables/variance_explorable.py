"""The derived variance over d_k, with each assumption dropped."""

from __future__ import annotations

import torch

from sdpa_book.drawing import plotting

ALT = (
    "Variance of q·k over d_k against d_k, from 1 to 64: level at 1 where all assumptions hold, "
    "level at 3 with means of 1 in queries and keys, and bending upwards to 6.7 with correlations "
    "of 0.3 in both."
)


def draw() -> None:
    """The derived variance over d_k against d_k, with each assumption dropped."""
    _, ax = plotting.figure(height=3.0)
    d_k = 2.0 ** torch.linspace(0, 6, 61)
    for constant, excess, label, at in (
        (1, 0.0, "all assumptions hold", 0.3),
        (3, 0.0, "mean 1 in both", 3.25),
        (1, 0.09, "correlation 0.3 in both", 6.0),
    ):
        ax.plot(d_k, constant + (d_k - 1) * excess, color=plotting.ROLES["weights"])
        ax.text(1.1 if excess == 0 else 50, at, label, ha="left" if excess == 0 else "right")
    ax.set(xlabel="$d_k$", ylabel="variance of q·k, over $d_k$", ylim=(0, 8))
    ax.set_xscale("log", base=2)
    ax.set_xticks(ticks := [1, 2, 4, 8, 16, 32, 64], ticks)
