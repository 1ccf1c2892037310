"""Moments: measured against numpy and scipy, closed forms against exact enumeration and against
measurement.
"""

import itertools
import math
from dataclasses import fields

import numpy as np
import pytest
import scipy.special
import scipy.stats
import torch

from sdpa_lib import moments
from sdpa_lib.moments import (
    Moments,
    exact_moments,
    measure_dot_products,
    measure_moments,
    normal_dot_product_density,
    sample_dot_products,
    sample_normal_scores,
    shape_distance,
)
from sdpa_lib.sampling import DISTRIBUTIONS, get_distribution, sample

NAMES = [field.name for field in fields(Moments)]


def test_measured_moments_against_scipy():
    x = sample(5000, seed=0, distribution="laplace").cpu() * 3 + 7
    ours, data = measure_moments(x), x.numpy()
    assert ours.count == 5000
    assert ours.mean == pytest.approx(data.mean())
    assert ours.variance == pytest.approx(data.var(ddof=1))
    assert ours.skewness == pytest.approx(scipy.stats.skew(data))
    assert ours.excess_kurtosis == pytest.approx(scipy.stats.kurtosis(data))
    assert measure_moments(x.float()).variance == measure_moments(x.float().double()).variance


@pytest.mark.parametrize("factor", [2.0**-480, 2.0**480])
def test_moments_of_numbers_near_the_ends_of_the_dtype(factor):
    """The factor is a power of two, and its square still a number: nothing is rounded."""
    x = torch.cat([sample(1000, seed=0, device="cpu"), torch.tensor([1.0], dtype=torch.float64)])
    plain, scaled = measure_moments(x), measure_moments(x * factor)
    assert scaled.mean == plain.mean * factor
    assert scaled.variance == plain.variance * factor**2
    assert scaled.skewness == plain.skewness
    assert scaled.standard_error.excess_kurtosis == plain.standard_error.excess_kurtosis


@pytest.mark.parametrize("size", [1e-323, 1e-300, 1e300, 1e308])
def test_numbers_whose_variance_is_none_are_refused(size):
    values = torch.tensor([size, -size, 0.0], dtype=torch.float64)
    with pytest.raises(ValueError, match="values must have a standard deviation between 1e-150"):
        measure_moments(values)


def test_equal_numbers_are_refused_though_their_mean_is_rounded():
    values = torch.full((7,), 0.1, dtype=torch.float64)
    assert values.std(correction=0) > 0
    with pytest.raises(ValueError, match="values must hold at least two different numbers"):
        measure_moments(values)


@pytest.mark.parametrize("size", [1e-300, 1e300, 1e308])
def test_shape_distance_of_numbers_near_the_ends_of_the_dtype(size):
    first, second = (-sample(200, seed=seed, device="cpu").tanh().relu() for seed in (0, 1))
    assert shape_distance(first * size, second * size) == pytest.approx(
        shape_distance(first, second)
    )


def test_standard_errors_against_the_spread_of_repeated_measurements():
    repeats = [
        measure_moments(sample(2000, seed=seed, distribution="uniform").exp())
        for seed in range(400)
    ]
    for name in NAMES:
        spread = np.std([getattr(m, name) for m in repeats], ddof=1)
        stated = np.mean([getattr(m.standard_error, name) for m in repeats])
        assert stated == pytest.approx(spread, rel=0.15), name


def test_one_pass_over_blocks_gives_what_all_at_once_gives(monkeypatch):
    monkeypatch.setattr(moments, "BLOCK", 640)
    blocks = list(moments.dot_product_blocks(64, 1005, seed=0))
    assert [len(block) for block in blocks] == [10] * 100 + [5]
    drawn = sample_dot_products(64, 1005, seed=0)
    assert torch.equal(drawn, torch.cat(blocks))
    streamed, at_once = measure_dot_products(64, 1005, seed=0), measure_moments(drawn)
    assert streamed.count == at_once.count == 1005
    for ours, theirs in ((streamed, at_once), (streamed.standard_error, at_once.standard_error)):
        for name in NAMES:
            assert getattr(ours, name) == pytest.approx(getattr(theirs, name), rel=1e-9)


def test_memory_stays_bounded_when_d_k_is_larger_than_a_block(monkeypatch):
    monkeypatch.setattr(moments, "BLOCK", 100)
    drawn = []
    normal = get_distribution("normal")
    spy = moments.Distribution(
        "spy", lambda shape, g: drawn.append(math.prod(shape)) or normal.draw(shape, g), 0.0
    )
    variance = measure_dot_products(1050, 60, seed=0, query=spy).variance
    assert max(drawn) <= 100
    assert sum(drawn) == 2 * 1050 * 60
    assert variance == pytest.approx(1050, rel=0.5)


@pytest.mark.parametrize(
    ("query", "key"), list(zip(DISTRIBUTIONS, sorted(DISTRIBUTIONS), strict=True))
)
def test_closed_forms_against_measurement(query, key):
    exact = exact_moments(5, query=query, key=key)
    assert exact.variance == 5
    agree(measure_dot_products(5, 100_000, seed=4, query=query, key=key), exact)


def agree(measured, exact):
    """Each moment, within five standard errors."""
    for name in NAMES:
        tolerance = 5 * getattr(measured.standard_error, name)
        assert getattr(measured, name) == pytest.approx(getattr(exact, name), abs=tolerance), name


@pytest.mark.parametrize(
    ("mu_q", "sd_q", "mu_k", "sd_k"), [(0, 1, 0, 1), (1, 1, 0, 1), (0.5, 2, -1, 0.5), (3, 1, 3, 1)]
)
def test_closed_forms_with_means_by_enumeration(mu_q, sd_q, mu_k, sd_k):
    """Rademacher components take two values: every outcome of a sum of d = 4 products can be
    listed.
    """
    q_values, k_values = (mu_q - sd_q, mu_q + sd_q), (mu_k - sd_k, mu_k + sd_k)
    products = [q * k for q in q_values for k in k_values]
    sums = np.array([sum(terms) for terms in itertools.product(products, repeat=4)])
    rademacher = get_distribution("rademacher")
    exact = exact_moments(
        4, query=rademacher.shifted(mu_q).scaled(sd_q), key=rademacher.shifted(mu_k).scaled(sd_k)
    )
    assert exact.mean == pytest.approx(sums.mean())
    assert exact.variance == pytest.approx(sums.var())
    assert exact.skewness == pytest.approx(scipy.stats.skew(sums), abs=1e-9)
    assert exact.excess_kurtosis == pytest.approx(scipy.stats.kurtosis(sums))


@pytest.mark.parametrize("d_k", [1, 2, 3, 64])
@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_density_against_the_bessel_function(d_k, scale):
    x = torch.tensor([0.05, 0.4, 1.0, 3.0, 9.0], dtype=torch.float64) * math.sqrt(d_k)
    if d_k <= 2:
        x = torch.cat([x, torch.tensor([1e-300, 1e-30, 1e-9, 100.0, 650.0], dtype=x.dtype)])
    log_constant = 0.5 * math.log(math.pi) + (d_k - 1) / 2 * math.log(2) + math.lgamma(d_k / 2)
    order, at = (d_k - 1) / 2, x.numpy()
    bessel = at**order * scipy.special.kv(order, at) / math.exp(log_constant) * scale
    ours = normal_dot_product_density(x / scale, d_k, scale)
    np.testing.assert_allclose(ours.numpy(), bessel, rtol=1e-9)


@pytest.mark.parametrize("d_k", [1, 2, 512, 10**6, 10**12, 10**100])
def test_density_integrates_to_one_and_has_the_right_variance(d_k):
    """On a grid even in ln x, fine enough at 0 for the density at d_k = 1, which is infinite there;
    the density is even.
    """
    log_x = torch.arange(-42.0, 4.3, 0.02, dtype=torch.float64)
    x = log_x.exp()  # in standard deviations
    density = normal_dot_product_density(x, d_k, scale=math.sqrt(d_k))
    assert 2 * torch.trapezoid(density * x, log_x).item() == pytest.approx(1.0, abs=1e-9)
    assert 2 * torch.trapezoid(density * x**3, log_x).item() == pytest.approx(1.0, rel=1e-9)


def test_density_tends_to_the_normal_one():
    """By the Edgeworth series the relative difference is (x^4 - 6x^2 + 3) / (4 d_k), to first
    order: the fourth Hermite polynomial times an excess kurtosis of 6/d_k over 24.
    """
    x = torch.linspace(-4, 4, 81, dtype=torch.float64)
    normal = torch.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    for d_k in (10**5, 10**6, 10**8, 10**12):
        relative = normal_dot_product_density(x, d_k, scale=math.sqrt(d_k)) / normal - 1
        torch.testing.assert_close(
            relative * d_k, (x**4 - 6 * x**2 + 3) / 4, rtol=1e-2, atol=2e-2 + 1e-14 * d_k
        )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_density_is_rounded_once(dtype):
    x = torch.linspace(-3, 3, 13).to(dtype)
    expected = normal_dot_product_density(x.double(), 512, scale=math.sqrt(512))
    ours = normal_dot_product_density(x, 512, scale=math.sqrt(512))
    assert torch.equal(ours, expected.to(dtype))


def test_shape_distance_against_scipy():
    a = sample(300, seed=0, device="cpu")
    b = sample(300, seed=0, stream=1, distribution="laplace", device="cpu") * 5 + 3
    standard = [(x - x.mean()) / x.std(correction=0) for x in (a, b)]
    assert shape_distance(a, b) == pytest.approx(scipy.stats.wasserstein_distance(*standard))


@pytest.mark.parametrize("d_k", [1, 64, 10**9])
def test_exact_scores_have_the_closed_moments(d_k):
    scores = sample_normal_scores(200_000, 1, d_k, seed=3, device="cpu")
    agree(measure_moments(scores), exact_moments(d_k))


def test_scores_of_one_query_share_its_length():
    """Squared scores of one row are correlated through the query's length, as they are when queries
    and keys are drawn.
    """

    def correlation(scores):
        return torch.corrcoef(scores.square().T)[0, 1].item()

    q, k = (sample(40_000, n, 4, seed=4, stream=s, device="cpu") for s, n in ((0, 1), (1, 2)))
    drawn = correlation((q @ k.mT).flatten(1))
    exact = correlation(sample_normal_scores(40_000, 2, 4, seed=5, device="cpu"))
    assert exact > 0.05
    assert exact == pytest.approx(drawn, abs=0.05)
