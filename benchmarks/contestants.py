"""Inputs, and calls of attention on them: PyTorch's own, the library's, and others by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

import sdpa_lib as sdpa
from benchmarks.machine import device
from benchmarks.timing import TORCH, Contestant
from sdpa_lib import RESCALINGS
from sdpa_lib.sampling import sample

Array = npt.NDArray[Any]
Shape = tuple[int, ...]


def inputs(shape: Shape, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """A query, a key and a value."""
    q, k, v = (sample(*shape, seed=0, stream=s, device=device(), dtype=dtype) for s in range(3))
    return q, k, v


def boolean_mask(shape: Shape) -> Tensor:
    """One for each sequence of a batch, in which documents follow each other; or, of a single row,
    one that hides the padding at each sequence's end.
    """
    batch, _, rows, n = shape
    position = torch.arange(n, device=device())
    if rows == 1:
        lengths = torch.linspace(n // 2, n, batch, device=device()).view(-1, 1, 1, 1)
        return position < lengths
    documents = position // torch.arange(n // 8, n // 8 + batch, device=device()).view(-1, 1, 1)
    return (documents.mT == documents).unsqueeze(1)


def textbook(q: Tensor, k: Tensor, v: Tensor, is_causal: bool = False) -> Tensor:
    """softmax(QK^T / sqrt(d_k)) V, written out."""
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if is_causal:
        visible = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).tril()
        scores = scores.masked_fill(~visible, -math.inf)
    return torch.softmax(scores, dim=-1) @ v


def in_numpy(q: Array, k: Array, v: Array) -> Array:
    """The same in NumPy."""
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1], dtype=q.dtype)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    output: Array = weights / weights.sum(-1, keepdims=True) @ v
    return output


def by_hand(q: Tensor, k: Tensor, v: Tensor, lengths: Tensor | None = None) -> Tensor:
    """Division by k_total with nothing checked: the least that it can cost."""
    if lengths is None:
        lengths = torch.linalg.vector_norm(k, dim=-1)
    divided = q / lengths.sum(-1, keepdim=True).unsqueeze(-1)
    return F.scaled_dot_product_attention(divided.to(q.dtype), k, v, scale=1.0)


def calls(
    q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False
) -> dict[str, Callable[[], Tensor]]:
    """PyTorch's own function, and the library with each of its rescalings."""

    def ours(name: str) -> Callable[[], Tensor]:
        return lambda: sdpa.scaled_dot_product_attention(
            q, k, v, attn_mask, is_causal=is_causal, rescaling=name
        )

    own: dict[str, Callable[[], Tensor]] = {
        TORCH: lambda: F.scaled_dot_product_attention(q, k, v, attn_mask, is_causal=is_causal),
    }
    return own | {name: ours(name) for name in RESCALINGS}


def with_backward(run: Callable[[], Tensor], leaves: tuple[Tensor, ...]) -> Contestant:
    """The call, and the gradient of its output's sum with respect to the ``leaves``."""
    upstream = torch.ones_like(leaves[0])

    def call() -> tuple[Tensor, ...]:
        with torch.enable_grad():
            return torch.autograd.grad(run(), leaves, upstream)

    return call
