"""What divisors do to the keys that share a row, and to the gradient."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

import sdpa_lib as sdpa
from sdpa_book.drawing import plotting
from sdpa_book.explorables import rounded
from sdpa_book.names import display_name

ALT = (
    "Two curves against the divisor, with four divisors on them: the effective keys rise from "
    "one to all, and the gradient at the query has a maximum below the root and falls in "
    "proportion beyond it. k_mean lies on the root, and k_total far to its right."
)


@cache
def data() -> dict[str, Any]:
    """For each n and d_k what a divisor of r times the root does, for many r, as pairs of effective
    keys and gradient at the query; and the rescalings that the explorable compares, as their r.

    Keys a times as long make every score a times as large, and so does a divisor that is a times
    smaller: the explorable finds longer keys at another r.
    """
    n, d_k = [2**e for e in range(2, 9)], [4**e for e in range(1, 5)]
    # Below the first but one all weight is at one key. From 8 on weights are nearly even and the
    # gradient falls as 1 / r: a straight line.
    ratios = [2 ** (e / 2) for e in (-22, *range(-15, 7), 10, 36)]
    root = sdpa.RESCALINGS["sqrt_d_k"]
    settings = [[Setting.draw(keys, d) for d in d_k] for keys in n]
    return {
        "n": n,
        "d_k": d_k,
        "labels": {name: display_name(name) for name in COMPARED},
        "ratios": [rounded(r) for r in ratios],
        "along": [
            [[setting.measure(r * root) for r in ratios] for setting in row] for row in settings
        ],
        "compared": {
            name: [[ratio(name, keys, d) for d in d_k] for keys in n] for name in COMPARED
        },
    }


COMPARED = ("none", "sqrt_d_k", "k_mean", "k_total")
"""Those that chapter 8 is about; its folded table has the others."""


def ratio(name: str, n: int, d_k: int) -> float:
    """A rescaling's mean divisor over the root, for normal keys."""
    key = sdpa.sample(2**11 // n, n, d_k, seed=0)
    return rounded(sdpa.RESCALINGS[name](key).mean().item() / math.sqrt(d_k))


class Setting(NamedTuple):
    """Random queries with random keys and values, as chapter 8 has them, in several sets, and a
    random gradient that arrives at each output.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    upstream: Tensor

    @classmethod
    def draw(cls, n: int, d_k: int) -> Setting:
        sets = max(4, min(32, 2**16 // (n * (d_k + 64))))  # seconds for all settings together
        sizes = ((100, d_k), (n, d_k), (n, 64), (100, 64))
        drawn = (sdpa.sample(sets, *size, seed=0, stream=s) for s, size in enumerate(sizes))
        return cls(*(components.float() for components in drawn))

    def measure(self, rescaling: sdpa.Rescaling) -> list[float]:
        """The mean of the effective keys, and the median gradient."""
        weights = sdpa.attention_weights(self.query, self.key, rescaling=rescaling)
        gradients = sdpa.attention_gradients(
            self.query, self.key, self.value, rescaling=rescaling, upstream=self.upstream
        ).query
        measures = sdpa.effective_keys(weights).mean(), gradients.norm(dim=-1).median()
        return [rounded(measure.item()) for measure in measures]


def draw() -> None:
    """Effective keys and gradient along the divisor, and the rescalings on them."""
    _, axes = plotting.figure(columns=2, height=3.0)
    told = data()
    row, column = told["n"].index(32), told["d_k"].index(64)
    root = 8
    for at, (ax, title) in enumerate(
        zip(axes, ("effective keys, of 32", "gradient at the query, median"), strict=True)
    ):
        along = [measures[at] for measures in told["along"][row][column]]
        ax.plot(root * np.array(told["ratios"]), along, color=plotting.MUTED)
        for name, label in told["labels"].items():
            ratio = told["compared"][name][row][column]
            look = plotting.style(name, marker=True) | {"linestyle": "none", "label": label}
            found = np.interp(np.log(ratio), np.log(told["ratios"]), along)
            ax.plot(root * ratio, found, **look)
        ax.set(xscale="log", xlim=(0.1, 5e4), xlabel="divisor", title=title)
    axes[1].set(yscale="log", ylim=(0.001, 20))
    axes[1].legend(fontsize=9)
