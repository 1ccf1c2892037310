import math

import pytest
import torch

import sdpa_lib as sdpa

from .conftest import drag, read, state, wait_for_state


def measures(scores, r):
    """The Jacobian's norm, over r, and over that at the root."""
    z = torch.tensor(scores, dtype=torch.float64)
    norm, root = (sdpa.jacobian_norm(torch.softmax(z / c, -1)).item() for c in (r, 1))
    return {"norm": norm, "factor": 1 / r, "left": norm / r, "ratio": norm / r / root}


def shown(figure):
    return {name: read(figure, name) for name in ("norm", "factor", "left", "ratio")}


@pytest.mark.parametrize("name", ["decided", "level"])
def test_a_row_by_the_keyboard(explorable, data, name):
    page, figure = explorable("row", f"row={name}")
    slider = figure.get_by_label("r = c/√dk")
    assert shown(figure) == pytest.approx(measures(data["row"][name], 1))
    for _ in range(4):
        slider.press("ArrowLeft")
    wait_for_state(page, "r=0.25,")
    assert shown(figure) == pytest.approx(measures(data["row"][name], 0.25))
    for end in ("Home", "End"):
        slider.press(end)
        wait_for_state(page, "r=0.00390625," if end == "Home" else "r=32,")
        assert shown(figure) == pytest.approx(
            measures(data["row"][name], float(state(figure)["r"]))
        )
        assert "NaN" not in figure.locator("[data-panel=curve] svg").inner_html()


def test_what_the_chapter_says_of_the_two_rows(explorable):
    page, figure = explorable("row", "r=0.25")
    assert read(figure, "ratio") > 2
    slider = figure.get_by_label("r = c/√dk")
    slider.press("ArrowLeft")
    slider.press("ArrowLeft")
    wait_for_state(page, "r=0.125,")
    assert "undivided at dk = 64" in figure.locator(".explorable-formula").inner_text()
    assert 0.9 < read(figure, "ratio") < 1
    figure.get_by_role("combobox", name="row").select_option("level")
    wait_for_state(page, "row=level")
    assert read(figure, "ratio") > 9
    slider.press("ArrowLeft")
    slider.press("ArrowLeft")
    figure.get_by_role("combobox", name="row").select_option("decided")
    wait_for_state(page, "r=0.0625,row=decided")
    assert read(figure, "ratio") < 0.05


def test_the_readouts_have_the_names_and_the_order_of_the_product(explorable):
    _, figure = explorable("row")
    assert figure.locator(".explorable-readouts dt").all_inner_texts() == [
        "1/r",
        "norm of J",
        "what is left",
        "relative to the root",
    ]


def test_what_is_left_is_said_as_a_part_and_a_power_of_two_as_a_fraction(explorable, data):
    page, figure = explorable("row", "r=0.0625,row=decided")
    said = figure.locator(".explorable-formula")
    part = 1 / measures(data["row"]["decided"], 1 / 16)["ratio"]
    assert said.inner_text().startswith("r = 1/16, as undivided at dk = 256: ")
    assert f": 1/{part:.0f} of what it was at the root." in said.inner_text()
    figure.get_by_label("r = c/√dk").press("Home")
    wait_for_state(page, "r=0.00390625,")
    assert measures(data["row"]["decided"], 1 / 256)["ratio"] < 1e-6
    assert ": practically nothing is left." in said.inner_text()


def test_the_maximum_is_named_above_the_curve(explorable):
    _, figure = explorable("row", "r=0.0625,row=decided")
    panel = figure.locator("[data-panel=curve] svg")
    name = panel.get_by_text("max", exact=True).evaluate("text => text.getBBox().y")
    assert name + 10 < panel.locator("[data-line=left]").evaluate("path => path.getBBox().y")


def test_where_the_handle_stands_at_the_maximum_its_line_crosses_no_word(explorable):
    page, figure = explorable("row", "r=0.125,row=decided")
    name = figure.locator("[data-panel=curve] svg").get_by_text("max", exact=True)
    said = figure.locator(".explorable-formula")
    assert name.count() == 1
    assert "This is the maximum." not in said.inner_text()
    slider = figure.get_by_label("r = c/√dk")
    slider.press("ArrowRight")
    slider.press("ArrowRight")
    wait_for_state(page, "r=0.25,")
    assert name.count() == 0
    assert said.inner_text().endswith("2.7 times what it was at the root. This is the maximum.")


@pytest.mark.parametrize("r", [0.25, 1, 32])
def test_the_points_ride_on_the_curves(explorable, data, r):
    page, figure = explorable("row", f"r={r},row=decided")
    panel = figure.locator("[data-panel=curve] svg")
    heights = panel.locator(".curves circle").evaluate_all(
        "all => all.map(c => c.cy.baseVal.value)"
    )
    of = measures(data["row"]["decided"], r)
    top, bottom = 32, 210  # for 400 and for 0.003
    expected = [
        top + (bottom - top) * math.log(400 / of[name]) / math.log(400 / 0.003)
        for name in ("factor", "norm", "left")
    ]
    assert heights == pytest.approx(expected, abs=0.1)
    handle = figure.get_by_role("slider", name="r, the divisor over the root")
    handle.press("Home")
    wait_for_state(page, "r=0.00390625,")
    drag(page, handle, 60, 0)
    assert float(state(figure)["r"]) > 0.005
    assert "NaN" not in panel.inner_html()


def test_the_product_is_drawn_as_far_as_the_reader_has_been(explorable, data):
    page, figure = explorable("row")
    curve = figure.locator("[data-line=left]")
    width = "path => path.getBBox().width"
    norm = figure.locator("[data-line='norm of J']")
    assert curve.evaluate(width) == norm.evaluate(width) == 0
    maximum = figure.locator("[data-panel=curve]").get_by_text("max", exact=True)
    slider = figure.get_by_label("r = c/√dk")
    slider.press("ArrowLeft")
    wait_for_state(page, "r=0.7")
    assert maximum.count() == 0
    for _ in range(7):
        slider.press("ArrowLeft")
    wait_for_state(page, "r=0.0625,")
    drawn = curve.evaluate(width)
    assert norm.evaluate(width) == drawn
    assert maximum.count() == 1
    said = figure.locator(".explorable-formula").inner_text()
    most = max(measures(data["row"]["decided"], 2 ** (-i / 100))["ratio"] for i in range(500))
    assert f"The maximum is {most:.1f} times that at the root." in said
    slider.press("ArrowRight")
    wait_for_state(page, "r=0.088")
    assert curve.evaluate(width) == drawn
    figure.get_by_role("combobox", name="row").select_option("level")
    wait_for_state(page, "row=level")
    assert figure.locator("[data-line=other]").evaluate(width) == drawn
    names = figure.locator("[data-panel=curve] .explorable-panel-title")
    assert names.inner_text() == "1/r × norm of J = what is left, other row"
    figure.get_by_role("button", name="Reset").click()
    wait_for_state(page, "r=1,row=decided")
    assert curve.evaluate(width) == 0


def test_where_softmax_begins_to_win(data):
    """What the chapter says of both rows."""
    for name, least, most in (("decided", 1 / 5, 1 / 3), ("level", 1 / 64, 1 / 32)):
        grid = [2 ** (-i / 50) for i in range(401)]
        best = max(grid, key=lambda r, name=name: measures(data["row"][name], r)["left"])
        assert least < best < most


@pytest.mark.parametrize("width", [360, 1280])
def test_the_names_take_one_line(explorable, width):
    page, figure = explorable("row", "row=decided")
    figure.get_by_role("combobox", name="row").select_option("level")
    wait_for_state(page, "row=level")
    page.set_viewport_size({"width": width, "height": 700})
    page.wait_for_timeout(200)
    names = figure.locator("[data-panel=curve] .explorable-panel-title")
    assert "other row" in names.inner_text()
    assert names.bounding_box()["height"] < 30


def test_rows_are_the_median_one_and_a_level_one_of_many(data):
    drawn = sdpa.sample(2001, 6, seed=0, device="cpu").sort(-1, descending=True).values
    gaps = drawn[:, 0] - drawn[:, 1]
    for name, share in (("decided", 0.5), ("level", 0.05)):
        row = torch.tensor(data["row"][name], dtype=torch.float64)
        assert ((drawn - row).abs().amax(-1) < 6e-4).sum() == 1
        assert (row[0] - row[1]).item() == pytest.approx(gaps.quantile(share).item(), abs=2e-3)
