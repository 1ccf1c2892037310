"""A step of decoding over caches of several shapes and precisions, divided by k_total."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypedDict

import torch
import torch.nn.functional as F
from torch import Tensor

import sdpa_lib as sdpa
from benchmarks.contestants import Shape, by_hand, inputs
from benchmarks.machine import dtype_name, in_words, thread_counts
from benchmarks.tables import grid, spread
from benchmarks.timing import TORCH, Comparison, compare_by_threads
from sdpa_lib import RunningDivisor

CACHES = {
    "8 heads": (1, 8, 4096, 64),
    "32 heads": (1, 32, 4096, 64),
    "8 sequences of 8": (8, 8, 4096, 64),
}
DTYPES = (torch.float32, torch.bfloat16, torch.float16)


class CacheResult(TypedDict):
    """A cache, and the comparison by the number of threads."""

    name: str
    dtype: str
    threads: dict[str, Comparison]


def steps(shape: Shape, dtype: torch.dtype) -> dict[str, Callable[[], Tensor]]:
    """With and without the lengths kept, each beside the least that it can cost."""
    q, k, v = inputs(shape, dtype)
    q, new = q[..., -1:, :], k[..., -1:, :]
    lengths = torch.linalg.vector_norm(k, dim=-1)
    running = RunningDivisor("k_total")
    running.append(k[..., :-1, :])

    def lengths_by_hand() -> Tensor:
        lengths[..., -1:] = torch.linalg.vector_norm(new, dim=-1)
        return by_hand(q, k, v, lengths)

    def running_divisor() -> Tensor:
        running.crop(k.shape[-2] - 1)
        running.append(new)
        return sdpa.scaled_dot_product_attention(q, k, v, rescaling=running)

    return {
        TORCH: lambda: F.scaled_dot_product_attention(q, k, v),
        "by hand": lambda: by_hand(q, k, v),
        "k_total": lambda: sdpa.scaled_dot_product_attention(q, k, v, rescaling="k_total"),
        "lengths kept by hand": lengths_by_hand,
        "RunningDivisor": running_divisor,
    }


def measure(
    budget: float,
    caches: Mapping[str, Shape] = CACHES,
    dtypes: Sequence[torch.dtype] = DTYPES,
) -> list[CacheResult]:
    """The comparison of steps over each cache, for ``budget`` seconds each."""

    def prepare(shape: Shape, dtype: torch.dtype) -> Callable[[], dict[str, Callable[[], Tensor]]]:
        return lambda: steps(shape, dtype)

    return [
        {
            "name": name,
            "dtype": dtype_name(dtype),
            "threads": compare_by_threads(prepare(shape, dtype), budget, thread_counts()),
        }
        for name, shape in caches.items()
        for dtype in dtypes
    ]


def tables(results: Sequence[CacheResult]) -> list[str]:
    """One table a number of threads."""
    lines = [
        "## Decoding, one query on 4,096 keys, divided by k_total: time over PyTorch's",
        "",
    ]
    for count in results[0]["threads"]:
        names = [name for name in results[0]["threads"][count] if name != TORCH]
        rows = [
            [
                f"{cache['name']}, {cache['dtype']}",
                *(spread(cache["threads"][count][name], "ratio") for name in names),
            ]
            for cache in results
        ]
        lines += [f"### {in_words(count)}", "", *grid(["median (quartiles)", *names], rows)]
    return lines
