import math

import pytest
import torch

from sdpa_lib.book.training import steps

from .conftest import check_labels, state, wait_for_state

STEP = {name: steps.OPTIMISERS[name].step for name in ("SGD", "Adam")}


def factors(figure):
    """By line the number at its end."""
    rows = figure.locator("[data-panel=lines] .curves text").evaluate_all(
        "texts => texts.map(text => [...text.children].map(part => part.textContent))"
    )
    short = {"start": "start", "gradient descent": "SGD", "Adam": "Adam"}
    return {short[name]: float(times.removeprefix("×")) for name, times in rows}


def ends(figure):
    """By line the heights at which it begins and ends."""
    return dict(
        figure.locator("[data-panel=lines] path.curve").evaluate_all(
            "paths => paths.map(path => [path.dataset.line, [0, path.getTotalLength()]"
            ".map(at => path.getPointAtLength(at).y)])"
        )
    )


@pytest.mark.parametrize("p", [0, 0.25, 0.5, 0.7, 1])
def test_sizes_are_those_of_the_theorem(explorable, p):
    _, figure = explorable("power", f"p={p}")
    start = math.sqrt(4096) / 4096**p / (math.sqrt(16) / 16**p)
    expected = {"start": start} | {name: 256 ** exponent(p) for name, exponent in STEP.items()}
    assert factors(figure) == pytest.approx(expected, rel=5.1e-3)  # three digits


@pytest.mark.parametrize(("p", "flat"), [(0, []), (0.5, ["SGD", "start"]), (1, ["Adam"])])
def test_the_flat_lines_are_named(explorable, p, flat):
    _, figure = explorable("power", f"p={p}")
    level = [name for name, (begin, end) in ends(figure).items() if abs(begin - end) < 0.01]
    assert sorted(level) == flat
    said = figure.locator(".explorable-formula").inner_text()
    assert said.startswith("Which p keeps") == (not flat)
    assert ("Flat: Adam’s step at p = 1." in said) == (flat == ["Adam"])


def test_the_points_are_the_measurements(explorable, data):
    first = steps.load_steps()["first steps"]
    kinds = {"start": ("SGD", "start"), "SGD": ("SGD", "one step"), "Adam": ("Adam", "one step")}
    for name, (optimiser, kind) in kinds.items():
        for p in steps.FIRST_POWERS:
            means = torch.tensor(first[optimiser][f"{p:g}"][kind]).mean(0)
            stored = data["power"]["lines"][name]["measured"][f"{p:g}"]
            torch.testing.assert_close(torch.tensor(stored), means / means[0], rtol=1e-4, atol=0)
    assert data["power"]["measured_at"] == list(steps.WIDTHS)
    page, figure = explorable("power", "p=0")
    points = figure.locator("[data-panel=lines] path.measured")
    for p in steps.FIRST_POWERS:
        assert float(state(figure)["p"]) == p
        assert points.count() == 3 * len(steps.WIDTHS)
        figure.get_by_label("p, the power").press("ArrowRight")
        wait_for_state(page, f"p={min(1, p + 0.05):.2g}")


def test_the_answer_waits_until_a_flat_line_was_found_and_reset_takes_it_back(explorable):
    page, figure = explorable("power", "p=0")
    said = figure.locator(".explorable-formula")
    been = figure.locator("[data-panel=visited] path.been")
    slider = figure.get_by_label("p, the power")
    slider.press("ArrowRight")
    wait_for_state(page, "p=0.05")
    assert said.inner_text().startswith("Which p keeps")
    assert been.count() == 3 * 2
    slider.press("End")
    wait_for_state(page, "p=1")
    assert said.inner_text() == (
        "Flat: Adam’s step at p = 1. Is the start or gradient descent’s step flat anywhere?"
    )
    page.evaluate("location.hash = '#power:p=0.5'")
    wait_for_state(page, "p=0.5")
    assert said.inner_text() == (
        "Flat: the start and gradient descent’s step at p = 0.5, Adam’s step at p = 1. "
        "No p keeps all three."
    )
    assert been.count() == 3 * 4
    figure.get_by_role("button", name="Reset").click()
    wait_for_state(page, "p=0")
    assert said.inner_text().startswith("Which p keeps")
    assert been.count() == 3


@pytest.mark.parametrize(("p", "together"), [(0, ["SGD", "Adam"]), (0.5, ["start", "SGD"])])
def test_lines_that_coincide_lie_at_their_value_and_are_told_apart_by_dashes(
    explorable, p, together
):
    _, figure = explorable("power", f"p={p}")
    looks = {
        line: (path, dashes)
        for line, path, dashes in figure.locator("[data-panel=lines] path.curve").evaluate_all(
            "paths => paths.map(p => "
            "[p.dataset.line, p.getAttribute('d'), getComputedStyle(p).strokeDasharray])"
        )
    }
    (first, dashes), (second, other) = (looks[name] for name in together)
    assert first == second
    assert dashes != other


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("p", [0, 0.5, 1])
def test_labels_stand_apart_and_inside(explorable, p, width):
    page, figure = explorable("power", f"p={p}")
    check_labels(page, figure, "[data-panel=lines] .curves text", width)
