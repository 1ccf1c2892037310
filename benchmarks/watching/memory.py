"""The memory that a watched call on a long input needs, beside that of the call alone."""

from __future__ import annotations

import math
from typing import TypedDict

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.contestants import Shape
from benchmarks.machine import device
from benchmarks.peak_memory import extra_memory, processes
from benchmarks.timing import Contestant
from sdpa_lib import watch

LONG = (1, 8, 16_384, 64)
WARM_UP = 1024
"""Tokens of the call that is made before."""
AT_MOST = 0.2
"""What watching may need more, over the call's own tensors."""


class Memory(TypedDict):
    """Bytes at the peak, and of the call's own four tensors."""

    own: float
    watched: float
    tensors: int
    more: float


def call_memory(shape: Shape, watched: bool) -> float:
    """Of one of the two."""

    def call(n: int) -> Contestant:
        query, key, value = (
            torch.ones(*shape[:2], n, shape[-1], device=device()) for _ in range(3)
        )

        def own() -> Tensor:
            return F.scaled_dot_product_attention(query, key, value, is_causal=True)

        def seen() -> Tensor:
            with watch():
                return own()

        return seen if watched else own

    return extra_memory(call(shape[-2]), call(WARM_UP))


def measure(shape: Shape = LONG) -> Memory:
    """Of both, each in a process of its own."""
    with processes() as pool:
        own, watched = (pool.apply(call_memory, (shape, which)) for which in (False, True))
    tensors = 4 * 4 * math.prod(shape)
    return {"own": own, "watched": watched, "tensors": tensors, "more": (watched - own) / tensors}


def tables(results: Memory) -> list[str]:
    """A sentence."""
    return [
        f"Memory at {LONG}, causal: watching needs {results['more']:.3f} times the call's own "
        f"tensors more ({results['own'] / 1e6:.0f} MB without, {results['watched'] / 1e6:.0f} MB "
        f"with it; at most {AT_MOST:g}).",
    ]
