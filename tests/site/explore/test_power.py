"""One power keeps the start and a step of gradient descent, another a step of Adam."""

import numpy as np
import pytest
import torch

from sdpa_book.studies import optimiser_steps as steps

from .conftest import act, described, go, numbers, said, slider

STEP = {name: steps.OPTIMISERS[name].step for name in ("SGD", "Adam")}


@pytest.mark.parametrize("query", ["random", "zero"])
def test_sizes_are_those_of_the_theorem(explorable, query):
    figure = explorable("power")
    for p in (0, 0.25, 0.5, 0.7, 1):
        go(figure, f"p={p},query={query}")
        expected = [256 ** exponent(p) for exponent in STEP.values()]
        if query == "random":
            expected.append(256 ** (0.5 - p))
        shown = numbers(described(figure, "lines"))[2:]
        assert shown == pytest.approx(expected, rel=0.06)
        kept = said(figure).partition(" keeps ")[2].partition(", ")[0]
        told = [name in kept for name in ("descent", "Adam", "first scores")]
        assert told[: len(expected)] == [size == 1 for size in expected]


def test_points_are_the_measurements(explorable, data):
    figure = explorable("power")
    points = figure.locator("[data-panel=lines] path.measured")
    first, lines = steps.load_steps()["first steps"], data["power"]["lines"]
    kinds = {"SGD": ("SGD", "one step"), "Adam": ("Adam", "one step"), "start": ("SGD", "start")}
    for p in steps.FIRST_POWERS:
        go(figure, f"p={p:g}")
        heights = points.evaluate_all("all => all.map(one => one.transform.baseVal[0].matrix.f)")
        measured = []
        for name, (optimiser, kind) in kinds.items():
            means = torch.tensor(first[optimiser][f"{p:g}"][kind]).mean(0)
            over = (means / means[0]).tolist()
            measured += over[1:]
            assert lines[name]["measured"][f"{p:g}"] == pytest.approx(over, rel=5e-4)
        assert np.corrcoef(heights, np.log(measured))[0, 1] == pytest.approx(-1, abs=1e-6)
    go(figure, "p=1,query=zero")
    assert points.count() == 0, "these started at random"


def test_a_move_of_p_turns_lines_level_and_offers_the_start_at_0(explorable):
    figure = explorable("power")
    box = figure.get_by_role("checkbox")
    for _ in range(5):
        assert "is too small" in said(figure)
        act(figure, slider(figure, "p").press, "ArrowRight")
    assert said(figure).startswith("p = ½ keeps first scores and gradient descent’s step, but")
    assert box.count() == 0
    act(figure, slider(figure, "p").press, "End")
    assert "no p keeps all three" in said(figure)
    assert figure.locator(".explorable-marks").text_content() == "0½: two level1: one level"
    act(figure, box.check)
    assert "0 at every width" in figure.locator("svg").text_content()
