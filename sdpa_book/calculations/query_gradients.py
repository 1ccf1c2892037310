"""What a small divisor makes of the gradients at queries, and what arrives at W_Q: for article A,
and in part for article B.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

import sdpa_lib as sdpa
from sdpa_book.calculations.drawn import drawn
from sdpa_book.writing.measured import Measured, mean_and_error
from sdpa_book.writing.names import known_rescaling
from sdpa_lib._checks import check_count


def _normal() -> tuple[Tensor, Tensor]:
    """A grid, and the density of a normal number there."""
    x = torch.linspace(-10, 10, 4001, dtype=torch.float64)
    return x, torch.exp(-x.square() / 2) / math.sqrt(2 * math.pi)


def gap_density(n: int, gap: float = 0.0) -> float:
    r"""The density of the gap between the two largest of ``n`` normal numbers, at least 2. At 0,
    where it says how many queries are undecided when their scores spread far, it is
    :math:`n(n-1)\int\varphi^2\,\Phi^{n-2}`.

    Example:
        >>> [round(gap_density(32, gap), 3) for gap in (0.0, 1.0)]
        [2.07, 0.244]
    """
    check_count("n", n, minimum=2)
    x, density = _normal()
    second, others = (x - gap).square(), torch.special.ndtr(x - gap) ** (n - 2)
    both = density * torch.exp(-second / 2) / math.sqrt(2 * math.pi)
    return n * (n - 1) * torch.trapezoid(both * others, x).item()


def median_gap(n: int) -> float:
    """The median of that gap.

    Example:
        >>> round(median_gap(32), 3)
        0.316
    """
    x, density = _normal()
    low, high = 0.0, 10.0
    for _ in range(60):
        gap = (low + high) / 2
        below = torch.special.ndtr(x - gap) ** (n - 1)
        wider = n * torch.trapezoid(density * below, x).item()
        low, high = (gap, high) if wider > 0.5 else (low, gap)
    return low


def small_divisor_limits(f: float, r: float, d_v: int = 64) -> tuple[float, float, float]:
    r"""Mean and root mean square of the gradient at a query, and the weight off the favourite key,
    for a divisor of :math:`r\sqrt{d_k}` with a small r, if ``f`` is the density of the gap at 0.

    Example:
        >>> [f"{limit:.3g}" for limit in small_divisor_limits(2.07, 1 / 8)]
        ['13.2', '18.8', '0.179']
    """
    length = math.lgamma((d_v + 1) / 2) - math.lgamma(d_v / 2)
    upstream = math.sqrt(2) * math.exp(length)  # E‖a‖
    mean = 2 * upstream / math.sqrt(math.pi) * f / math.sqrt(2)
    return mean, math.sqrt(d_v * f / (3 * r)), f * r * math.log(2)


def related(
    models: int,
    n: int,
    width: int,
    correlation: float,
    stream: int,
    *,
    seed: int = 2,
    dtype: torch.dtype | None = torch.float32,
) -> Tensor:
    """Normal vectors of variance 1, (models, n, width), any two of a model with this correlation in
    each component.
    """
    if not 0 <= correlation <= 1:
        raise ValueError(f"correlation must be between 0 and 1, got {correlation}")
    own, shared = (
        drawn(models, m, width, seed=seed, stream=s, dtype=dtype)
        for m, s in ((n, stream), (1, stream + 10))
    )
    return math.sqrt(1 - correlation) * own + math.sqrt(correlation) * shared


class AtWeights(NamedTuple):
    """Norms of the gradients at W_Q and at W_K, what the squares of the queries' gradients predict
    for W_Q, and W_Q's over that.
    """

    W_Q: Measured
    W_K: Measured
    predicted: Measured
    over: Measured


def at_weights(
    rescaling: str,
    d_k: int,
    rho: float = 0.0,
    gamma: float = 0.0,
    *,
    layers: int = 20,
    d_model: int = 128,
    n: int = 64,
) -> AtWeights:
    """What fresh layers of ``n`` tokens send to their matrices, by automatic differentiation.

    Args:
        rescaling, d_k: of the one head.
        rho: correlation of any two tokens, before they are normalised.
        gamma: correlation of the gradients that arrive at any two outputs.
        layers, d_model, n: how many layers, and their size.
    """
    known_rescaling(rescaling)
    for name, size in {"d_k": d_k, "d_model": d_model, "n": n}.items():
        check_count(name, size)
    check_count("layers", layers, minimum=2)
    x = related(layers, n, d_model, rho, 0)
    x = torch.nn.functional.layer_norm(x, (d_model,))
    W_Q, W_K, W_V = (
        related(layers, d_model, d, 0.0, s) / math.sqrt(d_model)
        for s, d in ((1, d_k), (2, d_k), (3, 64))
    )
    W_Q, W_K = W_Q.requires_grad_(), W_K.requires_grad_()
    q = x @ W_Q
    out = sdpa.scaled_dot_product_attention(q, x @ W_K, x @ W_V, rescaling=rescaling)
    upstream = related(layers, n, 64, gamma, 4)
    *at_W, at_q = torch.autograd.grad(out, (W_Q, W_K, q), upstream)
    norms = [g.flatten(1).norm(dim=-1) for g in at_W]
    predicted = (at_q.square().sum((1, 2)) * d_model).sqrt()
    return AtWeights(*map(mean_and_error, (*norms, predicted, norms[0] / predicted)))
