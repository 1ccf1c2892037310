"""One power keeps first scores and a step of gradient descent, another a step of Adam."""

import numpy as np
import pytest
import torch

from sdpa_book.studies import optimiser_steps as steps

from ..conftest import act, described, go, numbers, sentence, slider

STEP = {name: steps.OPTIMISERS[name].step for name in ("Adam", "SGD")}


def test_sizes_are_those_of_the_theorem(explorable):
    figure = explorable("power")
    texts = figure.locator("[data-panel=lines] text.rim")
    for p in (0, 0.25, 0.5, 0.7, 1):
        go(figure, f"p={p}")
        expected = [256 ** STEP["Adam"](p), 256 ** (0.5 - p), 256 ** STEP["SGD"](p)]
        sizes = numbers(described(figure, "lines"))[2:]
        assert sizes == pytest.approx(expected, rel=0.06)
        labels = texts.all_text_contents()
        assert len(labels) == len({*expected})
        assert sum("level" in label for label in labels) == (1 in expected)


def test_dots_are_the_measurements(explorable, data):
    figure = explorable("power")
    dots = figure.locator("[data-panel=lines] circle.measured")
    first, lines = steps.load_steps()["first steps"], data["power"]["lines"]
    kinds = {"Adam": ("Adam", "one step"), "start": ("SGD", "start"), "SGD": ("SGD", "one step")}
    for p in steps.FIRST_POWERS:
        go(figure, f"p={p:g}")
        heights = dots.evaluate_all("all => all.map(one => one.cy.baseVal.value)")
        for i, (name, (optimiser, kind)) in enumerate(kinds.items()):
            means = torch.tensor(first[optimiser][f"{p:g}"][kind]).mean(0)
            measured = lines[name]["measured"][f"{p:g}"]
            assert measured == pytest.approx((means / means[0]).tolist(), rel=5e-4)
            drawn = heights[4 * i : 4 * i + 4]
            assert np.corrcoef(drawn, np.log(measured[1:]))[0, 1] == pytest.approx(-1, abs=1e-6)


def test_a_move_of_p_turns_lines_level_but_never_all_three(explorable):
    figure = explorable("power")
    assert sentence(figure).startswith("At p = ¼ all three grow")
    act(figure, slider(figure, "p").press, "Home")
    assert sentence(figure).startswith("Undivided, all three grow: steps move the scores 256 times")
    for p in range(1, 10):
        act(figure, slider(figure, "p").press, "ArrowRight")
        times = numbers(sentence(figure).partition(": ")[2])
        assert "all three grow" in sentence(figure)
        assert times == pytest.approx([256 ** STEP["Adam"](p / 20)], rel=0.06)
    act(figure, slider(figure, "p").press, "ArrowRight")
    assert "first scores and gradient descent’s step are level" in sentence(figure)
    assert numbers(sentence(figure).partition("; ")[2]) == [16]
    act(figure, slider(figure, "p").press, "ArrowRight")
    assert "Adam’s step is still 12 times as large; first scores" in sentence(figure)
    act(figure, slider(figure, "p").press, "End")
    assert "Adam’s step is level; first scores and gradient" in sentence(figure)
    assert "No p keeps all three" in sentence(figure)
