"""The curve of softmax between two keys, and how far apart the scores of random keys lie."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import torch
from torch import Tensor

from sdpa_book.drawing import plotting
from sdpa_book.explorables import chosen, rounded
from sdpa_book.writing.names import plot_label

ALT = (
    "Two panels with the same curve, the weight of the first of two keys against the gap between "
    "their scores: an S that is steep between gaps of -3.6 and 3.6 and flat outside, where the "
    "ground is shaded. Below it stand bells of random gaps at d_k = 4, 64 and 256. Undivided they "
    "are ever wider, and 17, 75 and 87 per cent of the gaps lie where the curve is flat. Divided "
    "by the root, all three lie on the steep part, but for 2 per cent or less."
)
FLAT = 0.1
"""The share of its steepest slope below which the curve is called flat."""
EDGE = math.log((1 + math.sqrt(1 - FLAT)) / (1 - math.sqrt(1 - FLAT)))
"""The gap from which on it is: there p(1 - p) is that share of a quarter."""


@cache
def _lengths(d_k: int) -> tuple[Tensor, Tensor]:
    """The length of a query of ``d_k`` normal components, over the root: a grid, and shares."""
    r = torch.linspace(0, 4, 40_001, dtype=torch.float64)[1:]
    log_density = (d_k - 1) * r.log() - d_k * r.square() / 2
    density = (log_density - log_density.max()).exp()
    return r, density / density.sum()


def flat_share(d_k: int, divisor: str) -> float:
    """Which share of random gaps lies where the curve is flat. For a query of a given length the
    gap between its dot products with two random keys is normal.
    """
    r, share = _lengths(d_k)
    spread = math.sqrt(2 * d_k) / chosen.divisor(divisor, d_k) * r
    flat: float = (share * torch.special.erfc(EDGE / spread / math.sqrt(2))).sum().item()
    return flat


def lengths(d_k: int, count: int = 16) -> list[float]:
    """Lengths of queries over the root, each for as many: the middles of equal shares."""
    r, share = _lengths(d_k)
    middles = (torch.arange(count, dtype=torch.float64) + 0.5) / count
    return [rounded(x) for x in r[torch.searchsorted(share.cumsum(0), middles)].tolist()]


def density(gap: Tensor, d_k: int, divisor: str) -> Tensor:
    """That of random gaps, over its largest value."""
    spread = math.sqrt(2 * d_k) / chosen.divisor(divisor, d_k) * torch.tensor(lengths(d_k))
    bells = torch.exp(-((gap[:, None] / spread) ** 2) / 2) / spread
    return bells.sum(-1) / (1 / spread).sum()


def data() -> dict[str, Any]:
    """Where the curve becomes flat, which share of gaps lies there, and how long queries are."""
    return {
        "edge": rounded(EDGE),
        "flat": {
            name: [rounded(flat_share(d, name)) for d in chosen.WIDTHS] for name in chosen.DIVISORS
        },
        "lengths": {d: lengths(d) for d in chosen.WIDTHS},
    }


def draw() -> None:
    """The curve, and bells of gaps below it, undivided and divided by the root."""
    _, axes = plotting.figure(columns=2, height=3.0, share_y=True)
    gaps = torch.linspace(-16, 16, 641)
    for ax, name in zip(axes, ("none", "sqrt_d_k"), strict=True):
        for side in (-1, 1):
            ax.axvspan(side * EDGE, side * 16, color=plotting.INK, alpha=0.07, linewidth=0)
        ax.plot(gaps, torch.sigmoid(gaps), color=plotting.INK)
        for d_k, dashes in zip((4, 64, 256), (":", "-", "--"), strict=True):
            bell = 0.5 * density(gaps, d_k, name) - 0.6
            color = plotting.style(name)["color"]
            share = f"{100 * flat_share(d_k, name):.0f} %"
            ax.plot(gaps, bell, color=color, linestyle=dashes, label=f"{d_k}: {share} flat")
        title = plot_label(name) if name == "none" else f"÷ {plot_label(name)}"
        ax.set(title=title, xlabel="gap between two scores", xlim=(-16, 16))
        ax.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
        ax.legend(loc="upper left", title="$d_k$", frameon=False)
    axes[0].set_ylabel("weight")
