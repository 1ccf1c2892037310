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
    "fixed share of the keys has the weight, above it a few keys have. Undivided scores lie "
    "above the border, those with the root below it, and those divided by d_k far below."
)


@cache
def data() -> dict[str, Any]:
    """For each number of keys and each standard deviation of normal scores the mean of ln(effective
    keys) over ln(n): 0 where one key has all weight, 1 where all share it.
    """
    n = [2**e for e in range(1, 18)]
    sigma = [float(f"{2 ** (i / 4 - 3.25):.4g}") for i in range(35)]
    return {
        "n": n,
        "sigma": sigma,
        "share": [shares(m, sigma) for m in n],
    }


def shares(n: int, sigma: list[float], block: int = 2**17) -> list[float]:
    """By standard deviation the mean of ln(effective keys) over ln(n), in at least 128 rows; so
    many scores are drawn at a time.
    """
    generator = torch.Generator().manual_seed(n)
    rows, blocks = block // n, max(1, 128 * n // block)
    total = torch.zeros(len(sigma))
    for _ in range(blocks):
        scores = torch.randn(rows, n, generator=generator)
        weights = (torch.softmax(s * scores, -1) for s in sigma)
        # the effective keys are 1 over the sum of squares
        total -= torch.stack([w.square().sum(-1).log().mean() for w in weights])
    return [round(share, 3) for share in (total / blocks / math.log(n)).tolist()]


def draw() -> None:
    """How many keys share the weight, by their number and the scores' spread, and the border."""
    _, ax = plotting.figure(height=4.2)
    told = data()
    share = np.array(told["share"]).T
    ax.contourf(told["n"], told["sigma"], share, np.linspace(0, 1, 11), cmap="Purples_r")
    keys = torch.tensor(told["n"])
    ax.plot(keys, (2 * keys.log()).sqrt(), color=plotting.INK)
    ax.text(9e4, 2.6, "border, $\\sqrt{2 \\ln n}$", ha="right", va="top")
    for name, sigma, color in (
        ("none", 8, "white"),
        ("sqrt_d_k", 1, "black"),
        ("d_k", 1 / 8, "black"),
    ):
        ax.axhline(sigma, **plotting.style(name))
        ax.text(9e4, 1.1 * sigma, plot_label(name), color=color, ha="right")
    ax.set(xscale="log", yscale="log", xlabel="keys", ylabel="std of the scores, $d_k = 64$")
    ax.set_title("strong colour: one key has the weight; faint: all share it")
