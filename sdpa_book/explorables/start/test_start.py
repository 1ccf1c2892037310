"""A wider head gives one word all of the weight, and a divided one the same weights at any width;
divided by d_k, the words' weights become alike.
"""

import pytest
import torch

import sdpa_lib as sdpa
from sdpa_book.explorables.chosen import WIDTHS
from sdpa_book.explorables.start import REACH, WORDS, weights

from ..conftest import act, described, go, numbers, sentence, slider, state


def length(d_k, divisor):
    """Of the query's arrow, divided."""
    return d_k**0.5 / {"none": 1, "sqrt_d_k": d_k**0.5, "d_k": d_k}[divisor]


def shares(sentence):
    """What the sentence says in per cent, and more than 99 or less than 1 as 100 and 0."""
    parts = sentence.replace("more than 99", "100").replace("less than 1", "0").split("\u00a0%")
    return [numbers(before)[-1] for before in parts[:-1]]


@pytest.mark.parametrize("divisor", ["none", "sqrt_d_k", "d_k"])
def test_the_weights_are_the_librarys_at_every_width(explorable, divisor):
    figure = explorable("start", f"d_k=4,divisor={divisor}")
    for d_k in WIDTHS:
        assert state(figure)["d_k"] == str(d_k)
        expected = torch.tensor(weights(d_k, divisor))
        columns = torch.tensor(numbers(described(figure, "words"))).view(-1, 2).T
        assert columns[0] == pytest.approx(expected, abs=0.0051)
        fits = torch.tensor(REACH) * length(d_k, divisor)
        assert columns[1] == pytest.approx(fits, abs=0.051)
        cat, tired, worst = (
            100 * expected[WORDS.index(word)].item() for word in ("cat", "tired", "for")
        )
        others = 100 - cat - tired
        named = [cat, tired, others]
        if divisor == "none" and others < 2:
            named = [cat + tired, others] if tired >= 5 else [cat, 100 - cat]
        if divisor == "d_k" and cat < 1.5 * worst:
            named = [cat, worst]
        *first, last = shares(sentence(figure))
        assert first == pytest.approx(named[:-1], abs=0.51)
        assert last == pytest.approx(named[-1], abs=1.01)
        if len(named) == 3:
            assert sum([*first, last]) == 100
        drawn = figure.locator(".notes").text_content()
        effective = sdpa.effective_keys(expected).item()
        assert f"as if {effective:.1f} of 8 words" in drawn
        assert f"a spread of {fits.std(correction=0).item():.1f}" in drawn
        if d_k < 256:
            act(figure, slider(figure, "width of the head").press, "ArrowRight")


@pytest.mark.parametrize(
    ("divisor", "instead", "name"),
    [
        ("none", "sqrt_d_k", "÷ √dk"),
        ("sqrt_d_k", "none", "undivided"),
        ("d_k", "none", "undivided"),
    ],
)
def test_what_the_chosen_divisor_is_compared_with_stands_in_grey(
    explorable, divisor, instead, name
):
    figure = explorable("start", f"d_k=16,divisor={divisor}")
    high = "bars => bars.map(bar => Number(bar.getAttribute('height')))"
    whole, own, other = (
        torch.tensor(figure.locator(f".{bars} rect").evaluate_all(high))
        for bars in ("all", "bars", "compared")
    )
    assert (own / whole).tolist() == pytest.approx(weights(16, divisor), abs=1e-4)
    assert (other / whole).tolist() == pytest.approx(weights(16, instead), abs=1e-4)
    beside = figure.locator(".notes").get_by_text(name, exact=True).bounding_box()
    drawn = figure.locator(".compared rect").nth(1).bounding_box()
    assert 0 < beside["x"] - drawn["x"] - drawn["width"] < 9


def test_bars_of_fits_are_to_one_scale(explorable):
    figure = explorable("start", "d_k=64")
    bars = figure.locator(".fits rect")
    high = "bars => bars.map(bar => Number(bar.getAttribute('height')))"
    scales = []
    for divisor in ("none", "sqrt_d_k", "d_k"):
        go(figure, f"d_k=64,divisor={divisor}")
        drawn = zip(REACH, bars.evaluate_all(high), strict=True)
        scales += [height / abs(far * length(64, divisor)) for far, height in drawn]
    assert scales == pytest.approx([scales[0]] * 24, rel=1e-3)
