"""How much longer than PyTorch's a call takes where there is little to compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypedDict

import torch
from torch import Tensor

from benchmarks.contestants import Shape, by_hand, calls, inputs
from benchmarks.machine import device, in_words, thread_counts, working_dtype
from benchmarks.tables import grid, spread
from benchmarks.timing import TORCH, Comparison, Contestant, compare_by_threads

SHAPES = ((2, 4, 16, 32), (1, 4, 64, 32))
AT_MOST = {"constant": 10.0, "others": 35.0}
"""How many microseconds more than PyTorch's function a call should take."""


class ShortRow(TypedDict):
    """A kind of call, and the comparison by the number of threads."""

    name: str
    shape: Sequence[int]
    threads: dict[str, Comparison]


class ShortResults(TypedDict):
    """What is aimed at, and what was measured."""

    target: dict[str, float]
    rows: list[ShortRow]


def short_calls(
    shape: Shape, attn_mask: Tensor | None = None, is_causal: bool = False
) -> Mapping[str, Contestant]:
    """Those of the other benchmarks, and a division with nothing checked."""
    q, k, v = inputs(shape, working_dtype())
    return {**calls(q, k, v, attn_mask, is_causal), "by hand": lambda: by_hand(q, k, v)}


def kinds(shape: Shape) -> dict[str, Callable[[], Mapping[str, Contestant]]]:
    """Without a mask, in causal order, and with a mask."""
    n = shape[-2]
    visible = torch.ones(n, n, dtype=torch.bool, device=device()).triu(-n // 2)
    return {
        "plain": lambda: short_calls(shape),
        "causal": lambda: short_calls(shape, is_causal=True),
        "mask": lambda: short_calls(shape, visible),
    }


def measure(budget: float, shapes: Sequence[Shape] = SHAPES) -> ShortResults:
    """The comparison of every kind at each shape, for ``budget`` seconds each."""
    return {
        "target": AT_MOST,
        "rows": [
            {
                "name": name,
                "shape": shape,
                "threads": compare_by_threads(prepare, budget, thread_counts()),
            }
            for shape in shapes
            for name, prepare in kinds(shape).items()
        ],
    }


def tables(results: ShortResults) -> list[str]:
    """One table for each shape and number of threads."""
    target = results["target"]
    lines = [
        "## Short inputs: microseconds more than PyTorch's call",
        "",
        f"Median (quartiles) of the difference in the same round. Target: "
        f"{target['constant']:.0f} for the constant divisors, {target['others']:.0f} for the "
        f"others.",
        "",
    ]
    for shape in dict.fromkeys(tuple(row["shape"]) for row in results["rows"]):
        rows = [row for row in results["rows"] if tuple(row["shape"]) == shape]
        for count in rows[0]["threads"]:
            comparisons = [row["threads"][count] for row in rows]
            own = [f"{comparison[TORCH]['seconds'] * 1e6:.1f}" for comparison in comparisons]
            more = [
                [name, *(spread(comparison[name], "more", 1e-6, 1) for comparison in comparisons)]
                for name in comparisons[0]
                if name != TORCH
            ]
            lines += [
                f"### {shape}, {in_words(count)}",
                "",
                *grid(
                    ["", *(row["name"] for row in rows)],
                    [["PyTorch itself, microseconds", *own], *more],
                ),
            ]
    return lines
