import math

import pytest
import torch

from sdpa_lib.book.training import steps

from .conftest import check_labels, wait_for_state

STEP = {name: steps.OPTIMISERS[name].step for name in ("SGD", "Adam")}


def factor(figure, name):
    return float(figure.locator(f"[data-readout={name}]").get_attribute("data-value").split()[0])


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
    shown = {name: factor(figure, name) for name in expected}
    assert shown == pytest.approx(expected, rel=5.1e-3)  # three digits


@pytest.mark.parametrize(("p", "flat"), [(0, []), (0.5, ["SGD", "start"]), (1, ["Adam"])])
def test_the_flat_lines_are_named(explorable, p, flat):
    _, figure = explorable("power", f"p={p}")
    level = [name for name, (begin, end) in ends(figure).items() if abs(begin - end) < 0.01]
    assert sorted(level) == flat
    said = figure.locator(".explorable-formula").inner_text()
    assert said.startswith("Which p keeps") == (not flat)
    assert ("Flat: Adam’s step." in said) == (flat == ["Adam"])


def test_the_points_are_the_measurements(explorable, data):
    moves = steps.load_steps()["moves"]
    kinds = {"start": ("SGD", "start"), "SGD": ("SGD", "one step"), "Adam": ("Adam", "one step")}
    for name, (optimiser, kind) in kinds.items():
        for p in steps.POWERS:
            means = torch.tensor(moves[optimiser][f"{p:g}"][kind]).mean(0)
            stored = data["power"]["lines"][name]["measured"][f"{p:g}"]
            torch.testing.assert_close(torch.tensor(stored), means / means[0], rtol=1e-4, atol=0)
    assert data["power"]["measured_at"] == list(steps.WIDTHS)
    page, figure = explorable("power", "p=0.5")
    points = figure.locator("[data-panel=lines] path.measured")
    assert points.count() == 3 * len(steps.WIDTHS)
    page.evaluate("location.hash = '#power:p=0.4'")
    wait_for_state(page, "p=0.4")
    assert points.count() == 0


def test_the_answer_waits_until_a_flat_line_was_found(explorable):
    page, figure = explorable("power", "p=0")
    said = figure.locator(".explorable-formula")
    slider = figure.get_by_label("p, the power")
    slider.press("ArrowRight")
    wait_for_state(page, "p=0.05")
    assert said.inner_text().startswith("Which p keeps")
    slider.press("End")
    wait_for_state(page, "p=1")
    assert "Flat: Adam’s step." in said.inner_text()
    slider.press("ArrowLeft")
    wait_for_state(page, "p=0.95")
    assert "None of the three is flat" in said.inner_text()


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
