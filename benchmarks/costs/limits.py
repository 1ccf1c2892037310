"""What the machine can do: bytes that it copies and numbers that it multiplies in a second."""

from __future__ import annotations

from typing import TypedDict

import torch

from benchmarks.machine import device, on_gpu, working_dtype
from benchmarks.timing import seconds

REPEATS = 8


class Limits(TypedDict):
    """The best of a few tries."""

    bytes_per_second: float
    flop_per_second: float


def measure(n_bytes: int = 2**27, width: int | None = None) -> Limits:
    """Copies that many bytes, and multiplies square matrices, of ``width`` or what suits the
    device.
    """
    n = width or (8192 if on_gpu() else 2048)
    x = torch.ones(n_bytes, dtype=torch.uint8, device=device())
    y = torch.empty_like(x)
    copy = min(seconds(lambda: y.copy_(x)) for _ in range(REPEATS))
    a = torch.ones(n, n, dtype=working_dtype(), device=device())
    product = min(seconds(lambda: a @ a) for _ in range(REPEATS))
    return {"bytes_per_second": 2 * n_bytes / copy, "flop_per_second": 2 * n**3 / product}


def sentence(limits: Limits) -> str:
    """The limits to read."""
    return (
        f"The machine copies {limits['bytes_per_second'] / 1e9:.3g} GB/s and multiplies at "
        f"{limits['flop_per_second'] / 1e9:.3g} GFLOP/s."
    )
