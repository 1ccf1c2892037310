"""Extra memory of each rescaling on a long input and with masks, of each path against the length,
and of each sampler against d_k.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from benchmarks.contestants import Shape, boolean_mask, calls, textbook
from benchmarks.costs.attention import MASKS
from benchmarks.costs.others import ORDERS
from benchmarks.costs.simulation import WAYS
from benchmarks.machine import device, on_gpu, working_dtype
from benchmarks.peak_memory import extra_memory, processes
from benchmarks.tables import grid
from benchmarks.timing import TORCH, Contestant
from sdpa_lib import RESCALINGS

LONGEST = (1, 1, 2**15, 64)
LENGTHS = (2**12, 2**13, 2**14, 2**15)
DIMENSIONS = (2**6, 2**9, 2**12, 2**15)
N_PAIRS = 1024
WARM_UP = 1024
"""Tokens of the call that is made before."""
TABLE_FITS = 2**14
"""The longest input at which the textbook's table of weights is made."""


def ones(shape: Shape) -> tuple[Tensor, Tensor, Tensor]:
    """A query, a key and a value; to draw them would leave memory behind."""
    q, k, v = (torch.ones(shape, dtype=working_dtype(), device=device()) for _ in range(3))
    return q, k, v


def attention_memory(name: str, n: int, is_causal: bool) -> float:
    """Of a call on ``n`` tokens."""

    def call(n: int) -> Contestant:
        q, k, v = ones((1, 1, n, 64))
        contestants = calls(q, k, v, is_causal=is_causal)
        return (contestants | {"textbook": lambda: textbook(q, k, v, is_causal)})[name]

    with torch.no_grad():
        return extra_memory(call(n), call(WARM_UP))


def masked_memory(name: str, shape: Shape, mask_shape: Shape) -> float:
    """Of a call with a mask."""
    q, k, v = ones(shape)
    attn_mask = boolean_mask(mask_shape)
    small = calls(q[:1, :1], k[:1, :1], v[:1, :1], attn_mask[:1])
    with torch.no_grad():
        return extra_memory(calls(q, k, v, attn_mask)[name], small[name])


def sampler_memory(name: str, d_k: int) -> float:
    """Of one way to simulate dot products."""
    return extra_memory(WAYS[name](d_k, N_PAIRS), WAYS[name](8, N_PAIRS))


def measure(
    longest: Shape = LONGEST,
    masks: Mapping[str, tuple[Shape, Shape]] = MASKS,
    lengths: Sequence[int] = LENGTHS,
    dimensions: Sequence[int] = DIMENSIONS,
) -> dict[str, Any]:
    """All of it, in bytes."""

    def size(shape: Shape) -> int:
        return math.prod(shape) * torch.finfo(working_dtype()).bits // 8

    names = [TORCH, *RESCALINGS]
    samplers = [name for name in WAYS if name != "NumPy" or not on_gpu()]
    results: dict[str, Any] = {"shape": longest, "query_bytes": size(longest)}
    with processes() as pool:
        for order, is_causal in ORDERS.items():
            results[order] = {
                name: pool.apply(attention_memory, (name, longest[-2], is_causal)) for name in names
            }
        results["masks"] = [
            {
                "name": of_mask,
                "shape": shape,
                "mask": mask_shape,
                "query_bytes": size(shape),
                "mask_bytes": 8 * math.prod(mask_shape),  # as numbers, in double precision
                "bytes": {
                    name: pool.apply(masked_memory, (name, shape, mask_shape)) for name in names
                },
            }
            for of_mask, (shape, mask_shape) in masks.items()
        ]
        results["lengths"] = [
            {"n": n}
            | {
                name: pool.apply(attention_memory, (name, n, False))
                for name in (TORCH, "k_total", "textbook")
                if name != "textbook" or n <= TABLE_FITS
            }
            for n in lengths
        ]
        results["dimensions"] = [
            {"d_k": d} | {name: pool.apply(sampler_memory, (name, d)) for name in samplers}
            for d in dimensions
        ]
    return results


def tables(results: dict[str, Any]) -> list[str]:
    """Of each rescaling without and with masks; the rest is drawn in chapter 12."""
    one = results["query_bytes"]
    lines = [
        f"## Memory beyond the inputs: {tuple(results['shape'])}",
        "",
        "In queries; the output is one.",
        "",
        *grid(
            ["", *ORDERS],
            [[n, *(f"{results[o][n] / one:.2f}" for o in ORDERS)] for n in results["full"]],
        ),
    ]
    for case in results["masks"]:
        own = case["bytes"][TORCH]
        target = own + case["query_bytes"] + case["mask_bytes"]
        rows = [
            [name, f"{b / 2**20:.1f}", f"{b / own:.2f}", f"{b / case['query_bytes']:.2f}"]
            for name, b in case["bytes"].items()
        ]
        lines += [
            f"### {case['name'].capitalize()}: {tuple(case['shape'])}, {tuple(case['mask'])}",
            "",
            "Target: what PyTorch's function needs, the output among it, one query, and a row of "
            f"numbers for each row of the mask: {target / 2**20:.1f} MiB.",
            "",
            *grid(["", "MiB", "over PyTorch's", "in queries"], rows),
        ]
    return lines
