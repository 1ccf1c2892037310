"""What a small divisor makes of the gradients at queries."""

import math

import pytest
import torch

import sdpa_lib as sdpa
from sdpa_book.calculations.query_gradients import (
    at_weights,
    gap_density,
    median_gap,
    related,
    small_divisor_limits,
)
from sdpa_lib.sampling import sample


@pytest.mark.parametrize("n", [3, 32])
def test_gaps_are_distributed_as_drawn_ones_are(n):
    best = sample(200_000, n, seed=1, dtype=torch.float64).topk(2).values
    gap = best[:, 0] - best[:, 1]
    assert gap.median().item() == pytest.approx(median_gap(n), rel=0.01)
    for low in (0.0, 0.4):
        share = ((gap > low) & (gap < low + 0.1)).double().mean().item()
        middle = gap_density(n, low + 0.05)
        assert share / 0.1 == pytest.approx(middle, rel=0.03)


def test_the_two_largest_of_two_have_a_half_normal_gap():
    # The difference of two normal numbers has variance 2, and its size twice the density.
    assert gap_density(2) == pytest.approx(1 / math.sqrt(math.pi), rel=1e-6)
    assert median_gap(2) == pytest.approx(0.6744898 * math.sqrt(2), rel=1e-6)


def test_drawn_gradients_come_to_the_limits():
    r = 1 / 128
    x = sdpa.saturation.sample_gradients(2**17, 8, 2**14, 1.0, d_v=4, seed=3)
    mean, rms, _ = small_divisor_limits(gap_density(8), r, d_v=4)
    assert x.mean().item() == pytest.approx(mean, rel=0.08)
    assert x.square().mean().sqrt().item() == pytest.approx(rms, rel=0.08)


def test_the_weight_off_the_favourite_comes_to_its_limit():
    _, _, off = small_divisor_limits(gap_density(8), 1 / 64)
    scores = 64 * sample(2**17, 8, seed=4, dtype=torch.float64)
    weight_off = 1 - torch.softmax(scores, -1).amax(-1).mean().item()
    assert weight_off == pytest.approx(off, rel=0.05)


def test_related_vectors_have_the_correlation():
    x = related(400, 3, 500, 0.7, 0)
    assert x.square().mean().item() == pytest.approx(1, abs=0.02)
    assert (x[:, 0] * x[:, 1]).mean().item() == pytest.approx(0.7, abs=0.02)


def test_the_squares_predict_unrelated_layers_and_not_alike_ones():
    size = {"layers": 6, "d_model": 64, "n": 16}
    apart = at_weights("sqrt_d_k", 16, **size)
    assert abs(apart.over.value - 1) < 4 * apart.over.error + 0.01
    assert apart.over.value == pytest.approx(apart.W_Q.value / apart.predicted.value, rel=0.05)
    alike = at_weights("sqrt_d_k", 16, rho=0.9, gamma=1.0, **size)
    assert alike.over.value > 2
