"""In a wide head, undivided, hardly a key's weight responds to its score; divided, all do."""

import pytest
import torch

from sdpa_book.explorables.saturation import gains, pattern

from ..conftest import described, go, numbers, sentence

SIDES = ("none", "sqrt_d_k")
WIDTHS = (4, 64, 144, 256)


def side(d_k, divisor):
    """Scores, weights, and what each key gains when its score alone is raised."""
    scores = pattern() * (d_k**0.5 if divisor == "none" else 1)
    return scores, scores.softmax(-1), gains(scores)


@pytest.mark.parametrize("d_k", WIDTHS)
def test_scores_weights_and_gains_are_those_of_softmax(explorable, d_k):
    drawn = described(explorable("saturation", f"d_k={d_k}"), "keys").split(". ")
    for text, divisor in zip(drawn, SIDES, strict=True):
        scores, weights, gains = side(d_k, divisor)
        read = numbers(text.split(": ")[1])
        assert read[:8] == pytest.approx(scores.tolist(), abs=0.051)
        assert read[8:16] == pytest.approx(weights.tolist(), abs=0.00051)
        assert read[16:] == pytest.approx(gains.tolist(), abs=0.00051)


@pytest.mark.parametrize("d_k", WIDTHS)
def test_bars_are_as_long_as_weights_and_what_these_would_gain(explorable, d_k):
    figure = explorable("saturation", f"d_k={d_k}")
    widths = "rects => rects.map(rect => Number(rect.getAttribute('width')))"
    for divisor in SIDES:
        full, *drawn = (
            torch.tensor(figure.locator(f".{name}-{divisor} rect").evaluate_all(widths))
            for name in ("all", "weight", "gain")
        )
        for bars, values in zip(drawn, side(d_k, divisor)[1:], strict=True):
            assert (bars / full).tolist() == pytest.approx(values.tolist(), abs=1e-4)


@pytest.mark.parametrize("d_k", WIDTHS)
def test_scores_and_gains_stand_over_their_bars_and_those_that_count_are_strong(explorable, d_k):
    figure = explorable("saturation", f"d_k={d_k}")
    for divisor in SIDES:
        words = figure.locator(f".words-{divisor} text")
        labels = [x.replace("< ", "") for x in words.all_text_contents()[3:]]
        scores, _, gains = (x.tolist() for x in side(d_k, divisor))
        assert [numbers(x)[0] for x in labels[::2]] == pytest.approx(scores, abs=0.051)
        labelled = [gain if gain >= 0.005 else 0.01 for gain in gains]
        assert [numbers(x)[0] for x in labels[1::2]] == pytest.approx(labelled, abs=0.0051)
        strong = words.evaluate_all("all => all.map((one) => one.style.fontWeight === '700')")
        assert strong[4::2] == [gain >= 0.05 for gain in gains]


def test_numbers_of_a_side_stand_apart_on_the_narrowest_phone(begin):
    figure, _ = begin("saturation", "d_k=256", width=360)
    for divisor in SIDES:
        words = figure.locator(f".words-{divisor} text")
        score, gain = (words.nth(i).bounding_box() for i in (-2, -1))
        assert score["x"] + score["width"] < gain["x"]
    heading = words.first.bounding_box()
    whole = figure.locator("[data-panel=keys]").bounding_box()
    assert heading["x"] + heading["width"] <= whole["x"] + whole["width"]


def test_the_sentence_counts_the_keys_that_can_gain(explorable):
    figure = explorable("saturation")
    for d_k in WIDTHS:
        go(figure, f"d_k={d_k}")
        undivided, divided = ((side(d_k, x)[2] >= 0.05).sum().item() for x in SIDES)
        gaining = f"{undivided} of 8 keys" if undivided else "no key"
        still = "still " if d_k > 4 else ""
        first = side(d_k, "none")[1][0]
        expected = (
            f"Undivided, key 1 has {first:.2f} of the weight, and {gaining} would gain 0.05 "
            f"or more; divided, {still}{divided} of 8."
        )
        assert sentence(figure) == expected
