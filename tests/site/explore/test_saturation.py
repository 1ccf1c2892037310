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


def drawn(figure, divisor):
    """The three rows of that divisor, as they are described."""
    both = [part.rpartition(": ")[2] for part in described(figure, "rows").split(". ")[1:]]
    return [numbers(row.split("; divided ")[divisor != "none"]) for row in both]


def test_scores_weights_and_responses_are_those_of_softmax(explorable):
    figure = explorable("saturation", "d_k=4")
    for d_k in (4, 16, 64, 256):
        assert state(figure)["d_k"] == str(d_k)
        for divisor in ("none", "sqrt_d_k"):
            expected = rows(d_k, divisor)
            digits = (0.1, 0.01, 0.001)
            for row, values, digit in zip(drawn(figure, divisor), expected, digits, strict=True):
                assert row == pytest.approx(values.tolist(), abs=0.51 * digit)
        if d_k < 256:
            act(figure, slider(figure, "width").press, "ArrowRight")


def test_the_sentence_compares_with_the_divided_row(explorable):
    figure = explorable("saturation")
    both = [rows(64, divisor) for divisor in ("none", "sqrt_d_k")]
    seen = [sdpa.effective_keys(weights).item() for _, weights, _ in both]
    far = both[0][2].sum() / both[1][2].sum()
    told = numbers(said(figure))
    assert told[:3] == pytest.approx([seen[0], 8, seen[1]], abs=0.051)
    assert told[3] == pytest.approx(100 * far.item(), abs=0.5)
