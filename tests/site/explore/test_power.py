"""One power keeps the start and a step of gradient descent, another a step of Adam."""

import math

import numpy as np
import pytest
import torch

from sdpa_book.studies import optimiser_steps as steps

from .conftest import act, go, numbers, said, slider, state

STEP = {name: steps.OPTIMISERS[name].step for name in ("SGD", "Adam")}
LAYERS = ("SGD", "Adam", "start")
"""The order in which lines are drawn."""


def factors(figure):
    """By line how many times as large it ends, which stands below its name."""
    texts = figure.locator("[data-panel=lines] .curves text tspan:last-child").all_text_contents()
    sizes = [1 / numbers(text)[-1] if "1/" in text else numbers(text)[0] for text in texts]
    return dict(zip(list(LAYERS)[: len(sizes)], sizes, strict=True))


@pytest.mark.parametrize("query", ["random", "zero"])
def test_sizes_are_those_of_the_theorem(explorable, query):
    figure = explorable("power")
    for p in (0, 0.25, 0.5, 0.7, 1):
        go(figure, f"p={p},query={query}")
        expected = {name: 256 ** exponent(p) for name, exponent in STEP.items()}
        if query == "random":
            expected["start"] = 256 ** (0.5 - p)
        assert factors(figure) == pytest.approx(expected, rel=0.06)


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
            measured += (means / means[0]).tolist()
            stored = lines[name]["measured"][f"{p:g}"]
            assert stored == pytest.approx(measured[-len(means) :], rel=5e-4)
        assert np.corrcoef(heights, np.log(measured))[0, 1] == pytest.approx(-1, abs=1e-6)
    go(figure, "p=1,query=zero")
    assert points.count() == 0, "these started at random"


def test_guesses_are_compared_once_the_line_has_come_to_where_one_is_flat(explorable):
    figure = explorable("power", "guess_SGD=0.75,guess_Adam=1")
    bars, line = figure.locator("[data-panel=p] .found"), slider(figure, "where the line stands")
    assert bars.count() == 0
    go(figure, "p=0.6,guess_SGD=0.75,guess_Adam=1")
    assert bars.count() == 2, "what was passed over counts"
    assert 0.75 in numbers(said(figure))
    act(figure, line.press, "End")
    assert bars.count() == 3
    assert "as you said" in said(figure)
    flat = [name for name, size in factors(figure).items() if math.isclose(size, 1)]
    assert flat == ["Adam"]
    act(figure, figure.get_by_role("button", name="Reset").click)
    assert bars.count() == 0
    assert state(figure)["guess_SGD"] == "-0.1"
