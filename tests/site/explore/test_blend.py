import re

import pytest
import torch

from .conftest import drag, state, wait_for_state


def place(text):
    """The numbers of a place, two."""
    return [float(number) for number in re.findall(r"-?\d+\.\d+", text.replace("−", "-"))][-2:]


def line(figure, number):
    """A line under the drawing, as one reads it."""
    text = figure.locator(".explorable-line").nth(number).text_content()
    return text.replace("\u2060", "")


def weights_of(figure):
    now = {name: float(value) for name, value in state(figure).items()}
    scores = torch.tensor([now[f"z{j}"] for j in (1, 2, 3)], dtype=torch.float64)
    return torch.softmax(scores / now["T"], -1)


def test_blend_by_keyboard_and_mouse(explorable):
    page, figure = explorable("blend", "z1=1.2,z2=0.8,z3=-0.2,T=1")

    def shown():
        return place(figure.locator(".explorable-line").first.inner_text())

    def expected():
        now = {name: float(value) for name, value in state(figure).items()}
        values = torch.tensor([[now[f"{c}{j}"] for c in "xy"] for j in (1, 2, 3)]).double()
        return (weights_of(figure) @ values).tolist()

    assert shown() == pytest.approx(expected(), abs=5.1e-3)
    figure.get_by_label("score z1").press("End")
    wait_for_state(page, "z1=5,")
    assert shown() == pytest.approx(expected(), abs=5.1e-3)
    before = state(figure)
    drag(page, figure.get_by_role("slider", name="value 2"), -40, -30)
    assert float(state(figure)["x2"]) < float(before["x2"])
    assert float(state(figure)["y2"]) > float(before["y2"])
    assert shown() == pytest.approx(expected(), abs=5.1e-3)


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize(
    ("scores", "weights"),
    [("z1=1,z2=0.95,z3=-3,T=2", [1.0, 0, 0]), ("z1=2,z2=2,z3=-3,T=2", [0.5, 0.5, 0])],
)
def test_the_plane_is_to_scale_and_the_way_ends_at_temperature_0(
    explorable, width, scores, weights
):
    page, figure = explorable("blend", scores)
    page.set_viewport_size({"width": width, "height": 700})
    page.wait_for_timeout(200)
    (x1, x2), (y1, y2), end = figure.locator("[data-panel=plane] svg").evaluate("""svg => {
        const at = (axis, text) => [...axis.querySelectorAll(".tick")]
            .find((tick) => tick.textContent === text)
            .getAttribute("transform").match(/[\\d.]+/g).map(Number);
        const [y, x] = svg.querySelectorAll(".axis");
        const way = svg.querySelector(".way");
        const { x: left, y: level } = way.getPointAtLength(way.getTotalLength());
        return [
            ["0.0", "0.8"].map((text) => at(x, text)[0]),
            ["0.0", "0.8"].map((text) => at(y, text)[1]),
            [left, level],
        ];
    }""")
    assert x2 - x1 == pytest.approx(y1 - y2)
    values = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.4, -0.2]])
    x, y = (torch.tensor(weights) @ values).tolist()
    unit = (x2 - x1) / 0.8
    assert end == pytest.approx([x1 + unit * x, y1 - unit * y], abs=1)


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize(
    "setting",
    [
        "T=1",
        "z1=5",
        "z1=5,z2=5",
        "z3=5",
        "z1=5,z2=-5,z3=-5",
        "T=0.1",
        "T=10",
        "x1=0.3,y1=0.3,x2=0.3,y2=0.3,x3=0.3,y3=0.3",
        "x1=-0.4,y1=-0.4,x2=1.1,y2=1.1,x3=0.34,y3=0.34",
        "x1=0,y1=0,x2=1,y2=1,x3=1.1,y3=-0.4",
    ],
)
def test_no_label_stands_on_another_or_on_a_line(explorable, width, setting):
    page, figure = explorable("blend", setting)
    page.set_viewport_size({"width": width, "height": 700})
    page.wait_for_timeout(200)
    labels, met = figure.locator("[data-panel=plane] svg").evaluate("""svg => {
        const labels = [...svg.querySelectorAll(".output text")];
        const boxes = labels.map((label) => label.getBBox())
            .map(({ x, y, width, height }) => [x, y + 4, x + width, y + height - 4]);
        const within = ([left, top, right, bottom]) => ({ x, y }) =>
            x > left && x < right && y > top && y < bottom;
        const met = [];
        boxes.forEach((box, i) => {
            for (const [j, other] of boxes.entries())
                if (j < i && box[0] < other[2] && other[0] < box[2] &&
                    box[1] < other[3] && other[1] < box[3])
                    met.push([labels[i].textContent, labels[j].textContent]);
            for (const line of svg.querySelectorAll(".vectors path, .vectors line")) {
                const length = line.getTotalLength();
                for (let at = 0; at <= length; at += 1)
                    if (within(box)(line.getPointAtLength(at)))
                        return void met.push([labels[i].textContent, line.outerHTML]);
            }
        });
        return [labels.map((label) => label.textContent), met];
    }""")
    assert {"o", "v₁", "v₂", "v₃"} <= {*labels}
    assert met == []


def test_where_the_output_has_been_moves_with_the_triangle_and_stays_in_it(explorable):
    page, figure = explorable("blend", "z1=0,z2=0,z3=0")
    trail = figure.locator("[data-panel=plane] .been circle")
    slider = figure.get_by_label("score z1")
    before = trail.count()
    for number in (1, 2, 3):
        slider.press("PageUp")
        page.wait_for_function(
            "count => document.querySelectorAll('.been circle').length === count",
            arg=before + number,
        )
    drag(page, figure.get_by_role("slider", name="value 3"), 60, -100)
    assert trail.count() == before + 3
    outside = figure.locator("[data-panel=plane] svg").evaluate("""svg => {
        const hull = svg.querySelector(".vectors path");
        return [...svg.querySelectorAll(".been circle")].filter((dot) => {
            const at = new DOMPoint(dot.cx.baseVal.value, dot.cy.baseVal.value);
            return !hull.isPointInFill(at) && !hull.isPointInStroke(at);
        }).length;
    }""")
    assert outside == 0
    figure.get_by_role("button", name="Reset").click()
    wait_for_state(page, "z1=1.25,")
    assert trail.count() == 1


@pytest.mark.parametrize(
    ("to", "nearest"),
    [
        ((0.5, 0.2), (0.5, 0.2)),  # inside
        ((0.9, 0.8), (0.55, 0.45)),  # beyond the edge from the first value to the second
        ((0.3, -0.9), (0.4, -0.2)),  # beyond the third value
    ],
)
def test_the_output_follows_into_the_triangle_and_stops_at_its_edge(explorable, to, nearest):
    page, figure = explorable("blend")
    handle = figure.get_by_role("slider", name="output")
    x0, x1, y0, y1 = figure.locator("[data-panel=plane] svg").evaluate("""svg => {
        const at = (axis, text) => [...axis.querySelectorAll(".tick")]
            .find((tick) => tick.textContent === text)
            .getAttribute("transform").match(/[\\d.]+/g).map(Number);
        const [y, x] = svg.querySelectorAll(".axis");
        return [at(x, "0.0")[0], at(x, "1.0")[0], at(y, "0.0")[1], at(y, "1.0")[1]];
    }""")
    now = torch.softmax(torch.tensor([1.25, 0.8, -0.2]), -1) @ torch.tensor(
        [[0.9, 0.1], [0.2, 0.8], [0.4, -0.2]]
    )
    move = torch.tensor(to) - now
    drag(page, handle, move[0].item() * (x1 - x0), move[1].item() * (y1 - y0))
    text = handle.get_attribute("aria-valuetext")
    assert place(text) == pytest.approx(nearest, abs=0.011)
    assert max(abs(float(state(figure)[f"z{j}"])) for j in (1, 2, 3)) <= 5


def test_the_output_moves_by_the_keyboard(explorable):
    page, figure = explorable("blend")
    handle = figure.get_by_role("slider", name="output")
    x, y = place(handle.get_attribute("aria-valuetext"))
    for _ in range(3):
        handle.press("ArrowDown")
    page.wait_for_function(
        "y => document.querySelector('.explorable-handle[aria-label^=output]')"
        ".ariaValueText.includes(y)",
        arg=f"y {y - 0.06:.2f}",
    )
    assert place(handle.get_attribute("aria-valuetext"))[0] == pytest.approx(x, abs=0.02)


def middle(part):
    box = part.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def move(page, start, end):
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=5)
    page.mouse.up()
    page.wait_for_timeout(100)


@pytest.mark.parametrize("corner", [1, 2, 3])
def test_in_a_corner_the_output_is_taken_at_its_place_and_the_value_by_its_stalk(
    explorable, corner
):
    """At the place where the output was let go, a press takes it again."""
    page, figure = explorable("blend")
    value = figure.get_by_role("slider", name=f"value {corner}")
    output = figure.get_by_role("slider", name="output")
    value.scroll_into_view_if_needed()
    at = middle(value.locator("circle").last)
    move(page, middle(output.locator("circle").last), at)
    assert weights_of(figure)[corner - 1] > 0.99
    before = state(figure)
    inside = middle(figure.locator("[data-panel=plane] .vectors path").first)
    stalk = middle(value.locator("rect.touch"))
    move(page, stalk, (stalk[0] + 0.5 * (inside[0] - at[0]), stalk[1]))
    after = state(figure)
    assert after[f"z{corner}"] == before[f"z{corner}"]
    moved = float(after[f"x{corner}"]) - float(before[f"x{corner}"])
    assert 0.02 < abs(moved) < 0.4  # by as much as the hand, and not to where it is
    page.wait_for_timeout(100)
    at = middle(value.locator("circle").last)
    move(page, at, [(a + b) / 2 for a, b in zip(at, inside, strict=True)])
    assert weights_of(figure)[corner - 1] < 0.9
    assert state(figure)[f"x{corner}"] == after[f"x{corner}"]


def test_small_weights_are_not_written_as_0(explorable):
    _, figure = explorable("blend", "z1=5,z2=-5,z3=-5")
    shares = figure.locator(".explorable-share").all_text_contents()
    assert shares == ["p1 > 0.999", "p2 < 0.001", "p3 < 0.001"]
    assert "o = (> 0.999) v1 + (< 0.001) v2 + (< 0.001) v3 = " in line(figure, 0)


def test_a_value_below_the_output_can_be_taken(explorable):
    page, figure = explorable("blend", "z1=5,z2=-5,z3=-5")
    value = figure.get_by_role("slider", name="value 1")
    value.scroll_into_view_if_needed()
    box = value.locator("circle").last.bounding_box()
    page.mouse.move(box["x"] + 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] - 60, box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    page.wait_for_timeout(100)
    assert float(state(figure)["x1"]) < 0.8


@pytest.mark.parametrize("width", [360, 1280])
def test_all_three_terms_are_seen_and_named_at_the_start(explorable, width):
    page, figure = explorable("blend")
    page.set_viewport_size({"width": width, "height": 800})
    page.wait_for_timeout(200)
    plane = figure.locator("[data-panel=plane] svg")
    assert {"p₁v₁", "p₂v₂", "p₃v₃"} <= {*plane.locator(".output text").all_text_contents()}
    assert plane.locator(".arrows path").count() == 3
    above = plane.evaluate(
        """svg => svg.querySelector(".handles").compareDocumentPosition(
            svg.querySelector(".arrows")) & Node.DOCUMENT_POSITION_FOLLOWING"""
    )
    assert above


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("z1=5,z2=-5,z3=5", "p2 < 0.001, and no weight is below 0: o stops at the edge v1v3."),
        ("z1=-5,z2=5,z3=-5", "p1 and p3 < 0.001, and no weight is below 0: o stops at v2."),
        (
            "x1=-0.4,y1=-0.4,x2=1.1,y2=1.1,x3=0.34,y3=0.34",
            "The values lie on a line, and so does every average of theirs.",
        ),
        (
            "x1=0.3,y1=0.3,x2=0.3,y2=0.3,x3=0.3,y3=0.3",
            "The values are one point, and so is every average of theirs.",
        ),
    ],
)
def test_what_keeps_the_output_is_said(explorable, setting, why):
    _, figure = explorable("blend", setting)
    assert line(figure, 1) == why


def test_each_task_is_followed_by_what_it_showed_and_the_next(explorable):
    page, figure = explorable("blend")
    assert line(figure, 1) == "Can o be brought out of the triangle? Drag it."
    output = figure.get_by_role("slider", name="output")
    drag(page, output, 200, -200)
    assert line(figure, 1).endswith("no weight is below 0: o stops at the edge v1v2.")
    assert line(figure, 2) == "Now drag a value: do the weights change?"
    drag(page, figure.get_by_role("slider", name="value 1"), -30, 30)
    p = weights_of(figure)[0].item()
    assert line(figure, 1) == f"The weights stay. o goes the share p1 = {p:.3f} of the way of v1."
    assert line(figure, 2) == "Now move T: where does o go?"
    figure.get_by_label("temperature T").press("End")
    wait_for_state(page, "T=10,")
    assert line(figure, 1).startswith("T = 10 evens out the weights")
    assert line(figure, 2) == "No scores, no T and no values bring o out of the triangle."
    drag(page, output, 200, -200)
    assert line(figure, 1).startswith("At T = 10 scores of ±5 leave p")
    assert line(figure, 1).endswith(": o stops before the edge.")
    figure.get_by_role("button", name="Reset").click()
    wait_for_state(page, "T=1,")
    assert line(figure, 1) == "Can o be brought out of the triangle? Drag it."


@pytest.mark.parametrize("width", [360, 1280])
def test_what_is_said_moves_nothing_and_is_seen_with_the_controls(explorable, width):
    page, figure = explorable("blend")
    page.set_viewport_size({"width": width, "height": 800})
    said = figure.locator(".explorable-formula")
    heights = set()
    for setting in ("z1=1", "z1=5,z2=-5,z3=5", "z1=5,z2=-5,z3=-5,T=10", "x1=0.3,T=0.1"):
        page.evaluate("address => (location.hash = address)", f"#blend:{setting}")
        wait_for_state(page, setting.rsplit(",", 1)[-1])
        page.wait_for_timeout(100)
        heights.add(round(said.bounding_box()["height"]))
    assert len(heights) == 1
    first = figure.locator(".explorable-controls").first.bounding_box()
    last = said.bounding_box()
    assert last["y"] + last["height"] - first["y"] <= 800 - 52  # under the page's header
