"""Below the border more and more keys share the weight; above it a few do, however many come."""

import math

import pytest

import sdpa_lib as sdpa

from .conftest import act, described, go, numbers, said, slider, state

PLACES = [(64, 1), (1024, 2), (8192, 8), (8192, 0.5)]


def gathered(n, sigma):
    """The mean weight of so many of the heaviest keys."""
    rows = max(256, 2**17 // n)
    scores = sigma * sdpa.sample(rows, n, seed=2, device="cpu")
    return scores.softmax(-1).sort(descending=True).values.cumsum(-1).mean(0)


def test_as_many_keys_have_half_of_the_weight_as_the_library_finds(explorable):
    figure = explorable("phases")
    for n, sigma in PLACES:
        go(figure, f"n={n},sigma={sigma}")
        *both, of = numbers(said(figure))
        assert (both[1], of) == (32, n)
        for keys, m in zip(both[::2], (32, n), strict=True):
            theirs = (gathered(m, sigma) < 0.5).sum().item() + 1
            assert keys == pytest.approx(theirs, rel=0.03, abs=1.01)


def test_the_curve_is_the_librarys(explorable):
    figure = explorable("phases")
    for n, sigma in PLACES:
        go(figure, f"n={n},sigma={sigma}")
        told = numbers(described(figure, "weight"))
        theirs = gathered(n, sigma)
        for keys, share in zip(told[::2], told[1::2], strict=True):
            assert share == pytest.approx(theirs[int(keys) - 1].item(), abs=0.07)
        assert told[-2:] == [n, 1]


def test_the_answer_turns_at_the_border(explorable):
    figure = explorable("phases")
    handle = slider(figure, "spread of the scores")
    while said(figure).startswith(("Below", "Just below")):
        act(figure, handle.press, "ArrowRight")
    assert said(figure).startswith("Above the border, no: half of the weight lies on 1 of 32 keys")
    critical = math.sqrt(2 * math.log(1024))
    assert critical <= float(state(figure)["sigma"]) < 2**0.25 * critical
    assert numbers(described(figure, "spread"))[-1] == pytest.approx(critical, abs=0.051)
