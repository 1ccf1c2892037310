"""How many keys share the weight of a row of normal scores."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import torch

from sdpa_book.drawing import plotting
from sdpa_book.names import plot_label

ALT = (
    "A map of the spread of the scores against the number of keys: far below the border a "
    "fixed share of the keys has the weight, above it a few keys have. Undivided scores of heads "
    "of 64 lie above the border, those with the root below it."
)

SHOWN = 32
"""So many weights of a row are drawn."""


@cache
def data() -> dict[str, Any]:
    """For each number of keys and each standard deviation of normal scores the mean of ln(effective
    keys) over ln(n), 0 where one key has all weight and 1 where all share it; and the means of the
    heaviest weight, the second, and so on.
    """
    n = [2**e for e in range(1, 18)]
    sigma = [float(f"{2 ** (i / 4 - 2):.4g}") for i in range(29)]
    share, weights = zip(*(rows_of(m, sigma) for m in n), strict=True)
    return {"n": n, "sigma": sigma, "share": share, "weights": weights}


def rows_of(
    n: int, sigma: list[float], block: int = 2**17
) -> tuple[list[float], list[list[float]]]:
    """By standard deviation the mean of ln(effective keys) over ln(n), and the mean weights in
    descending order, in at least 128 rows; so many scores are drawn at a time.
    """
    generator = torch.Generator().manual_seed(n)
    rows, blocks = block // n, max(1, 128 * n // block)
    logs = torch.zeros(len(sigma))
    heaviest = torch.zeros(len(sigma), min(n, SHOWN))
    for _ in range(blocks):
        scores = torch.randn(rows, n, generator=generator)
        for i, s in enumerate(sigma):
            w = torch.softmax(s * scores, -1)
            # the effective keys are 1 over the sum of squares
            logs[i] -= w.square().sum(-1).log().mean() / blocks
            heaviest[i] += w.topk(min(n, SHOWN)).values.mean(0) / blocks
    share = [round(x, 3) for x in (logs / math.log(n)).tolist()]
    return share, [[round(x, 4) for x in row] for row in heaviest.tolist()]


def draw() -> None:
    """How many keys share the weight, by their number and the scores' spread, and the border."""
    _, ax = plotting.figure(height=4.2)
    told = data()
    share = np.array(told["share"]).T
    ax.contourf(told["n"], told["sigma"], share, np.linspace(0, 1, 11), cmap="Purples_r")
    keys = torch.tensor(told["n"])
    ax.plot(keys, (2 * keys.log()).sqrt(), color=plotting.INK)
    ax.text(9e4, 2.6, "border, $\\sqrt{2 \\ln n}$", ha="right", va="top")
    for name, sigma, color in (("none", 8, "white"), ("sqrt_d_k", 1, "black")):
        ax.axhline(sigma, **plotting.style(name))
        label = f"heads of 64, {plot_label(name)}"
        ax.text(9e4, 1.1 * sigma, label, color=color, ha="right")
    ax.set(
        xscale="log", yscale="log", xlabel="number of keys", ylabel="spread of scores, $\\sigma$"
    )
    ax.set_title("more violet: fewer keys share the weight")
