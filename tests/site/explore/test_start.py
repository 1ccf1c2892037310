"""A wider head hears one word alone, and a divided one hears them all at any width."""

import pytest
import torch

from sdpa_book.explorables.start_explorable import REACH, WORDS

from .conftest import act, described, numbers, said, slider, state


def heard(figure, d_k, divisor):
    """The weights that are drawn are those of the library."""
    scores = torch.tensor(REACH) * (d_k**0.5 if divisor == "none" else 1)
    assert numbers(described(figure, "words")) == pytest.approx(scores.softmax(0), abs=0.0051)
    return round(100 * scores.softmax(0)[WORDS.index("cat")].item())


@pytest.mark.parametrize("divisor", ["none", "sqrt_d_k"])
def test_the_weights_are_the_librarys_at_every_width(explorable, divisor):
    figure = explorable("start", f"divisor={divisor}")
    for d_k in (4, 16, 64, 256, 1024):
        assert state(figure)["d_k"] == str(d_k)
        share = heard(figure, d_k, divisor)
        assert share in numbers(said(figure))
        if d_k < 1024:
            act(figure, slider(figure, "numbers in each list").press, "ArrowRight")


def test_dividing_brings_the_sentence_back(explorable):
    figure = explorable("start", "d_k=1024")
    outlines = figure.locator(".before rect")
    assert "The other words are lost" in said(figure)
    assert outlines.count() == 0
    act(figure, figure.get_by_role("button", name="Divided by").click)
    assert "however long" in said(figure)
    assert outlines.count() == len(WORDS)
    assert "undivided: 1.00" in figure.locator(".notes").text_content()


def test_words_with_little_weight_are_almost_lost(explorable):
    assert "almost lost: none has 5" in said(explorable("start", "d_k=64"))
