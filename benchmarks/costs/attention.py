"""The time over PyTorch's of every rescaling: forward and backward, with masks, in decoding, and
on long inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypedDict

from torch import Tensor

import sdpa_lib as sdpa
from benchmarks.contestants import Shape, boolean_mask, calls, inputs, with_backward
from benchmarks.machine import in_words, on_gpu, thread_counts, working_dtype
from benchmarks.tables import grid, spread
from benchmarks.timing import TORCH, Comparison, Contestant, compare_by_threads
from sdpa_lib import RESCALINGS, RunningDivisor

LAYER = (8, 12, 512, 64)  # (batch, heads, tokens, d_k), as a layer of a small model has them
PADDED = (2, 32, 2048, 64)
CACHE = (1, 32, 4096, 64)
MASKS: dict[str, tuple[Shape, Shape]] = {
    "mask of a batch": (LAYER, (LAYER[0], 1, LAYER[2], LAYER[2])),
    "padding mask": (PADDED, (PADDED[0], 1, 1, PADDED[2])),
}
"""The shapes of queries and of a mask for them."""


def long_shape() -> Shape:
    """One at which the scores would fill the memory."""
    return (4, 16, 8192, 128) if on_gpu() else (1, 8, 4096, 64)


class Case(NamedTuple):
    """What is timed.

    Attributes:
        shape: of the queries.
        target: how many times as long as PyTorch's function it should take at the most; ``None``
            without one.
        prepare: makes the contestants.
        keys: the shape of the keys, where it is another.
        every_number: also with fewer threads than all.
    """

    shape: Shape
    target: float | None
    prepare: Callable[[], Mapping[str, Contestant]]
    keys: Shape | None = None
    every_number: bool = True


class CaseResult(TypedDict):
    """A case, and the comparison by the number of threads."""

    name: str
    shape: Sequence[int]
    keys: Sequence[int]
    target: float | None
    threads: dict[str, Comparison]


def plain(
    shape: Shape, attn_mask: Tensor | None = None, is_causal: bool = False
) -> Mapping[str, Contestant]:
    """Forward."""
    return calls(*inputs(shape, working_dtype()), attn_mask, is_causal)


def trained(shape: Shape, is_causal: bool = False) -> Mapping[str, Contestant]:
    """Forward and backward."""
    leaves = q, k, v = inputs(shape, working_dtype())
    for leaf in leaves:
        leaf.requires_grad_()
    return {
        name: with_backward(run, leaves)
        for name, run in calls(q, k, v, is_causal=is_causal).items()
    }


def decoding(cache: Shape, with_sums: bool) -> Mapping[str, Contestant]:
    """One query, and its keys and values in a cache. With lengths kept, the last key is appended to
    them in each call, and taken back before the next.
    """
    q, k, v = inputs(cache, working_dtype())
    q, new = q[..., -1:, :], k[..., -1:, :]
    without = calls(q, k, v)
    if not with_sums:
        return without

    def step(name: str) -> Callable[[], Tensor]:
        running = RunningDivisor(name)
        running.append(k[..., :-1, :])

        def call() -> Tensor:
            running.crop(k.shape[-2] - 1)
            running.append(new)
            return sdpa.scaled_dot_product_attention(q, k, v, rescaling=running)

        return call

    return {TORCH: without[TORCH]} | {name: step(name) for name in RESCALINGS}


def cases(
    layer: Shape = LAYER,
    masks: Mapping[str, tuple[Shape, Shape]] = MASKS,
    cache: Shape = CACHE,
    long: Shape | None = None,
) -> dict[str, Case]:
    """All that is timed, at these shapes."""
    long = long or long_shape()
    query = (*cache[:2], 1, cache[-1])
    (batch, batch_mask), (padded, padding) = masks["mask of a batch"], masks["padding mask"]
    return {
        "forward": Case(layer, 1.05, lambda: plain(layer)),
        "forward, causal": Case(layer, 1.05, lambda: plain(layer, is_causal=True)),
        "forward and backward": Case(layer, 1.10, lambda: trained(layer)),
        "mask of a batch": Case(batch, 1.15, lambda: plain(batch, boolean_mask(batch_mask))),
        "padding mask": Case(padded, None, lambda: plain(padded, boolean_mask(padding))),
        "decoding": Case(query, 1.50, lambda: decoding(cache, False), cache),
        "decoding, running sums": Case(query, 1.05, lambda: decoding(cache, True), cache),
        "long": Case(long, 1.05, lambda: plain(long), every_number=False),
        "long, causal": Case(long, 1.05, lambda: plain(long, is_causal=True), every_number=False),
    }


def measure(budget: float, of: Mapping[str, Case] | None = None) -> list[CaseResult]:
    """The comparison in every case, for ``budget`` seconds each."""
    counts = thread_counts()
    return [
        {
            "name": name,
            "shape": case.shape,
            "keys": case.keys or case.shape,
            "target": case.target,
            "threads": compare_by_threads(
                case.prepare, budget, counts if case.every_number else counts[-1:]
            ),
        }
        for name, case in (of or cases()).items()
    ]


def highest(comparison: Comparison) -> tuple[float, str]:
    """The highest ratio of a rescaling, and whose it is."""
    return max((timing["ratio"], name) for name, timing in comparison.items() if name != TORCH)


def tables(results: Sequence[CaseResult]) -> list[str]:
    """The highest ratio of each case, and then those of every rescaling."""
    counts = list(results[0]["threads"])
    summary = []
    for case in results:
        of_each = {n: highest(comparison) for n, comparison in case["threads"].items()}
        cells = [f"{of_each[n][0]:.2f} ({of_each[n][1]})" if n in of_each else "" for n in counts]
        target = f"{case['target']:.2f}" if case["target"] else ""
        summary.append([f"{case['name']}, {tuple(case['shape'])}", target, *cells])
    lines = [
        "## Time over PyTorch's",
        "",
        "Each call's time over that of `torch.nn.functional.scaled_dot_product_attention` in the "
        "same round, median over the rounds. First the highest of all rescalings:",
        "",
        *grid(["queries", "target", *map(in_words, counts)], summary),
    ]
    for case in results:
        comparisons = list(case["threads"].values())
        keys = "" if case["keys"] == case["shape"] else f", keys {tuple(case['keys'])}"
        target = f", target {case['target']:.2f}" if case["target"] else ""
        own = [f"{comparison[TORCH]['seconds'] * 1e3:.3g} ms" for comparison in comparisons]
        rows = [
            [name, *(spread(comparison[name], "ratio") for comparison in comparisons)]
            for name in comparisons[0]
            if name != TORCH
        ]
        lines += [
            f"### {case['name'].capitalize()}: {tuple(case['shape'])}{keys}{target}",
            "",
            *grid(
                ["median (quartiles)", *map(in_words, case["threads"])],
                [["PyTorch itself", *own], *rows],
            ),
        ]
    return lines
