"""What each figure takes of a block of scores, beside their dot products, with one thread."""

from __future__ import annotations

import torch

from benchmarks.machine import device, threads
from benchmarks.tables import grid, spread
from benchmarks.timing import Comparison, Contestant, compare
from sdpa_lib import _rows

BASE = "dot products"


def parts(rows: int, n: int) -> dict[str, Contestant]:
    """What is computed of a block of ``rows`` queries and ``n`` keys."""
    query, key = (torch.randn(1, size, 64, device=device()) for size in (rows, n))
    scores, spare = (torch.empty(1, rows, n, device=device()) for _ in range(2))
    torch.bmm(query, key.mT, out=scores)
    highest = scores.amax(-1, keepdim=True)
    return {
        BASE: lambda: torch.bmm(query, key.mT, out=spare),
        "spread": lambda: (scores.sum(-1), torch.linalg.vector_norm(scores, dim=-1)),
        "largest score": lambda: scores.amax(-1),
        "largest weight, saturated, first key": lambda: torch.exp(
            torch.sub(scores, highest, out=spare).clamp_(min=_rows.LEAST), out=spare
        ).sum(-1),
        "effective keys": lambda: torch.linalg.vector_norm(scores, dim=-1),
        "entropy": lambda: spare.mul_(scores).sum(-1),
    }


def measure(
    budget: float, rows: int = _rows.ROWS, n: int = _rows.ENTRIES // _rows.ROWS
) -> Comparison:
    """The comparison on a block, as large as the library's, for ``budget`` seconds."""
    with threads(1):
        return compare(parts(rows, n), BASE, budget)


def tables(results: Comparison) -> list[str]:
    """One table."""
    return [
        "What a figure takes of a block of scores, over their dot products.",
        "",
        *grid(
            ["figure", "ratio"],
            [[name, spread(timing, "ratio", digits=2)] for name, timing in results.items()],
        ),
    ]
