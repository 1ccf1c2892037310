import math

import pytest
import torch

from sdpa_lib.book.training import steps

from .conftest import check_labels, drag, state, wait_for_state

STEP = {name: steps.OPTIMISERS[name].step for name in ("SGD", "Adam")}


LINES = {
    "scores at the start": "start",
    "change by a descent step": "SGD",
    "change by an Adam step": "Adam",
}


def factors(figure):
    """By line the number at its end."""
    rows = figure.locator("[data-panel=lines] .curves text").evaluate_all(
        "texts => texts.map(text => [...text.children].map(part => part.textContent))"
    )
    return {LINES[" ".join(name)]: times for *name, times in rows}


def written(size):
    """In two digits, or all of those before the point; below 1 as a part."""
    part = size < 0.95
    size = 1 / size if part else size
    text = f"{size:.0f}" if size >= 9.95 else f"{size:.1f}".removesuffix(".0")
    return "×1/" + text if part else "×" + text


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
    assert factors(figure) == {name: written(size) for name, size in expected.items()}


@pytest.mark.parametrize(("p", "flat"), [(0, []), (0.5, ["SGD", "start"]), (1, ["Adam"])])
def test_the_flat_lines_are_named(explorable, p, flat):
    _, figure = explorable("power", f"p={p}")
    level = [name for name, (begin, end) in ends(figure).items() if abs(begin - end) < 0.01]
    assert sorted(level) == flat
    said = figure.locator(".explorable-formula").inner_text()
    assert said.startswith("Which p keeps") == (not flat)
    assert ("Adam’s step at p = 1." in said) == (flat == ["Adam"])


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
    been = figure.locator("[data-panel=visited] path.been[data-line=SGD]")
    width = "path => path.getBBox().width"
    slider = figure.get_by_label("p, the power")
    slider.press("ArrowRight")
    wait_for_state(page, "p=0.05")
    assert said.inner_text().startswith("Which p keeps")
    assert (short := been.evaluate(width)) > 0
    page.evaluate("location.hash = '#power:p=0.6'")
    wait_for_state(page, "p=0.6")
    assert said.inner_text() == (
        "Flat: the start and gradient descent’s step at p = 0.5. Is Adam’s step flat anywhere?"
    ), "what was passed over counts"
    slider.press("End")
    wait_for_state(page, "p=1")
    assert said.inner_text() == (
        "Flat: the start and gradient descent’s step at p = 0.5, Adam’s step at p = 1. "
        "No p keeps all three."
    )
    assert been.evaluate(width) == pytest.approx(20 * short)
    figure.get_by_role("button", name="Reset").click()
    wait_for_state(page, "p=0")
    assert said.inner_text().startswith("Which p keeps")
    assert been.evaluate(width) == 0


def test_without_a_start_each_optimiser_keeps_its_step_at_its_own_power(explorable, data):
    """The exponents are those of the other start: halves of the same claims."""
    page, figure = explorable("power", "p=0.5,query=zero")
    assert set(factors(figure)) == {"SGD", "Adam"}
    assert figure.locator("[data-panel=lines] path.measured").count() == 0
    title = figure.locator("[data-panel=lines] .explorable-panel-title")
    assert title.inner_text() == "size over that at 16 components; lines: the theorem"
    said = figure.locator(".explorable-formula")
    assert said.inner_text() == (
        "All scores start at 0. Flat: gradient descent’s step at p = 0.5. "
        "Is Adam’s step flat anywhere?"
    )
    page.evaluate("location.hash = '#power:p=1,query=zero'")
    wait_for_state(page, "p=1,query=zero")
    assert factors(figure)["Adam"] == "×1"
    assert said.inner_text().endswith("With either, one p keeps all there is to keep.")
    figure.get_by_role("checkbox").uncheck()
    wait_for_state(page, "query=random")
    assert "start" in factors(figure)
    assert title.inner_text() == "size over that at 16 components; points: measured"


@pytest.mark.parametrize("optimiser", ["SGD", "Adam"])
def test_a_query_matrix_of_zeros_leaves_the_exponent(optimiser):
    kind = steps.OPTIMISERS[optimiser]
    for p in (0.5, 1.0):
        moved = []
        for d_k in (256, 4096):
            problem = steps.make_problem(d_k, seed=0)
            problem.w_q.data.zero_()
            before = steps.scores(problem, p)
            assert not before.any()
            steps.excess(before, problem.partner).backward()
            kind.make([problem.w_q, problem.w_k], kind.rate).step()
            moved.append(steps.scores(problem, p).norm().item())
        assert math.log(moved[1] / moved[0], 16) == pytest.approx(kind.step(p), abs=0.05)


def test_the_handle_sets_the_power(explorable):
    page, figure = explorable("power", "p=0")
    handle = figure.get_by_role("slider", name="p, where the line stands")
    handle.press("ArrowRight")
    wait_for_state(page, "p=0.05,")
    drag(page, handle, 150, 0)
    assert 0.15 < float(state(figure)["p"]) < 0.6


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
