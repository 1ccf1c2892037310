"""Below the border more and more keys share the weight; above it a few do, however many come."""

import math

import pytest
import torch

import sdpa_lib as sdpa

from .conftest import go, numbers, said

PLACES = [(32, 1), (512, 2), (8192, 8), (131072, 0.5)]
SIDES = ("below", "crossover", "above")


def found_keys(n, sigma):
    """Effective keys of normal rows, in the geometric mean, and three errors of their logarithm."""
    scores = sigma * sdpa.sample(64, n, seed=2, device="cpu")
    found = sdpa.effective_keys(scores.softmax(-1)).log()
    return found.mean().item(), 3 * found.std().item() / math.sqrt(32) + 0.06


def test_as_many_keys_share_the_weight_as_the_library_finds(explorable):
    figure = explorable("phases")
    for n, sigma in PLACES:
        go(figure, f"n={n},sigma={sigma}")
        keys, of, times, then = numbers(said(figure))
        assert (of, times) == (n, 16)
        other = n * 16 if n * 16 <= 131072 else n // 16
        for m, shown in ((n, keys), (other, then)):
            mean, error = found_keys(m, sigma)
            assert math.log(shown) == pytest.approx(mean, abs=error)
        critical = math.sqrt(2 * math.log(n))
        side = SIDES[(sigma > critical / 2) + (sigma > critical)]
        assert [name for name in SIDES if name in said(figure).lower()] == [side]


def test_each_divisor_leaves_the_spread_that_the_library_gives(explorable):
    figure = explorable("phases")
    keys = torch.ones(512, 64, dtype=torch.float64)  # each of length √d_k
    lines = figure.locator("line[data-rescaling]").evaluate_all(
        "lines => lines.map(line => [line.dataset.rescaling, Number(line.dataset.sigma)])"
    )
    assert [name for name, _ in lines][:2] == ["none", "sqrt_d_k"]
    for name, sigma in lines:
        assert sigma == pytest.approx(8 / sdpa.RESCALINGS[name](keys).item())
