"""What softmax does to the scores of random queries and keys, with and without the divisor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import torch
from torch import Tensor

from sdpa_book.ledger.verdict import Finding, finding
from sdpa_book.writing.measured import mean_and_error, median_and_error, ratio
from sdpa_lib.attention import attention_scores
from sdpa_lib.sampling import sample
from sdpa_lib.saturation import (
    attention_gradients,
    effective_keys,
    entropy,
    jacobian_norm,
    largest_weight,
    perplexity,
)

ROWS = 1000


@cache
def _queries_and_keys(d_k: int, n: int, seed: int, queries: int = ROWS) -> tuple[Tensor, Tensor]:
    """Independent queries (queries, 1, d_k), every one with keys of its own (queries, n, d_k)."""
    q = sample(queries, 1, d_k, seed=seed, stream=0, dtype=torch.float32, device="cpu")
    return q, sample(queries, n, d_k, seed=seed, stream=1, dtype=torch.float32, device="cpu")


@cache
def _weights(d_k: int, n: int, rescaling: str, std: float = 1.0) -> Tensor:
    """(ROWS, n): one row of weights for each query."""
    q, k = _queries_and_keys(d_k, n, seed=1)
    return torch.softmax(
        attention_scores(std * q, std * k, rescaling=rescaling).double(), dim=-1
    ).flatten(0, 1)


QUANTITIES: dict[str, Callable[[Tensor], Tensor]] = {
    "largest weight": largest_weight,
    "effective keys": effective_keys,
    "perplexity": perplexity,
    "entropy": entropy,
    "Jacobian": jacobian_norm,
    "ignored": lambda p: (p < 0.01).double().mean(-1),
    "nearly one-hot": lambda p: (largest_weight(p) > 0.99).double(),
    "above 0.999": lambda p: (largest_weight(p) > 0.999).double(),
}


def typical(
    quantity: str, d_k: int, n: int = 32, rescaling: str = "none", std: float = 1.0
) -> Finding:
    """The mean of a quantity of softmax's rows over 1,000 random queries, components of standard
    deviation ``std``.
    """
    return finding(*mean_and_error(QUANTITIES[quantity](_weights(d_k, n, rescaling, std))))


def median(quantity: str, d_k: int, n: int = 32, rescaling: str = "none") -> Finding:
    """The median of a quantity of softmax's rows over 1,000 random queries."""
    values = QUANTITIES[quantity](_weights(d_k, n, rescaling))
    return finding(*median_and_error(values), mean=values.mean().item())


def compared(
    quantity: str,
    d_k: int,
    n: int = 32,
    to: str = "sqrt_d_k",
    rescaling: str = "none",
    std: float = 1.0,
) -> Finding:
    """The median of a quantity over its median with the other divisor, from the same queries and
    keys.
    """
    ours, theirs = (QUANTITIES[quantity](_weights(d_k, n, name, std)) for name in (rescaling, to))
    a, b = median_and_error(ours), median_and_error(theirs)
    return finding(
        *ratio(a, b),
        ours_median=a.value,
        other_median=b.value,
    )


def compared_dimensions(
    quantity: str, low: int, high: int, n: int = 32, rescaling: str = "none"
) -> Finding:
    """The mean of a quantity at the higher dimension, less that at the lower one."""
    a, b = (QUANTITIES[quantity](_weights(d, n, rescaling)) for d in (low, high))
    return finding(*mean_and_error(b - a), low=a.mean().item(), high=b.mean().item())


def beside_the_root(quantity: str, d_k: int, rescaling: Sequence[str], n: int = 32) -> Finding:
    """The mean of a quantity with each divisor, over its mean with the root; as a fact, its value
    for even weights.
    """
    root, *means = (
        mean_and_error(QUANTITIES[quantity](_weights(d_k, n, name)))
        for name in ("sqrt_d_k", *rescaling)
    )
    ratios = [ratio(mean, root) for mean in means]
    even = QUANTITIES[quantity](torch.full((1, n), 1.0 / n, dtype=torch.float64)).item()
    return finding(
        [one.value for one in ratios], max(one.error for one in ratios), even=even / root.value
    )


@cache
def _gradients(
    d_k: int, n: int, rescaling: str, std: float = 1.0, queries: int = ROWS
) -> tuple[Tensor, Tensor, Tensor]:
    """Weights, gradients at the divided scores (queries, n), and lengths of the gradients at the
    queries (queries,).
    """
    q, k = (std * x.double() for x in _queries_and_keys(d_k, n, 2, queries))
    v = sample(queries, n, 32, seed=2, stream=2, device="cpu")
    gradients = attention_gradients(q, k, v, rescaling=rescaling)
    weights = torch.softmax(attention_scores(q, k, rescaling=rescaling), dim=-1).flatten(0, 1)
    return weights, gradients.scores.flatten(0, 1), gradients.query.flatten(0, 1).norm(dim=-1)


def gradient_at_ignored(d_k: int, n: int = 32, below: float = 0.001) -> Finding:
    """The median gradient at scores whose weight is below a bound, over the median at all scores
    with the usual divisor.
    """
    weights, at_scores, _ = _gradients(d_k, n, "none")
    ignored = at_scores[weights < below].abs()
    usual = _gradients(d_k, n, "sqrt_d_k")[1].abs()
    return finding(
        *ratio(median_and_error(ignored), median_and_error(usual)),
        share=(weights < below).double().mean().item(),
    )


def weak_links(d_k: int, n: int = 32, factor: float = 10.0) -> Finding:
    """The share of links whose gradient at the score is ``factor`` times smaller than the median
    with the usual divisor.
    """
    usual = _gradients(d_k, n, "sqrt_d_k")[1].abs().median()
    weak = (_gradients(d_k, n, "none")[1].abs() < usual / factor).double().mean(-1)
    scaled = (_gradients(d_k, n, "sqrt_d_k")[1].abs() < usual / factor).double().mean().item()
    return finding(*mean_and_error(weak), scaled=scaled)


def gradient(
    at: str,
    divisor: str,
    to: str,
    d_k: int,
    n: int = 32,
    std: float = 1.0,
    queries: int = ROWS,
) -> Finding:
    """The median gradient at a score, or its median length at a query, with one divisor, over that
    with the other, from the same queries, keys and values; components of queries and keys have
    standard deviation ``std``.
    """
    place = {"scores": 1, "query": 2}[at]
    ours, other = (
        median_and_error(_gradients(d_k, n, name, std, queries)[place].abs())
        for name in (divisor, to)
    )
    return finding(*ratio(ours, other))


def gradient_across_dimensions(divisor: str, low: int, high: int, n: int = 32) -> Finding:
    """The median gradient at a query at one dimension over that at another."""
    return finding(*ratio(*(median_and_error(_gradients(d, n, divisor)[2]) for d in (high, low))))
