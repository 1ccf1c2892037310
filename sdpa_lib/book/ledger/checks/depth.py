"""What sources say of gradients at the start of training: through many blocks, from the stored
measurements of chapter 10, and in the tail.
"""

from __future__ import annotations

import math
from functools import cache
from statistics import median

import torch
from torch import Tensor

from sdpa_lib.book.ledger._verdict import Finding, found
from sdpa_lib.book.ledger.checks.saturation import layer_gradient
from sdpa_lib.book.measured import Measured, mean_and_error
from sdpa_lib.book.training.depth import Depth, Starts, load_depth
from sdpa_lib.saturation import sample_gradients


def gradient_through_depth(
    *, d_k: int, scaling: str = "none", other: str = "sqrt_d_k", shallow: int = 2, deep: int = 48
) -> Finding:
    """By what factor the first gradient of all parameters is larger, or smaller, in a deep model
    than in a shallow one: at least 1.
    """
    value, error = _growth(d_k, scaling, shallow, deep)
    query = _stored()[Depth(d_k, deep, scaling)].query
    return found(
        max(value, 1 / value),
        error / min(value, 1.0) ** 2,
        grows=value,
        root=_growth(d_k, other, shallow, deep).value,
        first=query[0],
        last=query[-1],
    )


def weights_through_depth(
    *, at: str, d_k: int, n_layers: int = 24, decided: bool = False
) -> Finding:
    """The gradient at W_Q or W_K undivided over that with the root: the least ratio of all blocks.

    ``decided`` takes a layer in which every query has decided.
    """
    if decided:
        return layer_gradient(d_k, at, decided=True)
    name = {"W_Q": "query", "W_K": "key"}[at]
    ours, root = (
        getattr(_stored()[Depth(d_k, n_layers, scaling)], name) for scaling in ("none", "sqrt_d_k")
    )
    ratios = [a / b for a, b in zip(ours, root, strict=True)]
    return found(min(ratios), first=ratios[0], last=ratios[-1])


def starved_queries(*, d_k: int, wider: int, n: int = 32, factor: float = 100.0) -> Finding:
    """The share of queries whose undivided gradient is less than the median with the root over
    ``factor``; beside it that share at a wider dimension.
    """
    (starved, medians), (more, _) = (_starved(d, n, factor) for d in (d_k, wider))
    return found(*mean_and_error(starved), medians=medians, wider=more.mean().item())


def _starved(d_k: int, n: int, factor: float) -> tuple[Tensor, float]:
    """Which queries are starved, as 0 or 1, and the median over that with the root."""
    undivided, root = (
        sample_gradients(2**15, n, d_k, c, d_v=64, seed=2, device="cpu")
        for c in (1.0, math.sqrt(d_k))
    )
    starved = undivided < root.median() / factor
    return starved.double(), (undivided.median() / root.median()).item()


@cache
def _stored() -> dict[Depth, Starts]:
    return load_depth()[1]


def _growth(d_k: int, scaling: str, shallow: int, deep: int) -> Measured:
    """The ratio of the median norms, with the error of the ratio of the geometric means."""
    few, many = (
        torch.tensor(_stored()[Depth(d_k, n, scaling)].total, dtype=torch.float64)
        for n in (shallow, deep)
    )
    value = median(many.tolist()) / median(few.tolist())
    errors = (mean_and_error(norms.log()).error for norms in (few, many))
    return Measured(value, value * math.hypot(*errors))
