"""What learning receives before the first step: a link, a query and a matrix, by divisor.

``python -m sdpa_book.explorables.learning`` measures it anew, and writes ``received.json``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sdpa_book.calculations.first_gradients import layers_at_start
from sdpa_book.drawing import plotting
from sdpa_book.explorables import chosen, rounded

ALT = (
    "Four rows of points on a logarithmic axis: how much gradient arrives without the division, as "
    "a multiple of what arrives with the division by the root, at d_k = 4, 64 and 256. The median "
    "link's goes to the left, from 0.76 times to 25,000 and 120 billion times less. "
    "The largest of a query's links and the median query lie to the right of 1 at 4 and 64 and to "
    "the left at 256, the matrix W_Q always to the right: at 64 they receive 3.8, 2.8 and 8 times "
    "as much."
)
LAYERS = 400
ROWS = {
    "link": "the median link",
    "strongest": "the largest of a query's links",
    "query": "the median query",
    "matrix": "the matrix $W_Q$",
}
STORED = Path(__file__).with_name("received.json")


def measured(d_k: int, divisor: str, layers: int = LAYERS) -> dict[str, Tensor]:
    """What each of ``ROWS`` receives through its dot products, in 20 groups of layers, whose links
    depend on each other.
    """
    start = layers_at_start(d_k, chosen.divisor(divisor, d_k), layers)
    strongest = start["links"].amax(-1)
    return {
        "link": torch.stack([part.median() for part in start["links"].chunk(20)]),
        "strongest": torch.stack([part.median() for part in strongest.chunk(20)]),
        "query": torch.stack([part.median() for part in start["queries"].chunk(20)]),
        "matrix": torch.stack([part.mean() for part in start["W_Q"].chunk(20)]),
    }


def measure() -> dict[str, dict[str, list[float]]]:
    """The means of these, by divisor and row, at every width."""
    tables: dict[str, dict[str, list[float]]] = {}
    for name in chosen.DIVISORS:
        tables[name] = {row: [] for row in ROWS}
        for d_k in chosen.WIDTHS:
            for row, values in measured(d_k, name).items():
                tables[name][row].append(rounded(values.mean().item()))
    return tables


def data() -> dict[str, Any]:
    """What was measured."""
    stored: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    return stored


def draw() -> None:
    """Undivided over divided by the root, at three widths."""
    _, ax = plotting.figure(height=2.8)
    tables = data()
    none, root = tables["none"], tables["sqrt_d_k"]
    color = plotting.style("none")["color"]
    for d_k, marker, level in zip((4, 64, 256), "o^s", (-0.2, 0.0, 0.2), strict=True):
        i = chosen.WIDTHS.index(d_k)
        over = [none[row][i] / root[row][i] for row in ROWS]
        at = [place + level for place in range(len(ROWS))]
        ax.plot(over, at, marker, color=color, label=f"$d_k = {d_k}$")
    ax.axvline(1, color=plotting.INK, linewidth=1)
    ax.set_yticks(range(len(ROWS)), list(ROWS.values()))
    ax.set(xscale="log", xlabel="times what arrives divided by the root")
    ax.invert_yaxis()
    ax.legend(loc="lower left")
