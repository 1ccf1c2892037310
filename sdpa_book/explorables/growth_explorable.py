"""Sums of unrelated pairs, a term at a time, for few components and for more."""

from __future__ import annotations

import torch

import sdpa_lib as sdpa
from sdpa_book.drawing import plotting

ALT = (
    "Forty lines each, which begin at 0 and add up the terms of undivided dot products, on the "
    "same axes: after 16 terms they end close together, with standard deviation 4, and after 256 "
    "terms four times as far apart, with 16."
)


def draw() -> None:
    """The sums of forty pairs for few components and for more, on the same axes."""
    _, axes = plotting.figure(columns=2, height=3.2, share_y=True)
    terms = sdpa.sample(40, 256, seed=0, stream=0) * sdpa.sample(40, 256, seed=0, stream=1)
    color = plotting.style("none")["color"]
    for ax, d_k in zip(axes, (16, 256), strict=True):
        sums = torch.nn.functional.pad(terms[:, :d_k].cumsum(-1), (1, 0))
        ax.plot(sums.T, color=color, linewidth=0.8, alpha=0.5)
        ax.scatter([d_k] * 40, sums[:, -1], color=color, s=8, zorder=3)
        ax.set_xticks([0, d_k // 2, d_k])
        ax.set(title=f"$d_k = {d_k}$", xlabel="terms added up", ylim=(-44, 44))
    axes[0].set_ylabel("sum")
