"""How dot products grow: moments, growth exponents and divisors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import torch
from torch import Tensor

from sdpa_book.ledger.checks.decoders import of_the_root
from sdpa_book.ledger.verdict import Finding, finding
from sdpa_book.writing.measured import Measured, mean_and_error, ratio
from sdpa_lib.moments import (
    MeasuredMoments,
    exact_moments,
    measure_dot_products,
    measure_moments,
    normal_dot_product_density,
)
from sdpa_lib.sampling import make_generator, sample

DIMENSIONS = (4, 16, 64, 256, 1024)


@cache
def _moments(d_k: int, n_pairs: int = 100_000) -> MeasuredMoments:
    return measure_dot_products(d_k, n_pairs, seed=0, device="cpu")


def variance(d_k: int, power: float = 0.0, copied: bool = False) -> Finding:
    """The measured variance of q.k / d_k^power; or, ``copied``, of one product of two components
    taken d_k times.
    """
    measured = _moments(d_k)
    if copied:
        measured = measure_moments(
            d_k * sample(100_000, seed=1, device="cpu") * sample(100_000, seed=2, device="cpu")
        )
    squared = d_k ** (2 * power)
    return finding(
        measured.variance / squared,
        measured.standard_error.variance / squared,
        exact=exact_moments(d_k).variance / squared,
    )


def standard_deviation(d_k: int) -> Finding:
    """The measured standard deviation of q.k."""
    measured = _moments(d_k)
    std = math.sqrt(measured.variance)
    return finding(std, measured.standard_error.variance / (2 * std), exact=math.sqrt(d_k))


def mean(d_k: int) -> Finding:
    """The measured mean of q.k."""
    measured = _moments(d_k, n_pairs=400_000)
    return finding(measured.mean, measured.standard_error.mean)


def growth(of: str = "variance", power: float = 0.0) -> Finding:
    """The exponent with which the variance, the standard deviation or the mean size of q.k /
    d_k^power grows with d_k.
    """
    if of == "mean size":
        sizes = [_sizes(d) for d in DIMENSIONS]
        logs = [math.log(size) for size, _ in sizes]
        errors = [error / size for size, error in sizes]
    else:
        halving = {"variance": 1.0, "standard deviation": 0.5}[of]
        measured = [_moments(d, n_pairs=40_000) for d in DIMENSIONS]
        logs = [halving * math.log(m.variance) for m in measured]
        errors = [halving * m.standard_error.variance / m.variance for m in measured]
    slope, error = _slope([math.log(d) for d in DIMENSIONS], logs, errors)
    return finding(slope - power * (2 if of == "variance" else 1), error)


@cache
def _sizes(d_k: int) -> Measured:
    q, k = (sample(20_000, d_k, seed=3, stream=s, device="cpu") for s in (0, 1))
    sizes = torch.linalg.vecdot(q, k).abs()
    return mean_and_error(sizes)


def _slope(x: Sequence[float], y: Sequence[float], errors: Sequence[float]) -> Measured:
    """The least-squares slope, and its standard error from the errors of the points."""
    centre = sum(x) / len(x)
    weights = [(at - centre) / sum((other - centre) ** 2 for other in x) for at in x]
    slope = sum(w * at for w, at in zip(weights, y, strict=True))
    error = math.sqrt(sum((w * e) ** 2 for w, e in zip(weights, errors, strict=True)))
    return Measured(slope, error)


def least_growth_of_other_powers(powers: Sequence[float]) -> Finding:
    """The smallest size of the variance's growth exponent over divisors d_k^p, p other than one
    half.
    """
    exponents = {p: growth(power=p) for p in powers}
    return finding(
        min(abs(f.ours[0]) for f in exponents.values()), max(f.error for f in exponents.values())
    )


def growth_within_matrix(n: int = 3) -> Finding:
    """The growth exponent of the variance within one n x n score matrix, the mean over 4,000
    matrices.
    """
    logs, errors = [], []
    for d in DIMENSIONS[:4]:
        mean, error = mean_and_error(_within(d, n))
        logs.append(math.log(mean))
        errors.append(error / mean)
    return finding(*_slope([math.log(d) for d in DIMENSIONS[:4]], logs, errors))


def _within(d_k: int, n: int, matrices: int = 4000) -> Tensor:
    q, k = (sample(matrices, n, d_k, seed=4, stream=s, device="cpu") for s in (0, 1))
    return (q @ k.mT).flatten(1).var(dim=-1)


def variance_ratio(low: int, high: int) -> Finding:
    """The variance of q.k at the higher dimension over that at the lower one."""
    measured = (_moments(high), _moments(low))
    return finding(*ratio(*(Measured(m.variance, m.standard_error.variance) for m in measured)))


def chance_of_extremes(d_k: Sequence[int], low: float, high: float) -> Finding:
    """The exact chance that a dot product of standard normal components lies below ``low`` or above
    ``high``, at each dimension; as facts what trained heads of 64 have for a standard deviation, at
    the start and at the end.
    """
    beyond = [_beyond(d, abs(low)) + _beyond(d, high) for d in d_k]
    return finding(
        beyond,
        stds=" and ".join(f"{high / math.sqrt(d):.1f}" for d in d_k),
        one_in=" and ".join(f"{float(f'{1 / chance:.2g}'):,.0f}" for chance in beyond),
        **{
            name: 8 * figure.value  # in units of the root of 64
            for name, figure in zip(
                ("at_the_start", "trained"), of_the_root("total_std", "wide"), strict=True
            )
        },
    )


def _beyond(d_k: int, edge: float) -> float:
    x = torch.linspace(edge, edge + 40 * math.sqrt(d_k), 4001, dtype=torch.float64)
    return torch.trapezoid(normal_dot_product_density(x, d_k), x).item()


def expected_largest(n: int, d_k: int, score: float) -> Finding:
    """The mean of the largest of n dot products of one query, measured over 20,000 queries; where
    ``score`` lies, as a fact.
    """
    q = sample(20_000, 1, d_k, seed=9, stream=0, dtype=torch.float32, device="cpu")
    k = sample(20_000, n, d_k, seed=9, stream=1, dtype=torch.float32, device="cpu")
    largest = (q @ k.mT).flatten(1).amax(-1).double()
    return finding(*mean_and_error(largest), std=math.sqrt(d_k), stds=score / math.sqrt(d_k))


def divide(scores: Sequence[float], d_k: int) -> Finding:
    """Given scores over the root of d_k."""
    return finding([score / math.sqrt(d_k) for score in scores])


def implied_dimension(scores: Sequence[float]) -> Finding:
    """The d_k at which dot products have the variance of these scores."""
    values = torch.tensor(scores, dtype=torch.float64)
    return finding(values.var(correction=0).item(), std=values.std(correction=0).item())


def order_by_similarity(spread: float = 1.0, d_k: int = 64) -> Finding:
    """How often dot product and cosine prefer the same of two keys whose lengths differ by up to a
    factor ``spread``.
    """
    q, a, b = (sample(20_000, d_k, seed=11, stream=s, device="cpu") for s in range(3))
    a, b = a / a.norm(dim=-1, keepdim=True), b / b.norm(dim=-1, keepdim=True)
    lengths = [
        spread ** torch.rand(20_000, generator=make_generator(11, stream), dtype=q.dtype)
        for stream in (3, 4)
    ]
    cosine = torch.linalg.vecdot(q, a - b) > 0
    product = (torch.linalg.vecdot(q, a) * lengths[0] - torch.linalg.vecdot(q, b) * lengths[1]) > 0
    share = (product == cosine).double().mean().item()
    return finding(share, math.sqrt(share * (1 - share) / len(q)))
