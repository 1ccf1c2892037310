"""Draws: moments as stated, seeds, dtypes and devices."""

import math

import pytest
import torch

from sdpa_lib.device import get_device
from sdpa_lib.moments import measure_moments
from sdpa_lib.sampling import (
    DISTRIBUTIONS,
    get_distribution,
    make_generator,
    sample,
    sample_qkv,
    student_t,
)

N = 400_000


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_moments_are_as_stated(name):
    distribution = get_distribution(name)
    measured = measure_moments(sample(N, seed=5, distribution=distribution))
    error = measured.standard_error
    assert abs(measured.mean) < 4 * error.mean
    assert abs(measured.variance - 1) < 4 * error.variance + 1e-5
    assert abs(measured.skewness) < 4 * error.skewness
    kurtosis = measured.excess_kurtosis - distribution.excess_kurtosis
    assert abs(kurtosis) < 5 * error.excess_kurtosis + 1e-4


def test_shifted_and_scaled_state_what_they_draw():
    distribution = get_distribution("uniform").shifted(2.0).scaled(3.0)
    stated = distribution.mean, distribution.variance, distribution.excess_kurtosis
    assert stated == (2.0, 9.0, -1.2)
    x = sample(N, seed=1, distribution=distribution)
    assert x.mean().item() == pytest.approx(2.0, abs=0.02)
    assert x.var().item() == pytest.approx(9.0, abs=0.05)
    assert x.min().item() >= 2.0 - 3.0 * math.sqrt(3)


def test_heavy_tails_state_an_infinite_kurtosis():
    assert student_t(4.0).excess_kurtosis == math.inf
    assert student_t(5.0).excess_kurtosis == 6.0


@pytest.mark.parametrize("df", [1e4, 1e12, 1e300])
def test_student_t_of_many_degrees_is_a_normal_distribution(df):
    """By the polar method the squared radius is then -2 ln u, as in Box and Muller's; the next term
    is (ln u)^2 2/df.
    """
    drawn = student_t(df).draw((1000,), make_generator(0)).double()
    generator = make_generator(0)
    u, turn = (torch.rand(1000, generator=generator).double() for _ in range(2))
    expected = torch.sqrt(-2 * torch.log(1 - u)) * torch.cos(2 * math.pi * turn)
    torch.testing.assert_close(drawn, expected, rtol=20 / df + 1e-7, atol=1e-7)


def test_same_seed_same_numbers_in_every_dtype():
    wide = sample(100, seed=7, dtype=torch.float64)
    assert torch.equal(wide, sample(100, seed=7, dtype=torch.float64))
    assert torch.equal(wide.float(), sample(100, seed=7, dtype=torch.float32))
    assert torch.equal(wide.bfloat16(), sample(100, seed=7, dtype=torch.bfloat16))
    assert not torch.equal(wide, sample(100, seed=8, dtype=torch.float64))


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_torchs_default_device_changes_no_draw(distribution):
    drawn = sample(100, seed=0, distribution=distribution, device="cpu")
    with torch.device("meta"):
        again = sample(100, seed=0, distribution=distribution, device="cpu")
        torch.testing.assert_close(again, drawn, rtol=0, atol=0)


def test_streams_are_independent():
    first, second = sample(N, seed=3, stream=0), sample(N, seed=3, stream=1)
    assert abs((first * second).mean().item()) < 4 / math.sqrt(N)


def test_more_queries_leave_keys_and_values_alone():
    _, k, v = sample_qkv(3, 4, 5, 6, seed=0)
    q, more_k, more_v = sample_qkv(30, 4, 5, 6, seed=0)
    assert q.shape == (30, 5)
    assert v.shape == (4, 6)
    assert torch.equal(k, more_k)
    assert torch.equal(v, more_v)
    assert len({x[0, 0].item() for x in (q, k, v)}) == 3  # from streams of their own


@pytest.mark.skipif(get_device().type == "cpu", reason="needs a second device")
def test_same_numbers_on_the_accelerator():
    assert torch.equal(
        sample(100, seed=0, dtype=torch.float32).cpu(),
        sample(100, seed=0, device="cpu", dtype=torch.float32),
    )
