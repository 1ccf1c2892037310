"""One query's weights on eight words, in narrow heads and in wide ones."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

import sdpa_lib as sdpa
from sdpa_book.drawing import plotting
from sdpa_book.writing.names import display_name
from sdpa_lib.sampling import sample

WORDS = ["The", "cat", "sat", "down", "for", "it", "was", "tired"]
REACH = [-0.9, 1.4, 0.2, -0.3, -1.5, 0.5, -0.4, 1.0]
"""How far each word's key reaches along the query's direction, at every width."""

ALT = (
    "Six panels of bars, one bar for each word of The cat sat down for it was tired. Upper row, "
    "undivided: with 4 numbers cat has 0.56 and tired about half as much; with 16 numbers cat has "
    "0.81, and with 64 nearly everything, 0.96. Lower row, divided by 2, by 4 and by 8: three "
    "panels that are the same, with 0.35 for cat and a little for every other word."
)


@cache
def weights(d_k: int, rescaling: str) -> list[float]:
    """What "it" gives to each word, in a head of ``d_k`` whose query has numbers of size 1."""
    query = sample(1, d_k, seed=0, stream=0, device="cpu").sign()
    keys = sample(8, d_k, seed=0, stream=1, device="cpu")
    along = query / d_k**0.5  # the direction of the query, with length 1
    keys = keys + (torch.tensor(REACH).unsqueeze(1) - keys @ along.T) * along
    row: list[float] = sdpa.attention_weights(query, keys, rescaling=rescaling)[0].tolist()
    return row


def data() -> dict[str, Any]:
    """The words, and how far each key reaches."""
    return {"words": WORDS, "reach": REACH}


def draw() -> None:
    """The weights at three widths, undivided above and divided by the root below."""
    _, axes = plotting.figure(2, 3, height=2.7, share_y=True)
    for column, d_k in enumerate((4, 16, 64)):
        for ax, name in zip(axes[:, column], ("none", "sqrt_d_k"), strict=True):
            bars = [round(p, 3) for p in weights(d_k, name)]
            ax.barh(WORDS, bars, color=plotting.LOOKS[name].color)
            ax.text(bars[1] + 0.04, 1, f"{bars[1]:.2f}", va="center")
            how = display_name(name) if name == "none" else f"divided by {d_k**0.5:.0f}"
            ax.set_title(f"{d_k:,} numbers,\n{how}")
            ax.set(xlim=(0, 1.35), xlabel="weight")
            ax.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
            ax.grid(axis="y", visible=False)
    axes[0, 0].invert_yaxis()
