"""Calls of PyTorch's function beside the model's own: watched, the figures written out as one would
write them, and another package that watches.
"""

from __future__ import annotations

import itertools
import logging
import math
from collections.abc import Mapping, Sequence
from typing import TypedDict

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.contestants import Shape, inputs
from benchmarks.machine import dtype_name, in_words, thread_counts, threads
from benchmarks.tables import grid, spread
from benchmarks.timing import TORCH, Comparison, Contestant, compare
from sdpa_lib import watch

SHAPES = ((1, 8, 2048, 64), (8, 12, 512, 64))
DTYPES = (torch.float32, torch.bfloat16)
AT_MOST = {"float32": 3.5, "bfloat16": 6.0}
"""Calls of PyTorch's function beside the model's own."""
OTHERS = ("the table by hand", "torch-module-monitor")


class SpeedRow(TypedDict):
    """A call, and its comparison to the call that is not watched."""

    dtype: str
    shape: Sequence[int]
    causal: bool
    threads: int
    found: Comparison


def by_the_table(query: Tensor, key: Tensor, is_causal: bool) -> list[Tensor]:
    """The figures as one would write them."""
    scores = query @ key.mT * query.shape[-1] ** -0.5
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
    hidden &= is_causal
    scores = scores.float().masked_fill(hidden, -math.inf)
    weights = scores.softmax(-1)
    seen = scores.masked_fill(hidden, 0.0)
    count = (~hidden).sum(-1)
    mean = seen.sum(-1) / count
    spread = (seen.square().sum(-1) / count - mean.square()).clamp(min=0.0).sqrt()
    return [
        torch.special.entr(weights).sum(-1),
        1.0 / weights.square().sum(-1),
        weights.amax(-1),
        scores.amax(-1),
        spread,
    ]


def module_monitor(query: Tensor, key: Tensor, is_causal: bool) -> Contestant | None:
    """torch-module-monitor, which has to be called in each module, and has entropy, queries, keys
    and values of each head.
    """
    try:
        from torch_module_monitor import ModuleMonitor
        from torch_module_monitor.attention import monitor_scaled_dot_product_attention
    except ImportError:
        print("torch-module-monitor is not installed, and so not compared")
        return None
    quiet = logging.getLogger("torch_module_monitor")
    quiet.setLevel(logging.ERROR)
    monitor = ModuleMonitor(monitor_step_fn=lambda step: True, logger=quiet)
    monitor.set_module(nn.Identity())
    steps = itertools.count()

    def run() -> Tensor:
        output = F.scaled_dot_product_attention(query, key, key, is_causal=is_causal)
        monitor.begin_step(next(steps))
        monitor_scaled_dot_product_attention(
            monitor, "attention", query, key, key, is_causal=is_causal, activation=output
        )
        monitor.end_step()
        return output

    return run


def contestants(
    shape: Shape, dtype: torch.dtype, is_causal: bool, with_others: bool
) -> Mapping[str, Contestant]:
    """The call alone, watched and, as they take long, for some calls with the others."""
    query, key, value = inputs(shape, dtype)

    def own() -> Tensor:
        return F.scaled_dot_product_attention(query, key, value, is_causal=is_causal)

    def watched() -> Tensor:
        with watch():
            return own()

    running: dict[str, Contestant] = {TORCH: own, "watched": watched}
    if not with_others:
        return running
    running["the table by hand"] = lambda: (own(), by_the_table(query, key, is_causal))
    monitor = module_monitor(query, key, is_causal)
    return running if monitor is None else running | {"torch-module-monitor": monitor}


def measure(
    budget: float, shapes: Sequence[Shape] = SHAPES, dtypes: Sequence[torch.dtype] = DTYPES
) -> list[SpeedRow]:
    """Each call by the number of threads, for ``budget`` seconds; the first shape in the first
    dtype with the others.
    """
    rows: list[SpeedRow] = []
    for dtype in dtypes:
        for shape in shapes:
            with_others = (shape, dtype) == (shapes[0], dtypes[0])
            for is_causal in (False, True):
                for count in thread_counts():
                    with threads(count):
                        running = contestants(shape, dtype, is_causal, with_others)
                        comparison = compare(running, TORCH, budget)
                    rows.append(
                        {
                            "dtype": dtype_name(dtype),
                            "shape": shape,
                            "causal": is_causal,
                            "threads": count,
                            "found": comparison,
                        }
                    )
    return rows


def tables(results: Sequence[SpeedRow]) -> list[str]:
    """One table, a row for each call."""

    def beside(row: SpeedRow, name: str) -> str:
        comparison = row["found"]
        return spread(comparison[name], "ratio", digits=2, less=1.0) if name in comparison else ""

    return [
        "Calls of PyTorch's function beside the model's own, median and quartiles.",
        "",
        *grid(
            ["dtype", "shape", "order", "threads", "watched", "at most", *OTHERS],
            [
                [
                    row["dtype"],
                    str(tuple(row["shape"])),
                    "causal" if row["causal"] else "full",
                    in_words(row["threads"]),
                    beside(row, "watched"),
                    f"{AT_MOST[row['dtype']]:g}",
                    *(beside(row, name) for name in OTHERS),
                ]
                for row in results
            ],
        ),
    ]
