"""The curve of softmax, and the share of random gaps that lie where it is flat."""

import math
import re

import numpy as np
import pytest
import torch

from sdpa_book.explorables.chosen import WIDTHS
from sdpa_book.explorables.curve import EDGE, data, flat_share
from sdpa_lib.sampling import sample

from ..conftest import act, described, go, numbers, sentence, slider, state

DIVISORS = {"none": lambda d: 1, "sqrt_d_k": math.sqrt, "d_k": float}


def gaps(d_k, count=200_000):
    """Differences of the dot products of a random query with two random keys."""
    q, k, other = (sample(count, d_k, seed=3, stream=s, device="cpu") for s in range(3))
    return (q * (k - other)).sum(-1)


def test_shares_are_those_of_random_gaps():
    for d_k in (4, 64, 256):
        drawn = gaps(d_k)
        for name, divisor in DIVISORS.items():
            share = ((drawn / divisor(d_k)).abs() > EDGE).double().mean().item()
            error = math.sqrt(share * (1 - share) / len(drawn)) + 1e-5
            assert flat_share(d_k, name) == pytest.approx(share, abs=3 * error)


def test_the_curve_is_flat_from_where_its_slope_is_a_tenth():
    edge = torch.tensor(EDGE, dtype=torch.float64, requires_grad=True)
    torch.sigmoid(edge).backward()
    assert edge.grad.item() == pytest.approx(0.1 / 4)
    assert data()["edge"] == pytest.approx(EDGE, rel=1e-3)


@pytest.mark.parametrize("gap", [-16, -3.5, 0, 2, 9.75])
def test_weight_and_slope_are_those_of_softmax(explorable, gap):
    figure = explorable("curve", f"gap={gap}")
    first = torch.tensor([gap, 0.0], dtype=torch.float64, requires_grad=True)
    weight = first.softmax(-1)[0]
    weight.backward()
    at, drawn, slope = numbers(described(figure, "curve"))[:3]
    assert at == gap
    assert drawn == pytest.approx(weight.item(), abs=5.1e-5)
    assert slope == pytest.approx(first.grad[0].item(), abs=5.1e-5)
    told = figure.locator("[data-panel=curve] .words").text_content()
    shown = f"weight {drawn:.2f}" if 0.005 < drawn < 0.995 else f"weight ≈ {drawn:.0f}"
    assert shown in told


def test_the_handle_goes_along_the_curve(explorable):
    figure = explorable("curve")
    handle = slider(figure, "gap between")
    for key, gap in (("ArrowRight", "2.25"), ("PageDown", "-0.25"), ("End", "16")):
        act(figure, handle.press, key)
        assert state(figure)["gap"] == gap
        assert numbers(handle.get_attribute("aria-valuetext"))[0] == float(gap)


@pytest.mark.parametrize("d_k", WIDTHS)
def test_the_sentence_says_the_shares(explorable, d_k):
    figure = explorable("curve", f"d_k={d_k}")
    none, root = (f"{100 * flat_share(d_k, name):.0f}" for name in ("none", "sqrt_d_k"))
    assert re.findall(r"(\d+)\s%", sentence(figure)) == [none, root]
    go(figure, f"d_k={d_k},divisor=sqrt_d_k")
    assert re.findall(r"(\d+)\s%", sentence(figure)) == [root, none]
    go(figure, f"d_k={d_k},divisor=d_k")
    assert "hardly any gap" in sentence(figure)
    assert flat_share(d_k, "d_k") < 0.005
    low, high = numbers(sentence(figure))[1:]
    weights = torch.sigmoid(gaps(d_k, 20_000) / d_k)
    inside = ((weights > low) & (weights < high)).double().mean()
    assert 0.6 < inside < 0.8, "most"


def bell(figure):
    """The chosen bell: places, and heights over its highest."""
    path = figure.locator("[data-panel=curve] path.bell").get_attribute("d")
    points = np.array(re.findall(r"[ML]([\d.]+),([\d.]+)", path), dtype=float)
    heights = points[0, 1] - points[1:-1, 1]
    return np.linspace(-16, 16, len(heights)), heights / heights.max()


def test_bells_are_those_of_random_gaps(explorable):
    """With four components q·k has the density (1 + |x|) e^(-|x|) / 4; with many it is normal."""
    figure = explorable("curve", "d_k=4")
    x, heights = bell(figure)
    scaled = np.abs(x) / math.sqrt(2)
    assert heights == pytest.approx((1 + scaled) * np.exp(-scaled), abs=0.03)
    for d_k, divisor in ((256, "none"), (256, "sqrt_d_k"), (64, "d_k")):
        go(figure, f"d_k={d_k},divisor={divisor}")
        x, heights = bell(figure)
        spread = math.sqrt(2 * d_k) / DIVISORS[divisor](d_k)
        assert heights == pytest.approx(np.exp(-((x / spread) ** 2) / 2), abs=0.02)
