"""Draws that are asked for again and again: the rows of a table compare divisors on one layer."""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from sdpa_lib.device import get_device
from sdpa_lib.sampling import sample


def drawn(*shape: int, seed: int, stream: int = 0, dtype: torch.dtype | None = None) -> Tensor:
    """What :func:`sdpa_lib.sampling.sample` draws, which is kept for whoever asks next: do not
    write into it.

    Example:
        >>> drawn(2, 3, seed=0) is drawn(2, 3, seed=0)
        True
    """
    return _drawn(shape, seed, stream, dtype, get_device())


@lru_cache(maxsize=16)
def _drawn(
    shape: tuple[int, ...], seed: int, stream: int, dtype: torch.dtype | None, device: torch.device
) -> Tensor:
    return sample(*shape, seed=seed, stream=stream, dtype=dtype, device=device)
