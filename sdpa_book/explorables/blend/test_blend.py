"""The output is the average of the values by the weights, and never leaves their triangle."""

import numpy as np
import pytest
import torch

from ..conftest import act, described, numbers, sentence, slider, state


def standing(figure):
    """The weights and the values that the controls stand for."""
    now = torch.tensor([float(value) for value in state(figure).values()]).double()
    return torch.softmax(now[:3], -1), now[3:].reshape(3, 2)


def output(figure):
    """Where the drawing says that the output is."""
    return numbers(described(figure, "plane"))[6:8]


@pytest.mark.parametrize("setting", ["", "z1=5,z2=-5", "z1=1,z2=0,z3=0.5", "z3=5,x1=-0.36,y1=1.04"])
def test_the_output_is_softmaxs_average_of_the_values(explorable, setting):
    figure = explorable("blend", setting)
    weights, values = standing(figure)
    assert output(figure) == pytest.approx((weights @ values).tolist(), abs=5.1e-3)
    if weights.min() >= 5e-4 and weights.max() <= 0.95:
        assert sum(numbers(sentence(figure))[::2]) == 100
    for share, weight in zip(figure.locator(".explorable-share").all(), weights, strict=True):
        text = share.locator("span").last.text_content()
        assert numbers(text) == [pytest.approx(100 * weight.item(), abs=1)], "nor 0 nor 100"


@pytest.mark.parametrize(
    ("setting", "per_cent"),
    [("z1=0,z2=0,z3=0", [33.3] * 3), ("z1=0,z2=0,z3=-0.02", [33.6, 33.6, 32.9])],
)
def test_equal_weights_are_told_as_equal(explorable, setting, per_cent):
    figure = explorable("blend", setting)
    assert numbers(sentence(figure))[::2] == per_cent
    shares = [numbers(share)[-1] for share in figure.locator(".explorable-share").all_inner_texts()]
    assert shares == per_cent


@pytest.mark.parametrize("setting", ["", "z2=3"])
@pytest.mark.parametrize(("key", "axis", "end"), [("Home", 0, -0.36), ("ArrowDown", 1, None)])
def test_the_output_follows_as_far_as_the_triangle_goes(explorable, setting, key, axis, end):
    figure = explorable("blend", setting)
    asked = output(figure)
    asked[axis] = end or asked[axis] - 0.02
    act(figure, slider(figure, "output").press, key)
    first, second = np.meshgrid(*[np.linspace(0, 1, 201)] * 2)
    weights = np.stack([first, second, 1 - first - second], -1)[first + second <= 1]
    inside = weights @ standing(figure)[1].numpy()
    nearest = inside[np.linalg.norm(inside - asked, axis=-1).argmin()]
    assert output(figure) == pytest.approx(nearest.tolist(), abs=0.025)


def test_what_is_moved_is_answered_and_reset_begins_again(explorable):
    figure = explorable("blend")
    corners, level = np.c_[standing(figure)[1], np.ones(3)], output(figure)[1]
    act(figure, slider(figure, "output").press, "Home")
    needed = 100 * np.linalg.solve(corners.T, [-0.36, level, 1])
    assert numbers(sentence(figure))[:2] == [
        1 + needed.argmin(),
        pytest.approx(needed.min(), abs=1),
    ]
    act(figure, figure.get_by_role("button", name="Reset").click)
    assert sentence(figure).startswith("So far o is inside")
    act(figure, slider(figure, "value 2").press, "End")
    assert numbers(sentence(figure)) == [34, 2]
    act(figure, slider(figure, "score").press, "Home")
    assert "stays inside the triangle" in sentence(figure)
    act(figure, slider(figure, "value 1").press, "End")
    assert "hardly moves" in sentence(figure)


def test_the_ring_that_the_output_was_pulled_to_brings_it_back(explorable):
    figure = explorable("blend")
    figure.scroll_into_view_if_needed()
    output = figure.locator(".explorable-handle circle.ring").nth(3)
    box, mouse = output.bounding_box(), figure.page.mouse
    inside = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    outside = inside[0] - 30, inside[1] - 90
    before = state(figure)
    for start, end in ((inside, outside), (outside, inside)):
        mouse.move(*start)
        mouse.down()
        mouse.move(*end, steps=8)
        mouse.up()
        figure.page.wait_for_timeout(300)
    after = state(figure)
    assert all(after[x] == before[x] for x in ("x1", "y1", "x2", "y2"))
    assert numbers(sentence(figure)) == [53, 1, 34, 2, 13, 3]


@pytest.mark.parametrize(("by", "setting"), [("drag", ""), ("score", "z2=-5,z3=-5")])
def test_a_value_under_the_output_that_came_there_can_be_dragged(explorable, by, setting):
    figure = explorable("blend", setting)
    rings = figure.locator(".explorable-handle circle.ring")
    boxes = [rings.nth(j).bounding_box() for j in (0, 3)]
    value, output = [(b["x"] + b["width"] / 2, b["y"] + b["height"] / 2) for b in boxes]

    def drag(start, end):
        mouse = figure.page.mouse
        mouse.move(*start)
        mouse.down()
        mouse.move(*end, steps=5)
        mouse.up()
        figure.page.wait_for_timeout(300)

    before = float(state(figure)["x1"])
    if by == "drag":
        drag(output, (value[0] + 40, value[1] + 10))
        drag(value, output)  # what was dragged can be dragged back
        assert float(state(figure)["x1"]) == before
        assert numbers(sentence(figure))[0] < 90
        drag(output, (value[0] + 40, value[1] + 10))
        value = (value[0] - 16, value[1])  # the rim is the value's
    else:
        act(figure, slider(figure, "score").press, "End")
    drag(value, (value[0] - 60, value[1]))
    assert float(state(figure)["x1"]) < before - 0.1
