"""In a wide head, undivided, hardly a key gains from 1 more on its score; divided, all do. With 1
more on the dot product no key gains much divided, and yet most gain more than undivided.
"""

import math
from itertools import pairwise

import pytest
import torch

from sdpa_book.explorables.saturation import gains, pattern

from ..conftest import described, go, numbers, sentence

SIDES = ("none", "sqrt_d_k")
STATES = [(d_k, to) for d_k in (4, 64, 256) for to in ("score", "product")]


def side(d_k, divisor, to):
    """Scores, weights, and what each key gains when 1 is added to it alone."""
    c = 1 if divisor == "none" else math.sqrt(d_k)
    scores = pattern() * math.sqrt(d_k) / c
    return scores, scores.softmax(-1), gains(scores, 1 if to == "score" else 1 / c)


def test_1_more_on_a_divided_dot_product_is_less_on_its_score():
    scores = torch.tensor([2.0, 1.0, 0.5], dtype=torch.float64)
    dot_products = 8 * scores
    raised = dot_products + torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64)
    more = (raised / 8).softmax(-1) - scores.softmax(-1)
    assert gains(scores, 1 / 8)[1].item() == pytest.approx(more[1].item())


@pytest.mark.parametrize(("d_k", "to"), STATES)
def test_scores_weights_and_gains_are_those_of_softmax(explorable, d_k, to):
    drawn = described(explorable("saturation", f"d_k={d_k},to={to}"), "keys").split(". ")
    for text, divisor in zip(drawn, SIDES, strict=True):
        scores, weights, gained = side(d_k, divisor, to)
        read = numbers(text.split(": ")[1])
        assert read[:8] == pytest.approx(scores.tolist(), abs=0.051)
        assert read[8:16] == pytest.approx(weights.tolist(), abs=0.00051)
        assert read[16:] == pytest.approx(gained.tolist(), abs=0.00051)


@pytest.mark.parametrize(("d_k", "to"), STATES)
def test_bars_are_as_high_as_gains_on_one_axis_for_all_widths(explorable, d_k, to):
    figure = explorable("saturation", f"d_k={d_k},to={to}")
    heights = "rects => rects.map(rect => Number(rect.getAttribute('height')))"
    drawn, expected = [], []
    for divisor in SIDES:
        drawn += figure.locator(f".gain-{divisor} rect").evaluate_all(heights)
        expected += side(d_k, divisor, to)[2].tolist()
    assert drawn == pytest.approx([x / 0.28 * (260 - 30 - 62) for x in expected], abs=1e-2)
    assert figure.locator(".words line").count() == 1  # the dashed one, at 0.05


def test_no_words_touch_on_the_narrowest_phone_and_all_can_be_read(begin):
    figure, _ = begin("saturation", "d_k=256", width=360)
    for divisor in SIDES:
        words = figure.locator(f".words-{divisor} text")
        ends = words.evaluate_all(  # without the rims around the letters
            "all => all.map((one) => one.getBBox()).map(({ x, width }) => [x, x + width])"
        )
        for (_, end), (begins, _) in pairwise(ends[1:]):
            assert end + 3 < begins
    sizes = figure.locator("svg text").evaluate_all(
        "all => all.map((one) => parseFloat(getComputedStyle(one).fontSize))"
    )
    assert min(sizes) >= 10
    names = [figure.locator(f".words-{x} text").first.bounding_box() for x in SIDES]
    assert names[0]["x"] + names[0]["width"] < names[1]["x"]


def test_the_sentence_counts_the_keys_that_gain(explorable):
    figure = explorable("saturation")
    for d_k, to in STATES:
        go(figure, f"d_k={d_k},to={to}")
        none, root = (side(d_k, x, to)[2] for x in SIDES)
        counts = [(x >= 0.05).sum().item() for x in (none, root)]
        undivided, divided = ({0: "none", 8: "all 8"}.get(count, count) for count in counts)
        more = {8: "all 8"}.get(count := (root > none).sum().item(), count)
        where = "score" if to == "score" else "dot product"
        assert sentence(figure) == (
            f"With 1 more on its {where}, {undivided} of 8 keys would gain 0.05 or more without "
            f"the division; divided by √{d_k}, {divided}. Divided, {more} gain more than without."
        )
