"""Undivided, one key of a wide head has the weight and nothing moves it; divided, all move."""

import pytest

from sdpa_book.explorables.saturation_explorable import NUDGE, pattern

from .conftest import act, described, go, numbers, said, slider, state


def side(d_k, divisor, key):
    """Scores, and weights before and after that key's score alone is raised."""
    scores = pattern() * (d_k**0.5 if divisor == "none" else 1)
    raised = scores.clone()
    raised[key - 1] += NUDGE
    return scores, scores.softmax(-1), raised.softmax(-1)


def gain(d_k, divisor, key):
    """What the raised key gains, in per cent of the weight."""
    _, before, after = side(d_k, divisor, key)
    return 100 * (after - before)[key - 1].item()


def test_scores_and_weights_before_and_after_are_those_of_softmax(explorable):
    figure = explorable("saturation")
    for d_k, key in ((4, 1), (16, 2), (64, 3), (256, 8)):
        go(figure, f"d_k={d_k},key={key}")
        drawn = described(figure, "keys").split(". ")[1:]
        for told, divisor in zip(drawn, ("none", "sqrt_d_k"), strict=True):
            scores, before, after = side(d_k, divisor, key)
            read = numbers(told)
            assert read[:8] == pytest.approx(scores.tolist(), abs=0.051)
            assert read[8:16] == pytest.approx(before.tolist(), abs=0.00051)
            assert read[16:] == pytest.approx(after.tolist(), abs=0.00051)


@pytest.mark.parametrize(
    ("d_k", "key", "verdict"),
    [(64, 3, "hardly"), (256, 1, "hardly"), (64, 1, "move less"), (4, 3, "move undivided, too")],
)
def test_the_sentence_says_how_much_weight_the_key_gains(explorable, d_k, key, verdict):
    sentence = said(explorable("saturation", f"d_k={d_k},key={key}"))
    assert verdict in sentence
    *_, undivided, divided = numbers(sentence)
    least = 0.1 if "less than 0.1" in sentence else 0
    assert undivided == pytest.approx(max(least, gain(d_k, "none", key)), rel=0.05)
    assert divided == pytest.approx(gain(d_k, "sqrt_d_k", key), rel=0.05)


def test_a_press_or_an_arrow_raises_another_key(explorable):
    figure = explorable("saturation")
    act(figure, figure.get_by_role("radio", name="key 6").click)
    act(figure, figure.page.keyboard.press, "ArrowDown")
    assert state(figure)["key"] == "7"
    assert figure.get_by_role("radio", checked=True).count() == 1
    assert "key 7 gains" in said(figure)
    act(figure, slider(figure, "width").press, "ArrowLeft")
    assert state(figure) == {"d_k": "16", "key": "7"}
