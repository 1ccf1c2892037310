"""Below the border more and more keys share the weight; above it a few do, however many come."""

import math

import pytest

import sdpa_lib as sdpa

from .conftest import act, described, go, numbers, said, slider, state

PLACES = [(64, 1), (1024, 2), (8192, 8), (8192, 0.5), (8192, 1.091)]  # the last is not stored


def gathered(n, sigma):
    """The mean weight of so many of the heaviest keys."""
    rows = max(256, 2**17 // n)
    scores = sigma * sdpa.sample(rows, n, seed=2, device="cpu")
    return scores.softmax(-1).sort(descending=True).values.cumsum(-1).mean(0)


def test_as_many_keys_have_half_of_the_weight_as_the_library_finds(explorable):
    figure = explorable("phases")
    for n, sigma in PLACES:
        go(figure, f"n={n},sigma={sigma}")
        told = numbers(said(figure))
        for m, shares in ((m, gathered(m, sigma)) for m in (32, n)):
            theirs = (shares < 0.5).sum().item() + 1
            if theirs == 1:  # how much it has
                of, percent = told.pop(0), told.pop(0)
                assert percent / 100 == pytest.approx(shares[0].item(), abs=0.06)
            else:
                keys, of = told.pop(0), told.pop(0)
                assert keys == pytest.approx(theirs, rel=0.03, abs=1.01)
            assert of == m


def test_the_curve_is_the_librarys(explorable):
    figure = explorable("phases")
    for n, sigma in PLACES:
        go(figure, f"n={n},sigma={sigma}")
        told = numbers(described(figure, "weight"))
        theirs = gathered(n, sigma)
        for keys, share in zip(told[::2], told[1::2], strict=True):
            assert share == pytest.approx(theirs[int(keys) - 1].item(), abs=0.07)
        assert told[-2:] == [n, 1]


def test_the_answer_turns_at_the_border_and_that_moves_with_the_keys(explorable):
    figure = explorable("phases")
    handle = slider(figure, "spread of the scores")
    borders = [math.sqrt(2 * math.log(n)) for n in (32, 1024)]
    for sigma, start in (
        (1, "Below the border, yes"),
        (borders[0] * 1.05, "Above the border for 32, below that for 1,024"),
        (borders[1], "At the border"),
        (borders[1] * 1.1, "Above the border, no: one of 32 keys has"),
    ):
        while float(state(figure)["sigma"]) < sigma:
            act(figure, handle.press, "ArrowRight")
        assert said(figure).startswith(start)
    assert float(state(figure)["sigma"]) < 2 ** (1 / 32) * sigma
    told = numbers(described(figure, "spread"))
    assert [told[-3], told[-1]] == pytest.approx(borders, abs=0.051)
