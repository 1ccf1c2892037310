"""How wide dot products are."""

from __future__ import annotations

from functools import cache
from typing import Any

from sdpa_book.drawing import plotting
from sdpa_book.explorables import rounded
from sdpa_lib.moments import measure_dot_products

ALT = "The standard deviation of dot products against the number of components: it rises as a root."


@cache
def data() -> dict[str, Any]:
    """For each d_k the standard deviation of q·k that was measured."""
    d_k = [4, 16, 36, 64, 100]
    variances = [measure_dot_products(d, 100_000, seed=0).variance for d in d_k]
    return {"d_k": d_k, "std": [rounded(variance**0.5) for variance in variances]}


def draw() -> None:
    """The same as points."""
    _, ax = plotting.figure(height=3.0)
    ax.plot(data()["d_k"], data()["std"], "o", color=plotting.ROLES["key"])
    ax.set(xlabel="$d_k$", ylabel="std of q·k", ylim=(0, None))
