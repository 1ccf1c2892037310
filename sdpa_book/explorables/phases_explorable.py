"""How many keys hold the weight of a row of normal scores."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor

from sdpa_book.drawing import plotting
from sdpa_book.names import plot_label

ALT = (
    "The share of the weight on the heaviest keys against their number, on a logarithmic axis, for "
    "rows of 32 and of 1,024 keys. Divided by the root, half of the weight lies on 6 and on 162 "
    "keys, and the curves are far apart. Undivided, both begin with most of the weight on one key."
)

ROWS = 128
"""At least so many rows of each kind are drawn."""


@cache
def data() -> dict[str, Any]:
    """For each number of keys and each standard deviation of normal scores the mean share of the
    weight on one key, the heaviest, on two, three, four, six and so on up to all.
    """
    n = [2**e for e in range(5, 18)]
    sigma = [float(f"{2 ** (i / 4):.4g}") for i in range(-4, 17)]
    keys = sorted({round(2 ** (i / 2)) for i in range(35)})
    gathered = [
        [
            [round(share, 3) for share in of_sigma.tolist()]
            for of_sigma in gathered_by(m, sigma, keys)
        ]
        for m in n
    ]
    return {"n": n, "sigma": sigma, "keys": keys, "gathered": gathered}


def gathered_by(n: int, sigma: list[float], keys: list[int], block: int = 2**17) -> Tensor:
    """By standard deviation the mean weight on so many of the heaviest of n keys; so many scores
    are drawn at a time.
    """
    generator = torch.Generator().manual_seed(n)
    rows, blocks = block // n, max(1, ROWS * n // block)
    last = torch.tensor([k for k in keys if k <= n]) - 1
    shares = torch.zeros(len(sigma), len(last))
    for _ in range(blocks):
        scores = torch.randn(rows, n, generator=generator).sort(descending=True).values
        for i, s in enumerate(sigma):
            shares[i] += torch.softmax(s * scores, -1).cumsum(-1)[:, last].mean(0) / blocks
    return shares


def draw() -> None:
    """The weight gathered by the heaviest keys of a short and of a long row, undivided and with
    the root.
    """
    _, ax = plotting.figure(height=3.4)
    told = data()
    short, long = told["n"][0], 1024
    for name, sigma in (("none", 8), ("sqrt_d_k", 1)):
        for n, look in ((short, {"alpha": 0.6}), (long, {"linewidth": 2.5})):
            shares = told["gathered"][told["n"].index(n)][told["sigma"].index(sigma)]
            color = plotting.style(name)["color"]
            ax.plot(told["keys"][: len(shares)], shares, color=color, **look)
            if name == "sqrt_d_k":
                label = f"{plot_label(name)}, {n:,} keys"
                ax.text(0.42 * n, 0.6, label, color=color, va="center")
    ax.text(
        12,
        0.9,
        f"{plot_label('none')}, {short} and {long:,} keys",
        color=plotting.style("none")["color"],
        va="top",
    )
    ax.axhline(0.5, color=plotting.MUTED, linewidth=1, linestyle=":")
    ax.set(xscale="log", ylim=(0, 1.05), xlabel="number of keys, the heaviest first")
    ax.set(xlim=(0.9, 2e4), yticks=(0, 0.5, 1))
    ticks = [1, 10, 100, 1000, 10_000]
    ax.set_xticks(ticks, ["one key", *(f"{k:,}" for k in ticks[1:])])
    ax.minorticks_off()
    ax.set_title("share of the weight on them")
