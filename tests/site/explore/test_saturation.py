"""Undivided, one key of a wide head takes the weight and hardly responds; divided, all respond."""

import pytest
import torch

import sdpa_lib as sdpa
from sdpa_book.explorables.saturation_explorable import NUDGE, pattern

from .conftest import act, described, numbers, said, slider, state


def rows(d_k, divisor):
    """Scores, weights, and how far each weight moves when its own score alone is raised."""
    scores = pattern() * (d_k**0.5 if divisor == "none" else 1)
    weights = scores.softmax(-1)
    moved = (scores + NUDGE * torch.eye(8)).softmax(-1).diagonal() - weights
    return scores, weights, moved


def drawn(figure):
    """The three rows as they are described."""
    return [numbers(part.rpartition(": ")[2]) for part in described(figure, "rows").split(". ")[1:]]


@pytest.mark.parametrize("divisor", ["none", "sqrt_d_k"])
def test_scores_weights_and_responses_are_those_of_softmax(explorable, divisor):
    figure = explorable("saturation", f"d_k=4,divisor={divisor}")
    for d_k in (4, 16, 64, 256):
        assert state(figure)["d_k"] == str(d_k)
        expected = rows(d_k, divisor)
        for row, values, digit in zip(drawn(figure), expected, (0.1, 0.01, 0.001), strict=True):
            assert row == pytest.approx(values.tolist(), abs=0.51 * digit)
        assert numbers(said(figure).partition("sees")[2])[0] == pytest.approx(
            sdpa.effective_keys(expected[1]).item(), abs=0.051
        )
        if d_k < 256:
            act(figure, slider(figure, "width").press, "ArrowRight")


def test_the_sentence_and_the_outlines_compare_with_the_divided_row(explorable):
    figure = explorable("saturation")
    far = rows(64, "none")[2].sum() / rows(64, "sqrt_d_k")[2].sum()
    assert numbers(said(figure))[-1] == pytest.approx(100 * far.item(), abs=0.5)
    heights = """(figure, of) => [...figure.querySelectorAll(`.${of} rect`)].map(
        (bar) => Number(bar.getAttribute("height")))"""
    outlines = figure.evaluate(heights, "responses-others")
    act(figure, figure.get_by_role("button", name="Divided by").click)
    assert figure.evaluate(heights, "responses") == pytest.approx(outlines)
    assert "all weights move" in said(figure)
