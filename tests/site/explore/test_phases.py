import math

import pytest
import torch

import sdpa_lib as sdpa

from .conftest import SAMPLE, drag, read, state, wait_for_state


@pytest.mark.parametrize(("n", "sigma"), [(32, 1), (512, 4), (8192, 8), (131072, 0.5)])
def test_a_row_has_the_effective_keys_that_the_library_finds(explorable, scripts, n, sigma):
    _, figure = explorable("phases", f"n={n},sigma={sigma}")
    scores = torch.tensor(scripts(SAMPLE, [(n, "normal", 0)])[0], dtype=torch.float64)
    weights = (sigma * scores).softmax(-1)
    critical = math.sqrt(2 * math.log(n))
    assert read(figure, "critical") == pytest.approx(critical)
    assert read(figure, "ratio") == pytest.approx(sigma / critical)
    assert read(figure, "keys") == pytest.approx(sdpa.effective_keys(weights).item())
    assert read(figure, "largest") == pytest.approx(weights.max().item())
    assert "NaN" not in figure.inner_html()


def test_the_point_by_mouse_and_keyboard(explorable):
    page, figure = explorable("phases", "n=512,sigma=1")
    point = figure.get_by_role("slider", name="the row")
    drag(page, point, 0, -100)
    assert float(state(figure)["sigma"]) > 8
    assert read(figure, "ratio") > 1
    few = read(figure, "keys")
    assert few < 10
    drag(page, point, 200, 0)
    assert state(figure)["n"] == "131072"
    assert read(figure, "keys") < 10, "a few, though there are 256 times as many keys"
    point.press("Home")
    wait_for_state(page, "sigma=0.1051")
    assert read(figure, "keys") > 0.98 * 131_072
    point.press("ArrowLeft")
    wait_for_state(page, "n=65536")


def test_the_line_of_every_rescaling_is_where_the_library_puts_it(explorable):
    _, figure = explorable("phases", "n=512,d_k=64")
    keys = torch.ones(512, 64, dtype=torch.float64)  # each of length 8
    lines = figure.locator("path[data-rescaling]").evaluate_all(
        "lines => lines.map(line => [line.dataset.rescaling, Number(line.dataset.sigma)])"
    )
    assert dict(lines) == pytest.approx(
        {name: 8 / rescaling(keys).item() for name, rescaling in sdpa.RESCALINGS.items()}, rel=1e-4
    )


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("d_k", [1, 4, 16, 64, 128, 256, 512, 1024])
def test_labels_and_lines_do_not_collide(explorable, d_k, width):
    page, figure = explorable("phases", f"d_k={d_k}")
    page.set_viewport_size({"width": width, "height": 700})
    page.wait_for_timeout(200)
    boxes = figure.locator("[data-panel=phases] .name").evaluate_all(
        "texts => texts.map(text => text.getBoundingClientRect())"
        ".map(r => [r.left, r.right, r.top + 3, r.bottom - 3])"
    )
    assert len(boxes) > 4
    apart = [
        a[1] < b[0] or b[1] < a[0] or a[3] <= b[2] or b[3] <= a[2]
        for i, a in enumerate(boxes)
        for b in boxes[:i]
    ]
    assert all(apart)
    frame = figure.locator(".explorable-app").bounding_box()
    assert max(box[1] for box in boxes) <= frame["x"] + frame["width"]


def test_dots_stay_where_the_reader_has_been_until_reset(explorable):
    page, figure = explorable("phases", "n=512,sigma=8")
    been = figure.locator("[data-panel=keys] circle.been")
    before = been.count()
    figure.get_by_role("slider", name="the row").press("ArrowRight")
    wait_for_state(page, "n=1024,")
    assert been.count() == before + 1
    figure.get_by_role("button", name="Reset").click()
    wait_for_state(page, "n=512,sigma=1,")
    assert been.count() == 1
