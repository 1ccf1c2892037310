"""A wider head hears one word alone, and a divided one hears them all at any width."""

import pytest
import torch

from sdpa_book.explorables.start import REACH, WORDS, weights

from ..conftest import act, described, go, numbers, sentence, slider, state

WIDTHS = [4, 6, 8, 12, 16, 24, 32, 48, 64]


def shares(sentence):
    """What the sentence says in per cent, and more than 99 or less than 1 as 100 and 0."""
    parts = sentence.replace("more than 99", "100").replace("less than 1", "0").split("\u00a0%")
    return [numbers(before)[-1] for before in parts[:-1]]


@pytest.mark.parametrize("divisor", ["none", "sqrt_d_k"])
def test_the_weights_are_the_librarys_at_every_width(explorable, divisor):
    figure = explorable("start", f"divisor={divisor}")
    for d_k in WIDTHS:
        assert state(figure)["d_k"] == str(d_k)
        expected = torch.tensor(weights(d_k, divisor))
        columns = torch.tensor(numbers(described(figure, "words"))).view(-1, 2).T
        assert columns[0] == pytest.approx(expected, abs=0.0051)
        fits = torch.tensor(REACH) * (d_k**0.5 if divisor == "none" else 1)
        assert columns[1] == pytest.approx(fits, abs=0.051)
        cat, tired = (100 * expected[WORDS.index(word)].item() for word in ("cat", "tired"))
        others = 100 - cat - tired
        heard = [cat, tired, others]
        if others < 2:
            heard = [cat + tired, others] if tired >= 5 else [cat, 100 - cat]
        assert shares(sentence(figure)) == pytest.approx(heard, abs=0.51)
        assert sum(shares(sentence(figure))) == 100
        begins = "Yes, partly" if others >= 10 else "Hardly" if others >= 2 else "No"
        assert sentence(figure).startswith(f"{begins}: " if divisor == "none" else "Yes: ")
        if d_k < 64:
            act(figure, slider(figure, "numbers in each list").press, "ArrowRight")


def test_dividing_brings_the_sentence_back(explorable):
    figure = explorable("start", "d_k=64")
    outline = figure.locator(".before rect")
    assert sentence(figure).startswith("No: ")
    assert outline.count() == 0
    act(figure, figure.get_by_role("button", name="Divided by").click)
    assert sentence(figure).startswith("Yes: ")
    assert outline.count() == 1
    beside = figure.get_by_text("undivided", exact=True).bounding_box()
    drawn = outline.bounding_box()
    assert 0 < beside["x"] - drawn["x"] - drawn["width"] < 9


def test_bars_of_fits_are_to_one_scale(explorable):
    figure = explorable("start", "d_k=64")
    bars = figure.locator(".fits rect")
    high = "bars => bars.map(bar => Number(bar.getAttribute('height')))"
    scales = []
    for divisor, scale in (("none", 8), ("sqrt_d_k", 1)):
        go(figure, f"d_k=64,divisor={divisor}")
        drawn = zip(REACH, bars.evaluate_all(high), strict=True)
        scales += [height / abs(far * scale) for far, height in drawn]
    assert scales == pytest.approx([scales[0]] * 16, rel=1e-3)
