import re

import pytest
import torch
from playwright.sync_api import expect

import sdpa_lib as sdpa

from .conftest import drag, read, state, wait_for_quiet, wait_for_state


def measures(scores):
    weights = torch.softmax(torch.tensor(scores, dtype=torch.float64), -1)
    return sdpa.effective_keys(weights).item(), sdpa.jacobian_norm(weights).item()


def shown(figure):
    return read(figure, "effective"), read(figure, "norm")


def scores_of(figure):
    return [float(state(figure)[f"z{j}"]) for j in (1, 2, 3, 4)]


def places(figure, name):
    """Of a path of the lower panel the places, each the largest weight and the norm."""
    points, ends = figure.locator("[data-panel=visited] svg").evaluate(
        """(svg, name) => [
            svg.querySelector(`.${name}`).getAttribute("d"),
            [...svg.querySelectorAll(".axis .tick")].map((tick) => [
                tick.querySelector("text").textContent,
                ...tick.getAttribute("transform").match(/[\\d.]+/g).map(Number),
            ]),
        ]""",
        name,
    )
    level = {text: y for text, x, y in ends if x == 0}
    along = {text: x for text, x, y in ends if y == 0}
    left, right, bottom, top = along["¼, even"], along["1.00"], level["0.00"], level["0.50"]
    numbers = [[float(n) for n in pair.split(",")] for pair in re.split("[MLZ]", points) if pair]
    return [
        (
            0.25 + 0.75 * (x + 0.5 - left) / (right - left),
            0.5 * (y + 0.5 - bottom) / (top - bottom),
        )
        for x, y in numbers
    ]


def wait_for_norm(page, norm):
    page.wait_for_function(
        "norm => Math.abs(document.querySelector('[data-readout=norm]').dataset.value - norm)"
        " < 2e-4",
        arg=norm,
    )


def test_saturation_by_keyboard_and_mouse(explorable):
    page, figure = explorable("saturation", "z1=2,z2=1,z3=0,z4=-1")
    assert shown(figure) == pytest.approx(measures([2.0, 1, 0, -1]), rel=1e-6)
    figure.get_by_role("slider", name="score of key 3").press("PageUp")
    wait_for_state(page, "z3=1,")
    assert shown(figure) == pytest.approx(measures([2.0, 1, 1, -1]), rel=1e-6)
    drag(page, figure.get_by_role("slider", name="score of key 1"), 0, -50)
    scores = scores_of(figure)
    assert scores[0] > 4
    assert shown(figure) == pytest.approx(measures(scores), rel=1e-6)


def test_the_matrix_is_the_derivative(explorable):
    _, figure = explorable("saturation", "z1=2,z2=1,z3=0,z4=-1")
    scores = torch.tensor([2.0, 1, 0, -1], dtype=torch.float64)
    rows = torch.autograd.functional.jacobian(lambda z: torch.softmax(z, -1), scores)
    drawn = figure.locator("[data-panel=jacobian] .cells text:not([class])")
    texts = drawn.all_text_contents()
    shown = [float(text.replace("−", "-").replace("≈", "")) for text in texts]
    assert shown == pytest.approx(rows.flatten().tolist(), abs=0.0051)


def test_the_buttons_go_to_the_rows_of_the_question_and_leave_a_trail(explorable):
    page, figure = explorable("saturation")
    norms = []
    for label, weights in (
        ("even", [0.25] * 4),
        ("split in two", [0.5, 0.5, 0, 0]),
        ("0.99 on one", [0.99, 0.01, 0, 0]),
    ):
        assert "rises first" not in figure.locator(".explorable-formula").text_content()
        before = len(places(figure, "trail"))
        figure.get_by_role("button", name=label).press("Enter")
        norms.append(sdpa.jacobian_norm(torch.tensor(weights)).item())
        wait_for_norm(page, norms[-1])
        assert len(places(figure, "trail")) > before + 5
    assert norms[0] < norms[1] > norms[2]  # as the caption asks
    formula = figure.locator(".explorable-formula")
    expect(formula).to_contain_text("rises first")
    said = [float(norm) for norm in re.findall(r": ([\d.]+\d)", formula.text_content())]
    assert said == pytest.approx(norms, abs=0.006)
    figure.get_by_role("button", name="Reset").click()
    wait_for_state(page, "z1=2,z2=1,z3=0,z4=-1")
    assert len(places(figure, "trail")) == 1


@pytest.mark.parametrize("key", ["ArrowUp", None])
def test_a_way_that_is_interrupted_strands_no_score(explorable, key):
    """A score that the reader takes is the reader's, and the others arrive; Reset ends it all."""
    page, figure = explorable("saturation")
    figure.get_by_role("button", name="split in two").press("Enter")
    page.wait_for_timeout(300)
    if key:
        figure.get_by_role("slider", name="score of key 4").press(key)
        wait_for_state(page, "z1=6,z2=6,z3=-6,")
        assert -6 < scores_of(figure)[3] < -1
    else:
        figure.get_by_role("button", name="Reset").click()
        wait_for_quiet(figure)
        assert scores_of(figure) == [2, 1, 0, -1]


def test_a_second_button_ends_the_first_ones_way(explorable):
    """The line goes through the row of the first button, from which the second one starts."""
    page, figure = explorable("saturation")
    figure.get_by_role("button", name="split in two").press("Enter")
    page.wait_for_timeout(200)
    figure.get_by_role("button", name="even").press("Enter")
    wait_for_state(page, "z1=0,z2=0,z3=0,z4=0")
    largest, norm = max(places(figure, "trail"), key=lambda place: place[1])
    assert (largest, norm) == pytest.approx((0.5, 0.5), abs=5e-3)


def test_every_row_stands_in_the_pale_region_and_its_edges_are_reached(explorable):
    """Rows of many kinds: the region holds them all, and is no larger than it has to be."""
    _, figure = explorable("saturation")
    region = places(figure, "reach")
    half = len(region) // 2
    lower, upper = region[:half], region[half:][::-1]
    generator = torch.Generator().manual_seed(1)
    scores = torch.randn(200_000, 4, generator=generator, dtype=torch.float64)
    spread = 10 ** torch.linspace(-2, 1.5, len(scores), dtype=torch.float64).unsqueeze(-1)
    weights = torch.softmax(spread * scores, -1)
    norms = sdpa.jacobian_norm(weights)
    largest = weights.amax(-1)
    for (m, low), (_, high) in zip(lower, upper, strict=True):
        near = norms[(largest - m).abs() < 0.002]
        assert near.max() < high + 0.006
        assert near.min() > low - 0.006
        if 0.26 < m < 0.995:
            assert near.max() > high - 0.02
            assert near.min() < low + 0.02


def test_a_leap_leaves_the_way_of_the_scores(explorable):
    """Not a chord: all that the trail says is a row that lies between."""
    page, figure = explorable("saturation", "z1=0,z2=0,z3=0,z4=0")
    page.evaluate("location.hash = '#saturation:z1=6,z2=0,z3=0,z4=0'")
    wait_for_state(page, "z1=6,")
    way = [place for place in places(figure, "trail") if place[0] > 0.25]
    first = torch.linspace(0, 6, 31, dtype=torch.float64)
    rows = torch.stack([first, *[torch.zeros_like(first)] * 3], -1).softmax(-1)
    expected = list(zip(rows.amax(-1).tolist(), sdpa.jacobian_norm(rows).tolist(), strict=True))
    for place, row in zip(way[-30:], expected[1:], strict=True):
        assert place == pytest.approx(row, abs=5e-3)
