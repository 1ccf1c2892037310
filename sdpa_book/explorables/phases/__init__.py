"""How many keys hold half of the weight of a row of normal scores."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sdpa_book.drawing import plotting
from sdpa_book.writing.names import plot_label

ALT = (
    "Bars, each all of the weight of a row of 32, 1,024 or 32,768 keys, cut into a slice for each "
    "key, the heaviest first. At a spread of 1, divided by the root, 6, 163 and 5,200 keys "
    "reach half; at 8, undivided, the heaviest key alone has more than half of every bar."
)

LENGTHS = [2**i for i in range(5, 16)]
DRAWN = [32, 1024, 32_768]
"""The lengths of the picture."""
SCORES = 2**23
"""So many scores are drawn for each length: 256 rows of the longest."""


@cache
def data() -> dict[str, Any]:
    """For each number of keys and each standard deviation of normal scores how many of the
    heaviest keys have half of the weight, by three digits, and the mean share of the weight on
    one key, the heaviest, on two, three and so on up to all.
    """
    sigma = [float(f"{2 ** (i / 4):.2g}") for i in range(13)]
    keys = sorted({*range(1, 17), *(round(2 ** (i / 2)) for i in range(8, 31))})
    gathered, half = [], []
    for n in LENGTHS:
        shares = gathered_by(n, sigma)
        counts = (shares < 0.5).sum(-1) + 1
        half.append([int(float(f"{count:.3g}")) for count in counts.tolist()])
        last = torch.tensor([k for k in keys if k <= n]) - 1
        gathered.append([[round(s, 3) for s in row] for row in shares[:, last].tolist()])
    return {"n": LENGTHS, "sigma": sigma, "keys": keys, "gathered": gathered, "half": half}


def gathered_by(n: int, sigma: list[float], block: int = 2**20) -> Tensor:
    """By standard deviation the mean weight on the heaviest of n keys, on the two heaviest and so
    on; so many scores are drawn at a time.
    """
    generator = torch.Generator().manual_seed(n)
    rows, blocks = block // n, SCORES // block
    shares = torch.zeros(len(sigma), n)
    for _ in range(blocks):
        scores = torch.randn(rows, n, generator=generator).sort(descending=True).values
        for i, s in enumerate(sigma):
            shares[i] += torch.softmax(s * scores, -1).mean(0).cumsum(-1) / blocks
    return shares


def draw() -> None:
    """The three bars divided by the root and undivided, strong as far as half of the weight."""
    _, axes = plotting.figure(columns=2, height=3.2, share_y=True)
    bars = data()
    ink = plotting.ROLES["weights"]
    sides = ((1, f"divided by {plot_label('sqrt_d_k')}"), (8, plot_label("none")))
    for ax, (sigma, how) in zip(axes, sides, strict=True):
        at = bars["sigma"].index(sigma)
        for row, n in enumerate(DRAWN):
            half, gathered = (bars[name][LENGTHS.index(n)] for name in ("half", "gathered"))
            count, ends = half[at], [0, *gathered[at][:16]]  # on so many keys
            edge = ends[count] if count <= 16 else 0.5
            slices = [(0, edge, 0.6), (edge, 1, 0.2)]
            for k in range(1, 17, 2):  # every second one is darker
                slices.append((ends[k - 1], ends[k], 1 if k <= count else 0.25))
            rows = np.linspace(row - 0.2, row + 0.2, 9)  # of dots, every second one shifted
            dotted: dict[str, Any] = {"color": ink, "linestyle": [(0, (1, 2)), (1.5, (1, 2))]}
            rest = ends[-1]  # what is too thin to draw, up to half and beyond
            for start, end, alpha in ((rest, edge, 1), (max(rest, edge), 1, 0.4)):
                if start < end:
                    ax.hlines(rows, start, end, linewidth=1, alpha=alpha, **dotted)
            for start, end, alpha in slices:
                ax.barh(row, end - start, 0.45, left=start, color=ink, alpha=alpha)
            words = f"1 key has {100 * edge:.0f} %" if count == 1 else f"{count:,} keys reach half"
            ax.text(0.01, row + 0.4, words, color=ink, va="center")
        ax.axvline(0.5, color=plotting.INK, linestyle="--", linewidth=1)
        ax.set(xlim=(0, 1), ylim=(2.6, -0.4), title=f"σ = {sigma}: {how}")
        ax.set_xticks([0, 0.5, 1], ["0", "half of the weight", "all"])
        ax.grid(visible=False)
    axes[0].set_yticks(range(len(DRAWN)), [f"{n:,} keys" for n in DRAWN])
