"""Seconds a pair for the moments of q.k: by the query's length, in blocks, and at once in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

import numpy as np

from benchmarks.tables import grid
from benchmarks.timing import Contestant, compare
from sdpa_lib.moments import measure_dot_products, measure_moments, sample_normal_scores

DIMENSIONS = tuple(2**power for power in range(0, 31, 3))
N_PAIRS = 2**16
MOST_DRAWN = 2**20
"""Beyond this dimension only lengths are drawn, and no vectors."""

Row = dict[str, float]
"""The dimension, and by way the seconds a pair; where vectors are drawn also the ratio of both."""


class Simulations(TypedDict):
    """One row for each dimension."""

    unit: str
    rows: list[Row]


def exact(d_k: int, n_pairs: int) -> Contestant:
    """Draws the query's length, and of the key what lies along it."""
    return lambda: measure_moments(sample_normal_scores(n_pairs, 1, d_k, seed=0))


def blocks(d_k: int, n_pairs: int) -> Contestant:
    """Draws the vectors a few at a time."""
    return lambda: measure_dot_products(d_k, n_pairs, seed=0)


def at_once(d_k: int, n_pairs: int) -> Contestant:
    """The plain vectorised way: all pairs at once, in NumPy."""

    def call() -> tuple[float, float]:
        draw = np.random.default_rng(0)
        products = np.einsum(
            "nd,nd->n", draw.standard_normal((n_pairs, d_k)), draw.standard_normal((n_pairs, d_k))
        )
        z = (products - products.mean()) / products.std()
        return float((z**3).mean()), float((z**4).mean())

    return call


WAYS = {"exact": exact, "blocks": blocks, "NumPy": at_once}


def at_dimension(d_k: int, budget: float, n_pairs: int) -> Row:
    """The row of a dimension."""
    drawn = min(n_pairs, max(64, 2**22 // d_k))
    alone = compare({"exact": exact(d_k, n_pairs)}, "exact", budget)
    row = {"d_k": d_k, "exact": alone["exact"]["seconds"] / n_pairs}
    if d_k > MOST_DRAWN:
        return row
    comparison = compare(
        {name: WAYS[name](d_k, drawn) for name in ("blocks", "NumPy")}, "blocks", budget
    )
    row |= {name: timing["seconds"] / drawn for name, timing in comparison.items()}
    return row | {"NumPy over blocks": comparison["NumPy"]["ratio"]}


def measure(
    budget: float, dimensions: Sequence[int] = DIMENSIONS, n_pairs: int = N_PAIRS
) -> Simulations:
    """A comparison at each dimension, for an eighth of ``budget`` each."""
    rows = [at_dimension(d_k, budget / 8, n_pairs) for d_k in dimensions]
    return {"unit": "seconds a pair", "rows": rows}


def tables(results: Simulations) -> list[str]:
    """One table, a row for each dimension."""
    columns = {
        "blocks": "in blocks",
        "NumPy": "NumPy, at once",
        "exact": "by the query's length",
        "NumPy over blocks": "NumPy over blocks",
    }
    rows = [
        [str(row["d_k"]), *(f"{row[name]:.2g}" if row.get(name) else "" for name in columns)]
        for row in results["rows"]
    ]
    return ["## Moments of q·k: seconds a pair", "", *grid(["d_k", *columns.values()], rows)]
