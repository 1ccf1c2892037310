import math

import pytest
import torch

from sdpa_lib.book.training import steps

from .conftest import check_labels, drag, state, wait_for_state

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
    page, figure = explorable("power", f"p={p},d_k=4096")
    for d_k in (16, 64, 4096):
        page.evaluate(f"location.hash = '#power:p={p},d_k={d_k}'")
        wait_for_state(page, f"d_k={d_k}")
        start = math.sqrt(d_k) / d_k**p / (math.sqrt(16) / 16**p)
        expected = {"start": start} | {
            name: (d_k / 16) ** exponent(p) for name, exponent in STEP.items()
        }
        shown = {name: factor(figure, name) for name in expected}
        assert shown == pytest.approx(expected, rel=5.1e-3)  # three digits


@pytest.mark.parametrize(("p", "flat"), [(0, []), (0.5, ["SGD", "start"]), (1, ["Adam"])])
def test_the_flat_lines_are_named(explorable, p, flat):
    _, figure = explorable("power", f"p={p},d_k=4096")
    level = [name for name, (begin, end) in ends(figure).items() if abs(begin - end) < 0.01]
    assert sorted(level) == flat
    said = figure.locator(".explorable-formula").inner_text()
    assert ("None of the three is flat" in said) == (not flat)
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
    page, figure = explorable("power", "p=0.5,d_k=4096")
    points = figure.locator("[data-panel=lines] path.measured")
    assert points.count() == 3 * len(steps.WIDTHS)
    page.evaluate("location.hash = '#power:p=0.4,d_k=4096'")
    wait_for_state(page, "p=0.4")
    assert points.count() == 0


def test_width_and_power_by_the_keyboard_and_the_mouse(explorable):
    page, figure = explorable("power", "p=0,d_k=4096")
    figure.get_by_label("p, the power").press("End")
    wait_for_state(page, "p=1,")
    handle = figure.get_by_role("slider", name="components of a head", exact=True)
    handle.press("ArrowLeft")
    wait_for_state(page, "d_k=2048")
    figure.get_by_label("dk, components").press("Home")
    wait_for_state(page, "d_k=16")
    drag(page, handle, 200, 0)
    assert int(state(figure)["d_k"]) > 32


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("p", [0, 0.5, 1])
def test_labels_stand_apart_and_inside(explorable, p, width):
    page, figure = explorable("power", f"p={p},d_k=16")
    check_labels(page, figure, "[data-panel=lines] .curves text", width)
