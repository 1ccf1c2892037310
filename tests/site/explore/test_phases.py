import itertools
import math
import re
import statistics

import pytest
import torch
from playwright.sync_api import expect

import sdpa_lib as sdpa

from .conftest import drag, state, wait_for_quiet, wait_for_state


@pytest.mark.parametrize(("n", "sigma"), [(32, 1), (512, 2), (8192, 8), (131072, 0.5)])
def test_as_many_keys_share_the_weight_as_the_library_finds(explorable, n, sigma):
    _, figure = explorable("phases", f"n={n},sigma={sigma}")
    said = re.match(
        r"([\d.,]+) of ([\d,]+) keys .*σ ([\d.]+), border ([\d.]+): (.*)\.",
        " ".join(figure.locator(".explorable-line").all_inner_texts()[:2]),
    )
    keys, of, spread, border = (float(number.replace(",", "")) for number in said.groups()[:4])
    scores = sigma * sdpa.sample(64, n, seed=2, device="cpu")
    found = sdpa.effective_keys(scores.softmax(-1)).log()
    assert (of, spread) == (n, sigma)
    digits = 0.05 / keys if keys < 10 else 0.05  # what is rounded away
    error = 3 * found.std().item() / math.sqrt(32)
    assert math.log(keys) == pytest.approx(found.mean().item(), abs=error + digits)
    critical = math.sqrt(2 * math.log(n))
    sides = "far below", "in the crossover", "above it"
    assert border == pytest.approx(critical, abs=0.05)
    assert said[5] == sides[0 if sigma < critical / 2 else 1 if sigma < critical else 2]
    assert "NaN" not in figure.inner_html()


def test_the_point_by_mouse_and_keyboard(explorable):
    page, figure = explorable("phases", "n=512,sigma=1")
    said = figure.locator(".explorable-formula")
    point = figure.get_by_role("slider", name="the row")
    drag(page, point, 0, -100)
    assert float(state(figure)["sigma"]) > 8
    assert "above it" in said.inner_text()
    drag(page, point, 200, 0)
    assert state(figure)["n"] == "131072"
    assert re.match(r"\d\.\d of 131,072 keys", said.inner_text()), "a few, of 256 times as many"
    point.press("Home")
    wait_for_state(page, "sigma=0.1051")
    assert "130,000 of 131,072 keys" in said.inner_text()
    point.press("ArrowLeft")
    wait_for_state(page, "n=65536")


def test_the_line_of_every_divisor_is_where_the_library_puts_it(explorable):
    _, figure = explorable("phases", "n=512,d_k=64")
    keys = torch.ones(512, 64, dtype=torch.float64)  # each of length 8
    lines = figure.locator("line[data-rescaling]").evaluate_all(
        "lines => lines.map(line => [line.dataset.rescaling, Number(line.dataset.sigma)])"
    )
    assert dict(lines) == pytest.approx(
        {name: 8 / sdpa.RESCALINGS[name](keys).item() for name in ("none", "sqrt_d_k", "d_k")}
    )


def test_the_map_is_deeper_where_fewer_keys_share(explorable, data):
    _, figure = explorable("phases")
    opacities = figure.locator("linearGradient").evaluate_all(
        "all => all.map(strip => [...strip.children])"
        ".map(stops => stops.map(stop => Number(stop.getAttribute('stop-opacity'))))"
    )
    shares = data["phases"]["share"]
    stored = [[1 - of[sigma] for of in shares] for sigma in range(len(shares[0]))]
    drawn = opacities[::3]  # the strips between are interpolated
    flat = [[*itertools.chain(*rows)] for rows in (drawn, stored)]
    assert statistics.correlation(*flat) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("d_k", [2, 4, 8, 16, 64, 128, 256, 512, 1024])
def test_labels_and_lines_do_not_collide(explorable, d_k, width):
    page, figure = explorable("phases", f"d_k={d_k}")
    page.set_viewport_size({"width": width, "height": 700})
    page.wait_for_timeout(200)
    boxes = figure.locator("[data-panel=phases] .name").evaluate_all(
        "texts => texts.map(text => text.getBoundingClientRect())"
        ".map(r => [r.left, r.right, r.top + 3, r.bottom - 3])"
    )
    assert len(boxes) == 8  # three regions, two borders, and each divisor, below the map too
    apart = [
        a[1] < b[0] or b[1] < a[0] or a[3] <= b[2] or b[3] <= a[2]
        for i, a in enumerate(boxes)
        for b in boxes[:i]
    ]
    assert all(apart)
    frame = figure.locator(".explorable-app").bounding_box()
    assert max(box[1] for box in boxes) <= frame["x"] + frame["width"]


def test_a_divisor_whose_line_lies_below_the_map_is_named_there(explorable):
    page, figure = explorable("phases", "d_k=64")
    arrow = figure.locator("[data-panel=phases] .name").get_by_text("↓ d")
    line = figure.locator("[data-panel=phases] line[data-rescaling=d_k]")
    assert (line.count(), arrow.count()) == (1, 0)
    figure.get_by_label("dk, for the divisors’ lines").press("End")
    wait_for_state(page, "d_k=1024")
    assert (line.count(), arrow.count()) == (0, 1)


@pytest.mark.parametrize("width", [360, 1024, 1280])
def test_the_law_is_said_when_it_has_been_seen(explorable, width):
    page, figure = explorable("phases", "n=512,sigma=1")
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_timeout(200)
    lines, box = figure.locator(".explorable-line"), figure.locator(".explorable-formula")
    point = figure.get_by_role("slider", name="the row")
    heights = [box.bounding_box()["height"]]

    def press(key, times, part):
        for _ in range(times):
            point.press(key)
        wait_for_state(page, part)
        heights.append(box.bounding_box()["height"])
        return " ".join(lines.all_inner_texts()[2:]).replace("\n", "")

    question = "Let n grow: drag the point to the right. Do more and more keys share?"
    assert press("ArrowUp", 7, "sigma=3.36") == question
    gradual = "At one n the passage is gradual: the border √(2 ln n) is for growing n."
    assert gradual in press("ArrowUp", 5, "sigma=8")
    assert press("ArrowRight", 8, "n=131072") == (
        "Above the border the keys that share stay a few (σ = 8.0: 1.8 to 2.6). "
        "Now drag along n: below it."
    )
    assert "Now drag along n: below it." in press("ArrowDown", 13, "sigma=0.84")
    assert press("ArrowLeft", 8, "n=512") == (
        "Below the border the keys that share grow with n (σ = 0.84: 250 to 65,000); "
        "above it they stay a few (σ = 8.0: 1.8 to 2.6)."
    )
    assert max(heights) - min(heights) < 1
    figure.get_by_role("button", name="Reset").click()
    expect(lines.last).to_have_text(question)


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("setting", ["n=2048,sigma=19", "n=512,sigma=1", "n=8,sigma=8"])
def test_the_curve_of_the_weights_runs_through_no_word(explorable, setting, width):
    page, figure = explorable("phases", setting)
    page.set_viewport_size({"width": width, "height": 700})
    page.wait_for_timeout(200)
    panel = figure.locator("[data-panel=weights] .weights")
    words = panel.locator("text").evaluate_all(
        "all => all.map(text => text.getBBox()).map(b => [b.x, b.x + b.width, b.y, b.y + b.height])"
    )
    assert min(right - left for left, right, _, _ in words) > 40
    along = (
        panel.locator("path")
        .nth(2)
        .evaluate(
            """path => Array.from({ length: 301 }, (_, i) =>
            path.getPointAtLength((i * path.getTotalLength()) / 300)).map(p => [p.x, p.y])"""
        )
    )
    for left, right, top, bottom in words:
        assert not [x for x, y in along if left <= x <= right and top + 2 < y < bottom - 2]


def test_a_walk_stays_drawn_until_reset(explorable):
    page, figure = explorable("phases", "n=512,sigma=8")
    walks = figure.locator("[data-panel=keys] text.walk")
    point = figure.get_by_role("slider", name="the row")
    for n in (1024, 2048, 4096):
        point.press("ArrowRight")
        wait_for_state(page, f"n={n},")
    for _ in range(8):
        point.press("ArrowDown")
    expect(walks).to_have_text(["σ = 8.0", "σ = 2.0"])  # none at the σ between
    figure.get_by_role("button", name="Reset").click()
    expect(walks).to_have_text(["σ = 1.0"])


def sway(page, point, along, amplitude, slope=0):
    """Drag the point so far to the right, up and down on the way, by pixels; where the hand is."""
    page.mouse.move(*(start := middle(point)))
    page.mouse.down()
    place = start
    for i in range(1, along // 4 + 1):
        up = slope * 4 * i + (0, amplitude, 0, -amplitude)[i % 4]
        page.mouse.move(*(place := (start[0] + 4 * i, start[1] - up)))
    return place


def middle(point):
    box = point.locator("circle").last.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("sigma", [1, 8])
def test_a_swaying_hand_keeps_sigma_until_it_leaves(explorable, sigma, width):
    page, figure = explorable("phases", f"n=8,sigma={sigma}")
    page.set_viewport_size({"width": width, "height": 800})
    figure.scroll_into_view_if_needed()
    wait_for_quiet(figure)
    point = figure.get_by_role("slider", name="the row")
    x, y = sway(page, point, 120, 5)
    wait_for_quiet(figure)
    assert float(state(figure)["sigma"]) == sigma
    assert figure.locator("text.walk").count() == 1
    before = int(state(figure)["n"])
    assert before > 64
    page.mouse.move(x, y - 30)
    page.mouse.up()
    wait_for_quiet(figure)
    assert float(state(figure)["sigma"]) > 1.5 * sigma
    assert int(state(figure)["n"]) == before


def test_a_slanting_way_is_drawn_in_all_its_parts(explorable):
    page, figure = explorable("phases", "n=8,sigma=0.5")
    point = figure.get_by_role("slider", name="the row")
    point.scroll_into_view_if_needed()
    sway(page, point, 160, 0, slope=0.6)
    page.mouse.up()
    wait_for_quiet(figure)
    ways = figure.locator("path.been").evaluate_all("all => all.map(path => path.getBBox().width)")
    assert len([width for width in ways if width > 0]) > 1
    assert figure.locator("text.walk").count() < 3  # its short parts have no names


def test_the_sentence_answers_which_lines_cross_while_d_k_moves(explorable):
    page, figure = explorable("phases", "n=512,sigma=1,d_k=8")
    answer = figure.locator(".explorable-line").last
    slider = figure.get_by_label("dk, for the divisors’ lines")
    for d_k, side, undivided, low in ((16, "above", "4.0", "0.25"), (8, "below", "2.8", "0.35")):
        slider.press("ArrowRight" if d_k == 16 else "ArrowLeft")
        wait_for_state(page, f"d_k={d_k},")
        assert answer.inner_text().replace("\u2060", "").replace("\n", "") == (
            f"Undivided moves to √dk = {undivided}: {side} the border. dk moves to 1/√dk = {low}, "
            "the root stays at 1: below. At dk = 2 ln n = 12 undivided crosses."
        )
    figure.get_by_role("slider", name="the row").press("ArrowRight")
    expect(answer).to_have_text(
        "Let n grow: drag the point to the right. Do more and more keys share?"
    )


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("d_k", [64, 512])
def test_the_point_stands_on_no_word(explorable, width, d_k):
    page, figure = explorable("phases", f"n=512,sigma=1,d_k={d_k}")
    page.set_viewport_size({"width": width, "height": 800})
    wait_for_quiet(figure)
    point = figure.get_by_role("slider", name="the row")
    point.press("End")
    for _ in range(35):
        near = point.evaluate("""async (point) => {
            await new Promise(f => requestAnimationFrame(() => requestAnimationFrame(f)));
            const box = point.querySelector("circle:not(.ring)").getBoundingClientRect();
            const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
            const words = point.closest("svg").querySelectorAll(".name");
            return [...words].filter((word) => {
                const box = word.getBoundingClientRect();
                const across = Math.max(box.left - x, x - box.right, 0);
                return Math.hypot(across, Math.max(box.top + 3 - y, y - box.bottom + 3, 0)) < 8;
            }).map(word => word.textContent);
        }""")
        assert near == [], state(figure)
        point.press("ArrowDown")


@pytest.mark.parametrize("setting", ["n=8,sigma=1", "n=512,sigma=1", "n=131072,sigma=0.5"])
def test_the_even_row_is_named(explorable, setting):
    _, figure = explorable("phases", setting)
    words = figure.locator("[data-panel=weights] .weights text")
    expect(words).to_have_text(["even, 1/n", "effective keys"])
    even, effective = (words.nth(i).bounding_box() for i in (0, 1))
    assert (
        even["x"] + even["width"] <= 1 + figure.bounding_box()["width"] + figure.bounding_box()["x"]
    )
    assert even["y"] >= effective["y"] + effective["height"] - 3


def test_the_effective_keys_are_carried_down_to_the_point(explorable):
    page, figure = explorable("phases", "n=8192,sigma=2")
    page.set_viewport_size({"width": 1280, "height": 900})
    wait_for_quiet(figure)
    above = figure.locator("[data-panel=weights] .weights path").last
    carried = figure.locator("[data-panel=keys] path.carried")
    start = "path => path.getPointAtLength(0).x"
    end = "path => path.getPointAtLength(path.getTotalLength()).x"
    assert above.evaluate(start) == pytest.approx(carried.evaluate(start), abs=0.1)
    point = figure.locator("[data-panel=keys] circle").get_attribute("cx")
    assert carried.evaluate(end) == pytest.approx(float(point), abs=0.1)


def test_on_a_phone_the_sentence_the_map_and_the_way_are_seen_together(explorable):
    page, figure = explorable("phases")
    page.set_viewport_size({"width": 360, "height": 800})
    wait_for_quiet(figure)
    top = figure.locator(".explorable-formula").bounding_box()["y"]
    way = figure.locator("[data-panel=keys]").bounding_box()
    assert figure.locator("[data-panel=phases]").bounding_box()["y"] < way["y"]
    header = 52
    assert way["y"] + way["height"] - top < 800 - header


def test_the_map_stands_beside_both_drawings_of_its_point_and_over_its_slider(explorable):
    page, figure = explorable("phases")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.wait_for_timeout(200)
    parts = "=phases] svg", "=phases] input", "=weights]", "=keys]"
    order = figure.locator(", ".join(f"[data-panel{part}" for part in parts))
    plane, slider, weights, keys = order.evaluate_all(
        "all => all.map(part => part.getBoundingClientRect().toJSON())"
    )
    assert weights["left"] == keys["left"] > plane["right"]
    assert plane["width"] > 1.7 * weights["width"]
    assert weights["top"] < plane["top"]  # by its title
    assert weights["bottom"] <= keys["top"] < plane["bottom"]
    assert plane["bottom"] < slider["top"]
    figure.get_by_label("dk, for the divisors’ lines").focus()
    for d_k in (128, 256):  # it keeps the focus while the lines move
        page.keyboard.press("ArrowRight")
        wait_for_state(page, f"d_k={d_k}")
