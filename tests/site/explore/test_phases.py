"""Below the border more and more keys share the weight; above it a few do, however many come."""

import math

import pytest
import torch

import sdpa_lib as sdpa

from .conftest import described, go, numbers, said

PLACES = [(64, 1), (512, 2), (8192, 8), (131072, 0.5)]
SIDES = ("Far below", "Just below", "Above")


def found_keys(n, sigma):
    """Effective keys of normal rows, in the geometric mean, and three errors of their logarithm."""
    scores = sigma * sdpa.sample(64, n, seed=2, device="cpu")
    found = sdpa.effective_keys(scores.softmax(-1)).log()
    return found.mean().item(), 3 * found.std().item() / math.sqrt(32) + 0.06


def test_as_many_keys_share_the_weight_as_the_library_finds(explorable):
    figure = explorable("phases")
    for n, sigma in PLACES:
        go(figure, f"n={n},sigma={sigma}")
        longer, times, keys, of = numbers(said(figure))
        assert (of, longer) == (n, n / 32)
        (mean, error), (before, error_before) = found_keys(n, sigma), found_keys(32, sigma)
        assert math.log(keys) == pytest.approx(mean, abs=error)
        assert math.log(times) == pytest.approx(mean - before, abs=error + error_before)
        critical = math.sqrt(2 * math.log(n))
        side = SIDES[(sigma > critical / 2) + (sigma > critical)]
        assert [name for name in SIDES if said(figure).startswith(name)] == [side]


def test_each_divisor_leaves_the_spread_that_the_library_gives(explorable):
    figure = explorable("phases", "n=64")
    keys = torch.ones(512, 64, dtype=torch.float64)  # each of length √d_k
    lines = figure.locator("line[data-rescaling]").evaluate_all(
        "lines => lines.map(line => [line.dataset.rescaling, Number(line.dataset.sigma)])"
    )
    assert [name for name, _ in lines] == ["none", "sqrt_d_k"]
    for name, sigma in lines:
        assert sigma == pytest.approx(8 / sdpa.RESCALINGS[name](keys).item())


def test_the_row_is_sorted_and_its_weights_are_the_librarys(explorable, data):
    table = data["phases"]
    for n, sigma in PLACES[:3]:
        figure = explorable("phases", f"n={n},sigma={sigma}")
        scores = sigma * sdpa.sample(512, n, seed=3, device="cpu")
        mean = scores.softmax(-1).sort(descending=True).values.mean(0)[:32]
        stored = table["weights"][table["n"].index(n)][table["sigma"].index(sigma)]
        assert stored == pytest.approx(mean.tolist(), abs=0.05)
        assert numbers(described(figure, "row")) == pytest.approx(stored[:4], abs=0.0006)
