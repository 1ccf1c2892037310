"""Undivided, one key of a wide head has the weight and nothing moves it; divided, all move."""

import pytest

from sdpa_book.explorables.saturation_explorable import NUDGE, pattern

from .conftest import act, described, go, numbers, said, slider, state


def side(d_k, divisor, key):
    """Scores, and weights before and after that key's score alone is raised."""
    scores = pattern() * (d_k**0.5 if divisor == "none" else 1)
    raised = scores.clone()
    if key:
        raised[key - 1] += NUDGE
    return scores, scores.softmax(-1), raised.softmax(-1)


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


def test_outlines_show_what_the_other_keys_lose(explorable):
    figure = explorable("saturation", "d_k=64,key=2")
    widths = "rects => rects.map(rect => Number(rect.getAttribute('width')))"
    for divisor in ("none", "sqrt_d_k"):
        outlined, full = (
            figure.locator(f".{name}-{divisor} rect").evaluate_all(widths)
            for name in ("lost", "all")
        )
        before = side(64, divisor, 2)[1].tolist()
        drawn = [width / whole for width, whole in zip(outlined, full, strict=True)]
        assert drawn == pytest.approx(before, abs=1e-4)


def test_both_sides_say_what_paler_and_outlined_bars_mean_and_use_the_width(explorable):
    figure = explorable("saturation", "d_k=4,key=3")
    panel = figure.locator("[data-panel=keys]")
    whole = panel.bounding_box()["width"]
    for divisor in ("none", "sqrt_d_k"):
        words = panel.locator(f".words-{divisor} text")
        for meant, bar, line in (("gained", "gain", 2), ("lost", "lost", 0)):
            beside = words.get_by_text(meant).bounding_box()
            drawn = panel.locator(f".{bar}-{divisor} rect").nth(line).bounding_box()
            assert 0 < beside["x"] - drawn["x"] - drawn["width"] < 9
            assert beside["y"] < drawn["y"] + drawn["height"] / 2 < beside["y"] + beside["height"]
        box = panel.locator(f".all-{divisor} rect").first.bounding_box()
        assert box["width"] > 0.4 * whole
    go(figure, "d_k=64,key=4")
    told = [panel.locator(f".words-{divisor}") for divisor in ("none", "sqrt_d_k")]
    assert [words.get_by_text("gained").count() for words in told] == [0, 1]
    assert [words.get_by_text("lost").count() for words in told] == [0, 1]


def test_a_line_under_the_mouse_is_outlined_and_its_bars_keep_their_colour(explorable):
    figure = explorable("saturation")
    line = figure.get_by_role("radio", name="key 5")
    style = "line => (({fill, stroke}) => [fill, stroke])(getComputedStyle(line.firstChild))"
    fill, stroke = line.evaluate(style)
    line.hover()
    outlined = line.evaluate(style)
    assert outlined[0] == fill
    assert outlined[1] != stroke


def test_the_pressed_key_and_the_leader_have_their_numbers(explorable):
    figure = explorable("saturation")
    for d_k, key in ((64, 1), (16, 3), (256, 8), (64, 0)):
        go(figure, f"d_k={d_k},key={key}")
        for divisor in ("none", "sqrt_d_k"):
            told = figure.locator(f".words-{divisor} text").all_text_contents()[1:]
            scores, *weights = side(d_k, divisor, key)
            shown = [
                f"{z:.1f}".replace("-", "−") for z in (scores + 0.0).round(decimals=1).tolist()
            ]
            before, after = [
                ["<0.01" if w < 0.005 else f"{w:.2f}" for w in p.tolist()] for p in weights
            ]
            expected = []
            if key != 1:
                expected += [f"score {shown[0]}", f"weight {after[0]}"]
            if key:
                moves = [before[key - 1], after[key - 1]]
                still = f"still {moves[0]}" if moves[0] == moves[1] else " → ".join(moves)
                expected += [f"{shown[key - 1]} + 1", still]
            assert [text for text in told if text not in ("gained", "lost")] == expected


def test_numbers_of_a_line_stand_apart_on_the_narrowest_phone(begin):
    figure, _ = begin("saturation", "d_k=256,key=8", width=360)
    for divisor in ("none", "sqrt_d_k"):
        score, weight = (
            figure.locator(f".words-{divisor} text").filter(has_text=text).last.bounding_box()
            for text in ("+ 1", "0.")
        )
        assert score["x"] + score["width"] < weight["x"]


@pytest.mark.parametrize(
    ("d_k", "key", "verdict"),
    [
        (64, 3, "No: undivided"),
        (64, 1, "Hardly: undivided, the weight of key 1 rises only"),
        (64, 2, "Yes: undivided, the weight of key 2, close to the leader, rises"),
        (16, 2, "Yes: undivided, the weight of key 2 rises"),
        (4, 8, "A narrow head’s do: undivided, the weight of key 8 rises from"),
    ],
)
def test_the_sentence_says_from_where_the_weight_rises_and_how_far(explorable, d_k, key, verdict):
    sentence = said(explorable("saturation", f"d_k={d_k},key={key}"))
    assert sentence.startswith(verdict)
    *_, undivided, risen, was, now = numbers(sentence)
    found = side(d_k, "sqrt_d_k", key)[1:]
    assert [was, now] == pytest.approx([p[key - 1].item() for p in found], abs=0.0051)
    found = [p[key - 1].item() for p in side(d_k, "none", key)[1:]]
    if "No" in verdict:
        assert max(found) < 0.005
    else:
        assert [undivided, risen] == pytest.approx(found, abs=0.0051)


def test_a_press_or_an_arrow_raises_another_key_and_the_same_press_none(explorable):
    figure = explorable("saturation")
    act(figure, figure.get_by_role("radio", name="key 3").click)
    act(figure, figure.get_by_role("radio", name="key 3", checked=True).click)
    assert figure.get_by_role("radio", checked=True).count() == 0
    assert numbers(said(figure)) == pytest.approx([0.90, 0.29])
    act(figure, figure.get_by_role("radio", name="key 6").click)
    act(figure, figure.page.keyboard.press, "ArrowDown")
    assert state(figure)["key"] == "7"
    assert figure.get_by_role("radio", checked=True).count() == 1
    assert "key 7 stays" in said(figure)
    act(figure, slider(figure, "width").press, "ArrowLeft")
    assert state(figure) == {"d_k": "16", "key": "7"}
