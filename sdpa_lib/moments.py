r"""Moments of :math:`q \cdot k`: measured in one pass at bounded memory, beside the closed
forms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.polynomial import Polynomial
from torch import Tensor

from sdpa_lib._checks import check_count, check_finite, check_number, check_tensor
from sdpa_lib.device import get_device, get_dtype, widest_dtype
from sdpa_lib.sampling import (
    Distribution,
    get_distribution,
    make_generator,
    seed_sequence,
    standard_normal,
)

BLOCK = 2**20
"""The largest number of components drawn at once: 8 MiB in float64."""


@dataclass(frozen=True)
class Moments:
    """Mean, variance, skewness (third standardised moment) and excess kurtosis (fourth, less 3)."""

    mean: float
    variance: float
    skewness: float
    excess_kurtosis: float


@dataclass(frozen=True)
class MeasuredMoments(Moments):
    """Moments of a sample, with the sample's size and the standard error of each."""

    count: int
    standard_error: Moments


def measure_moments(values: Tensor) -> MeasuredMoments:
    """Moments of all entries of ``values``, taken as independent draws.

    Args:
        values: any shape, at least 2 entries, finite and not all equal. Their standard deviation
            must lie between 1e-150 and 1e150, so that the variance is a number.

    Returns:
        The variance is unbiased (divided by N - 1). Standard errors come from the influence
        function of each moment, with no assumption on the distribution beyond a finite eighth
        moment.

    Example:
        >>> round(measure_moments(torch.tensor([0.0, 0.0, 1.0, 1.0])).variance, 4)
        0.3333
    """
    check_finite("values", check_tensor("values", values, min_dim=0))
    relative, unit = _in_units("values", values)
    shift, scale = relative.mean().item(), relative.std(correction=0).item()
    if not 1e-150 < scale * unit < 1e150:
        raise ValueError(
            "values must have a standard deviation between 1e-150 and 1e150, so that their "
            f"variance is a number, got {scale * unit:.3g}: scale them first"
        )
    return _from_power_sums(_power_sums(relative, shift, scale), shift * unit, scale * unit)


def measure_dot_products(
    d_k: int,
    n_pairs: int,
    *,
    seed: int,
    query: str | Distribution = "normal",
    key: str | Distribution | None = None,
    device: str | torch.device | None = None,
) -> MeasuredMoments:
    r"""Moments of :math:`q \cdot k` over independent pairs, in one pass at bounded memory.

    Args:
        d_k: components of each query and key, at least 1.
        n_pairs: pairs to draw, at least 2; each pair has a query and a key of its own.
        seed: 0 or more.
        query: distribution of a query's components.
        key: distribution of a key's components, default that of the query.
        device: as in :func:`~sdpa_lib.device.get_device`.

    Example:
        >>> measured = measure_dot_products(64, 100_000, seed=0)
        >>> abs(measured.variance - 64) < 4 * measured.standard_error.variance
        True
    """
    exact = exact_moments(d_k, query=query, key=key)
    check_count("n_pairs", n_pairs, minimum=2)
    shift, scale = exact.mean, math.sqrt(exact.variance)
    blocks = dot_product_blocks(d_k, n_pairs, seed=seed, query=query, key=key, device=device)
    sums = [_power_sums(block, shift, scale) for block in blocks]  # nine numbers a block
    return _from_power_sums([sum(powers) for powers in zip(*sums, strict=True)], shift, scale)


def sample_dot_products(
    d_k: int,
    n_pairs: int,
    *,
    seed: int,
    query: str | Distribution = "normal",
    key: str | Distribution | None = None,
    device: str | torch.device | None = None,
) -> Tensor:
    """The dot products themselves. Arguments as in :func:`measure_dot_products`.

    Returns:
        (n_pairs,).

    Example:
        >>> sample_dot_products(64, 5, seed=0).shape
        torch.Size([5])
    """
    return torch.cat(
        list(dot_product_blocks(d_k, n_pairs, seed=seed, query=query, key=key, device=device))
    )


def sample_normal_scores(
    n_queries: int, n_keys: int, d_k: int, *, seed: int, device: str | torch.device | None = None
) -> Tensor:
    r"""Undivided scores of normal queries and keys, exact, without drawing a query or a key: the
    cost does not depend on ``d_k``.

    Given the query, its dot products with standard normal keys are independent normal numbers with
    standard deviation :math:`\lVert q\rVert`, and :math:`\lVert q\rVert^2` has a chi-squared
    distribution with ``d_k`` degrees of freedom.

    Args:
        n_queries: at least 1.
        n_keys: for each query, at least 1; no two queries share any. One key a query gives
            independent dot products.
        d_k: components of the queries and keys that are not drawn, at least 1, as large as you
            like.
        seed, device: as in :func:`measure_dot_products`.

    Returns:
        (n_queries, n_keys).

    Example:
        >>> scores = sample_normal_scores(100_000, 1, 10**9, seed=0)
        >>> abs(scores.var().item() / 10**9 - 1) < 0.02
        True
    """
    return normal_scores(n_queries, n_keys, d_k, seed=seed, device=device)[0]


def normal_scores(
    n_queries: int, n_keys: int, d_k: int, *, seed: int, device: str | torch.device | None = None
) -> tuple[Tensor, Tensor]:
    """The scores of :func:`sample_normal_scores`, and what they are over the query's length: both
    (n_queries, n_keys).
    """
    for name, count in (("n_queries", n_queries), ("n_keys", n_keys), ("d_k", d_k)):
        check_count(name, count)
    normal = standard_normal((n_queries, n_keys), make_generator(seed, 3)).to(
        get_device(device), get_dtype(device)
    )
    return normal * chi_squared(n_queries, d_k, seed=seed, stream=2, like=normal).sqrt().unsqueeze(
        -1
    ), normal


def chi_squared(count: int, degrees: int, *, seed: int, stream: int, like: Tensor) -> Tensor:
    """(count,) draws of a sum of ``degrees`` squared normal numbers, where ``like`` is and in its
    dtype; 0 for no degrees.
    """
    if degrees == 0:
        return like.new_zeros(count)
    draws = np.random.default_rng(seed_sequence(seed, stream)).chisquare(degrees, size=count)
    return torch.from_numpy(draws).to(like)


def dot_product_blocks(
    d_k: int,
    n_pairs: int,
    *,
    seed: int,
    query: str | Distribution = "normal",
    key: str | Distribution | None = None,
    device: str | torch.device | None = None,
) -> Iterator[Tensor]:
    """Yield the dot products block by block, never drawing more than ``BLOCK`` components at once,
    however large ``d_k`` is.
    """
    check_count("d_k", d_k)
    check_count("n_pairs", n_pairs)
    query = get_distribution(query)
    key = query if key is None else get_distribution(key)
    query_stream, key_stream = make_generator(seed, 0), make_generator(seed, 1)
    target, dtype = get_device(device), get_dtype(device)
    pairs_per_block = max(1, BLOCK // d_k)
    for start in range(0, n_pairs, pairs_per_block):
        pairs = min(pairs_per_block, n_pairs - start)
        products = torch.zeros(pairs, dtype=dtype, device=target)
        for first in range(0, d_k, BLOCK):
            shape = (pairs, min(BLOCK, d_k - first))
            q = query.draw(shape, query_stream).to(target, dtype)
            k = key.draw(shape, key_stream).to(target, dtype)
            products += torch.linalg.vecdot(q, k)  # (pairs,)
        yield products


def exact_moments(
    d_k: int, *, query: str | Distribution = "normal", key: str | Distribution | None = None
) -> Moments:
    r"""The closed forms for :math:`q \cdot k` with independent components.

    For means :math:`\mu` and standard deviations :math:`\sigma`, the mean is :math:`d_k\mu_q\mu_k`
    and the variance :math:`d_k(\sigma_q^2\sigma_k^2 + \mu_q^2\sigma_k^2 + \mu_k^2\sigma_q^2)`. With
    zero means the excess kurtosis is :math:`[(\kappa_q+3)(\kappa_k+3)-3]/d_k`, which is
    :math:`6/d_k` for normal components.

    Example:
        >>> exact_moments(64)
        Moments(mean=0.0, variance=64.0, skewness=0.0, excess_kurtosis=0.09375)
    """
    check_count("d_k", d_k)
    query = get_distribution(query)
    key = query if key is None else get_distribution(key)
    # Raw moments of one product are products of raw moments; its cumulants, times d_k, are those of
    # the sum.
    m1, m2, m3, m4 = (a * b for a, b in zip(_raw_moments(query), _raw_moments(key), strict=True))
    variance = m2 - m1**2
    third = m3 - 3 * m2 * m1 + 2 * m1**3
    fourth = m4 - 4 * m3 * m1 + 6 * m2 * m1**2 - 3 * m1**4 - 3 * variance**2
    return Moments(
        mean=d_k * m1,
        variance=d_k * variance,
        skewness=third / variance**1.5 / math.sqrt(d_k),
        excess_kurtosis=fourth / variance**2 / d_k,
    )


def normal_dot_product_density(x: Tensor, d_k: int, scale: float = 1.0) -> Tensor:
    r"""Density of :math:`q \cdot k / \text{scale}` for standard normal components.

    Given the query, :math:`q \cdot k` is normal with standard deviation :math:`\lVert q\rVert`, and
    the length is chi-distributed with ``d_k`` degrees of freedom: the density is that mixture,
    integrated on a grid of lengths, in the widest dtype of the device.

    Args:
        x: (...), finite. At d_k = 1 the density is infinite at 0, so x = 0 is refused there.
        d_k: at least 1.
        scale: what the dot products were divided by, greater than 0.

    Returns:
        (...), as ``x``.

    Example:
        >>> x = torch.zeros(1, dtype=torch.float64)
        >>> normal_dot_product_density(x, 2)  # Laplace(1): 1/2 at 0
        tensor([0.5000], dtype=torch.float64)
    """
    check_finite("x", check_tensor("x", x, min_dim=0))
    check_count("d_k", d_k)
    check_number("scale", scale, above=0.0)
    at = (x.to(widest_dtype(x.device)) * scale).unsqueeze(-1)  # (..., 1)
    if d_k == 1 and bool((at == 0).any()):
        raise ValueError("x must not be 0 at d_k = 1: the density is infinite there")
    # The grid is even in u = ln(length / sqrt(d_k)). It leaves out less than 1e-16 of the
    # integral, also in the tails; its step is finer than the integrand's width, which makes the
    # error of a plain sum as small.
    root = math.sqrt(d_k)
    lowest, highest = -12.0 / root - 40.0 / max(1, d_k - 1), math.log1p(40.0 / root)
    if d_k == 1:  # the shortest lengths count as much as any, down to x
        lowest = min(lowest, math.log(at.detach().abs().min().item()) - 4.0)
    steps = math.ceil((highest - lowest) * (root + 40.0) / 0.4)
    u = torch.linspace(lowest, highest, steps, dtype=at.dtype, device=at.device)
    # The density of u but for a constant factor, free of large terms that cancel; weights that sum
    # to 1 need no factor.
    log_weights = torch.log_softmax(-d_k / 2 * (torch.expm1(2.0 * u) - 2.0 * u), dim=-1)
    log_normal = -((at / (root * u.exp())) ** 2) / 2 - u - math.log(2.0 * math.pi * d_k) / 2
    return ((log_weights + log_normal).exp().sum(-1) * scale).to(x.dtype)


def shape_distance(first: Tensor, second: Tensor) -> float:
    """How far two samples differ in shape: the Wasserstein-1 distance after each is given mean 0
    and variance 1.

    Args:
        first, second: any shape, the same number of entries, finite, not all equal.

    Returns:
        0 where one sample is an increasing linear function of the other; in units of standard
        deviations.

    Example:
        >>> x = torch.arange(10.0)
        >>> round(shape_distance(x, 3 * x + 1), 6)
        0.0
    """
    ordered = []
    for name, sample in (("first", first), ("second", second)):
        check_finite(name, check_tensor(name, sample))
        relative, _ = _in_units(name, sample.flatten())
        std = relative.std(correction=0)
        ordered.append(((relative - relative.mean()) / std).sort().values)
    if ordered[0].shape != ordered[1].shape:
        raise ValueError(
            f"first and second must hold the same number of entries, got {first.numel()} and "
            f"{second.numel()}"
        )
    return (ordered[0] - ordered[1]).abs().mean().item()


def _in_units(name: str, values: Tensor) -> tuple[Tensor, float]:
    """The values over a power of two near the largest of them, and that power: no sum and no square
    overflows then, and nothing is rounded.
    """
    wide = values.detach().to(get_dtype(values.device))
    lowest, highest = (bound.item() for bound in wide.aminmax())
    if lowest == highest:
        raise ValueError(f"{name} must hold at least two different numbers")
    unit = math.ldexp(1.0, math.frexp(max(-lowest, highest))[1] - 1)
    return wide / unit, unit


def _raw_moments(distribution: Distribution) -> tuple[float, float, float, float]:
    """E[x], E[x^2], E[x^3], E[x^4] of a symmetric distribution."""
    mean, variance = distribution.mean, distribution.variance
    fourth = (distribution.excess_kurtosis + 3.0) * variance**2
    return (
        mean,
        variance + mean**2,
        3 * mean * variance + mean**3,
        fourth + 6 * mean**2 * variance + mean**4,
    )


def _power_sums(values: Tensor, shift: float, scale: float) -> list[float]:
    """Sums of the powers 0 ... 8 of the standardised values; sums of two blocks add up to those of
    both.
    """
    y = (values.flatten() - shift) / scale
    power = torch.ones_like(y)
    sums = [float(y.numel())]
    for _ in range(8):
        power = power * y
        sums.append(power.sum().item())
    return sums


def _from_power_sums(sums: list[float], shift: float, scale: float) -> MeasuredMoments:
    count = int(sums[0])
    raw = [total / count for total in sums]
    centred = [
        sum(math.comb(k, j) * raw[j] * (-raw[1]) ** (k - j) for j in range(k + 1)) for k in range(9)
    ]
    std = math.sqrt(centred[2])
    a = [centred[k] / std**k for k in range(9)]  # standardised moments: a[1] = 0, a[2] = 1
    # Influence functions in z, lowest power first: what one more draw at z does to each moment, per
    # 1/count.
    influence = {
        "variance": [-1.0, 0.0, 1.0],
        "skewness": [0.5 * a[3], -3.0, -1.5 * a[3], 1.0],
        "kurtosis": [a[4], -4.0 * a[3], -2.0 * a[4], 0.0, 1.0],
    }

    def standard_error(curve: list[float]) -> float:
        mean_square = sum(
            c * moment for c, moment in zip((Polynomial(curve) ** 2).coef.tolist(), a, strict=False)
        )
        return math.sqrt(max(0.0, float(mean_square)) / count)

    variance = centred[2] * scale**2
    return MeasuredMoments(
        mean=shift + scale * raw[1],
        variance=variance * count / (count - 1),
        skewness=a[3],
        excess_kurtosis=a[4] - 3.0,
        count=count,
        standard_error=Moments(
            mean=math.sqrt(variance / count),
            variance=variance * standard_error(influence["variance"]),
            skewness=standard_error(influence["skewness"]),
            excess_kurtosis=standard_error(influence["kurtosis"]),
        ),
    )
