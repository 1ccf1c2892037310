"""A wider head hears one word alone, and a divided one hears them all at any width."""

import pytest
import torch

from sdpa_book.explorables.start_explorable import REACH, WORDS

from .conftest import act, described, numbers, said, slider, state


def heard(figure, d_k, divisor):
    """The weights and fits that are drawn are the library's; how many have 5 %, and cat's share."""
    scores = torch.tensor(REACH) * (d_k**0.5 if divisor == "none" else 1)
    weights = scores.softmax(0)
    told = torch.tensor(numbers(described(figure, "words"))).view(-1, 2).T
    assert told[0] == pytest.approx(weights, abs=0.0051)
    assert told[1] == pytest.approx(scores, abs=0.051)
    return (weights >= 0.05).sum().item(), min(99, round(100 * weights[WORDS.index("cat")].item()))


@pytest.mark.parametrize("divisor", ["none", "sqrt_d_k"])
def test_the_weights_are_the_librarys_at_every_width(explorable, divisor):
    figure = explorable("start", f"divisor={divisor}")
    for d_k in (4, 16, 64, 256, 1024):
        assert state(figure)["d_k"] == str(d_k)
        many, share = heard(figure, d_k, divisor)
        sentence = said(figure)
        if divisor == "none":
            assert share in numbers(sentence)
        assert ("no other word" if many == 1 else f"{many} of the 8 words") in sentence
        if d_k < 1024:
            act(figure, slider(figure, "numbers in each list").press, "ArrowRight")


def test_dividing_brings_the_sentence_back(explorable):
    figure = explorable("start", "d_k=1024")
    outlines = figure.locator(".before rect")
    assert said(figure).startswith("No: ")
    assert outlines.count() == 0
    act(figure, figure.get_by_role("button", name="Divided by").click)
    assert said(figure).startswith("Yes: ")
    assert outlines.count() == len(WORDS)
    assert "undivided: ≈ 1" in figure.locator(".notes").text_content()
