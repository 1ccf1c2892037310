"""Contestants that alternate: the seconds of each, and its ratio to one of them."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypedDict

import torch

from benchmarks.machine import on_gpu, threads

TORCH = "torch"
"""PyTorch's own function, to which all others are compared."""

FEWEST, MOST = 5, 3000
"""Rounds of a comparison."""

Contestant = Callable[[], object]


class Timing(TypedDict):
    """A contestant's median, and medians and quartiles over the rounds of its time over that of the
    base and of its time less that of the base.
    """

    seconds: float
    ratio: float
    ratio_low: float
    ratio_high: float
    more: float
    more_low: float
    more_high: float
    rounds: int


Comparison = dict[str, Timing]
"""By contestant."""


def seconds(run: Contestant, clock: Callable[[], float] = time.perf_counter) -> float:
    """How long a call takes."""
    finish = torch.cuda.synchronize if on_gpu() else None
    start = clock()
    run()
    if finish is not None:
        finish()
    return clock() - start


def compare(
    contestants: Mapping[str, Contestant],
    base: str,
    budget: float,
    clock: Callable[[], float] = time.perf_counter,
) -> Comparison:
    """Seconds of each; its ratio to ``base`` round by round, median and quartiles; and its
    difference. Rounds go on for ``budget`` seconds by the ``clock``.
    """
    for run in contestants.values():
        seconds(run, clock)
    times: dict[str, list[float]] = {name: [] for name in contestants}
    names = list(contestants)
    order = random.Random(0)
    started = clock()
    for rounds in range(MOST):
        if rounds >= FEWEST and clock() - started > budget:
            break
        order.shuffle(names)  # nobody is always first, or always after the same one
        for name in names:
            times[name].append(seconds(contestants[name], clock))
    return {name: timing(own, times[base]) for name, own in times.items()}


def timing(own: Sequence[float], base: Sequence[float]) -> Timing:
    """Of the seconds of a contestant and of the base, round by round.

    Example:
        >>> rounds = timing([2.0, 4.0, 9.0], [1.0, 2.0, 3.0])
        >>> rounds["seconds"], rounds["ratio"], rounds["more"]
        (4.0, 2.0, 2.0)
    """
    pairs = list(zip(own, base, strict=True))
    low, ratio, high = statistics.quantiles([x / y for x, y in pairs], n=4)
    more_low, more, more_high = statistics.quantiles([x - y for x, y in pairs], n=4)
    return {
        "seconds": statistics.median(own),
        "ratio": ratio,
        "ratio_low": low,
        "ratio_high": high,
        "more": more,
        "more_low": more_low,
        "more_high": more_high,
        "rounds": len(own),
    }


def compare_by_threads(
    prepare: Callable[[], Mapping[str, Contestant]], budget: float, counts: Sequence[int]
) -> dict[str, Comparison]:
    """The comparison to PyTorch's function with each number of threads."""
    comparisons = {}
    with torch.no_grad():
        contestants = prepare()
        for count in counts:
            with threads(count):
                comparisons[str(count)] = compare(contestants, TORCH, budget)
    return comparisons
