import itertools
import math
import re

import numpy as np
import pytest
import torch

import sdpa_lib as sdpa

from .conftest import wait_for_quiet, wait_for_state

ERROR = 0.1  # of 400 queries or more: other draws of the same thing

NAMES = {"none": "undivided", "sqrt_d_k": "√d_k", "k_mean": "k_mean", "k_total": "k_total"}
"""The divisors that are compared, and what the panels call them."""


def measures(rescaling, n, d_k, a=1.0):
    """Effective keys and gradient, of draws of the test's own with keys a times as long."""
    q, k, v = (
        sdpa.sample(40, size, d, seed=1, stream=s, device="cpu")
        for s, (size, d) in enumerate(((100, d_k), (n, d_k), (n, 64)))
    )
    gradient = sdpa.attention_gradients(q, a * k, v, rescaling=rescaling).query.norm(dim=-1)
    weights = sdpa.attention_weights(q, a * k, rescaling=rescaling)
    return [sdpa.effective_keys(weights).mean().item(), gradient.median().item()]


def told(figure, panel):
    """What a panel says of every divisor."""
    label = figure.locator(f"[data-panel={panel}] svg").get_attribute("aria-label")
    return {
        name: float(re.search(rf"{re.escape(text)} (<? ?[\d.]+)", label)[1].lstrip("< "))
        for name, text in NAMES.items()
    }


def places(figure, panel="evenness"):
    """Where every divisor's marker stands, from the left."""
    marks = figure.locator(f"[data-panel={panel}] .along path[transform]")
    return dict(zip(NAMES, marks.evaluate_all(PLACES), strict=True))


PLACES = "paths => paths.map(path => path.transform.baseVal[0].matrix.e)"


def moved(before, after):
    """Whose markers have been moved."""
    return {name for name in NAMES if abs(after[name] - before[name]) > 2}


def drawn_curve(figure, panel):
    """The points of a curve: their divisors, and how far they are from the top, in pixels."""
    svg = figure.locator(f"[data-panel={panel}] svg")
    points = np.array(svg.locator("path.curve").evaluate(POINTS))
    (_, low), *_, (_, high) = ticks = svg.locator(".axis").last.evaluate(TICKS)
    decades = len(ticks) - 1  # from 0.1
    return 10 ** (decades * (points[:, 0] - low) / (high - low) - 1), points[:, 1]


POINTS = (
    "path => path.getAttribute('d').slice(1).split('L').map(pair => pair.split(',').map(Number))"
)
TICKS = """axis => [...axis.querySelectorAll('.tick')].map(tick => {
    const { e, f } = tick.transform.baseVal[0].matrix;
    return [tick.textContent, Math.max(e, f) - 0.5]; // D3 draws them half a pixel further on
})"""


def line(figure, number):
    """A line below the panels, as one reads it: the first, or the last."""
    return figure.locator(".explorable-line").nth(number).text_content()


@pytest.mark.parametrize("setting", [(32, 64, 1), (32, 64, 10), (256, 16, 0.1), (4, 4, 2)])
def test_what_every_divisor_does_with_longer_keys_is_the_librarys(explorable, setting):
    n, d_k, a = setting
    _, figure = explorable("scalings", f"a={a},n={n},d_k={d_k}")
    keys, gradients = told(figure, "evenness"), told(figure, "gradient")
    for name in NAMES:
        theirs = measures(sdpa.get_rescaling(name), n, d_k, a)
        assert keys[name] == pytest.approx(theirs[0], rel=ERROR)
        if theirs[1] > 0.01:
            assert gradients[name] == pytest.approx(theirs[1], rel=0.15)


@pytest.mark.parametrize(("n", "d_k", "a"), [(4, 4, 1), (32, 64, 10), (256, 16, 0.1)])
@pytest.mark.parametrize("r", [0.3, 1, 20])
def test_the_curve_is_the_librarys(explorable, n, d_k, a, r):
    """Between the stored places, too, and where longer keys have brought it."""
    _, figure = explorable("scalings", f"a={a},n={n},d_k={d_k}")
    divisors, heights = drawn_curve(figure, "evenness")
    (_, none), *_, (_, every) = figure.locator("[data-panel=evenness] .axis").first.evaluate(TICKS)
    height = np.interp(math.log(r * a * d_k**0.5), np.log(divisors), heights)
    keys = n * (none - height) / (none - every)
    theirs = measures(r * a * sdpa.get_rescaling("sqrt_d_k"), n, d_k, a)[0]
    assert keys == pytest.approx(theirs, rel=ERROR)


@pytest.mark.parametrize("panel", ["evenness", "gradient"])
def test_the_curve_has_no_corner(explorable, panel):
    _, figure = explorable("scalings", "a=1")
    points = np.array(figure.locator(f"[data-panel={panel}] path.curve").evaluate(POINTS))
    directions = np.degrees(np.arctan2(*np.diff(points, axis=0).T[::-1]))
    assert np.abs(np.diff(directions)).max() < 3


def test_divisors_are_the_librarys(data):
    table = data["scalings"]
    for name, of_name in table["compared"].items():
        for n, row in zip(table["n"], of_name, strict=True):
            for d_k, ratio in zip(table["d_k"], row, strict=True):
                key = sdpa.sample(2**12 // n, n, d_k, seed=1, device="cpu")
                theirs = sdpa.get_rescaling(name)(key).mean().item() / d_k**0.5
                assert ratio == pytest.approx(theirs, rel=0.03)


def test_each_slider_moves_the_curve_and_some_divisors(explorable):
    page, figure = explorable("scalings", "a=1")
    for label, part, whose, by in (
        ("keys × a", "a=10,", {"k_mean", "k_total"}, 10),
        ("n, keys", "n=256,", {"k_total"}, 1),
        ("dk", "d_k=256", {"sqrt_d_k", "k_mean", "k_total"}, 2),
    ):
        before, half = places(figure), half_of_the_keys(figure)
        figure.get_by_label(label, exact=True).press("End")
        wait_for_state(page, part)
        wait_for_quiet(figure)
        assert moved(before, places(figure)) == whose
        assert half_of_the_keys(figure) / half == pytest.approx(by, rel=0.3)


def half_of_the_keys(figure):
    """The divisor with which a query attends to half of its keys."""
    divisors, heights = drawn_curve(figure, "evenness")
    return np.interp(-np.mean([heights.min(), heights.max()]), -heights, divisors)


def test_the_constants_stay_where_they_are_on_the_axis(explorable):
    page, figure = explorable("scalings", "a=1")
    ones = set()
    for key in ("Home", "End"):
        figure.get_by_label("keys × a", exact=True).press(key)
        wait_for_state(page, f"a={'0.1' if key == 'Home' else '10'},")
        (label, low), (_, at), *_ = figure.locator("[data-panel=evenness] .axis").last.evaluate(
            TICKS
        )
        assert label == "0.1"
        stands = places(figure)
        assert stands["none"] == pytest.approx(at, abs=0.1)
        assert stands["sqrt_d_k"] == pytest.approx(at + math.log10(8) * (at - low), abs=0.1)
        ones.add(stands["k_mean"] > stands["sqrt_d_k"])
    assert ones == {True, False}


def test_a_question_is_answered_when_its_slider_has_been_moved_far(explorable):
    page, figure = explorable("scalings", "a=1")
    lines = figure.locator(".explorable-line")
    question = "Make the keys ten times as long: which divisors follow?"
    assert lines.all_text_contents() == [question]
    slider = figure.get_by_label("keys × a", exact=True)
    slider.press("ArrowRight")  # so little is not seen
    wait_for_state(page, "a=1.12")
    assert lines.all_text_contents() == [question]
    slider.press("ArrowRight")
    wait_for_state(page, "a=1.25")
    assert lines.count() == 2
    assert line(figure, 0).startswith("a moves the curve, kmean and ktotal. ")
    assert line(figure, 1) == question  # until they are longer
    for label, part, answer, then in (
        ("keys × a", "a=10,", "a moves the curve, kmean and ktotal. ", "Now make n larger. "),
        ("n, keys", "n=256,", "n moves one divisor, ktotal: ", "Now change dk. "),
        (
            "dk",
            "d_k=256",
            "dk moves the curve and all divisors but undivided, which stays at 1: ",
            "Only kmean went",
        ),
    ):
        figure.get_by_label(label, exact=True).press("End")
        wait_for_state(page, part)
        assert lines.count() == 2
        assert line(figure, 0).startswith(answer)
        assert line(figure, 1).startswith(then)
    figure.get_by_role("button", name="Reset").click()
    wait_for_state(page, "a=1,")
    assert lines.all_text_contents() == [question]


def test_the_answers_may_come_in_any_order(explorable):
    page, figure = explorable("scalings", "n=256")
    assert line(figure, 0).startswith("n moves")
    assert line(figure, 1).startswith("Make the keys")
    page.evaluate("location.hash = '#scalings:n=256,a=0.1'")
    wait_for_state(page, "a=0.1,n=256,")
    assert line(figure, 0).startswith("a moves")
    assert line(figure, 1).startswith("Now change dk")


@pytest.mark.parametrize(
    ("setting", "name", "numbers"),
    [
        ("a=10", "sqrt_d_k", "stays at 8: {keys} of 32 keys; kmean has 15."),
        ("n=256", "k_total", "ktotal: {keys} of 256 keys, gradient {gradient}. The curve changes"),
        ("d_k=256", "none", "stays at 1: {keys} of 32 keys."),
    ],
)
def test_the_answer_has_the_numbers_that_are_drawn(explorable, setting, name, numbers):
    _, figure = explorable("scalings", setting)
    keys, gradient = (told(figure, panel)[name] for panel in ("evenness", "gradient"))
    assert numbers.format(keys=f"{keys:g}", gradient=f"{gradient:g}") in line(figure, 0)


@pytest.mark.parametrize("setting", ["a=1", "a=0.1,n=4,d_k=4", "a=10,n=256,d_k=256"])
@pytest.mark.parametrize("width", [360, 1280])
def test_names_of_divisors_at_one_place_do_not_touch(explorable, setting, width):
    page, figure = explorable("scalings", setting)
    page.set_viewport_size({"width": width, "height": 800})
    wait_for_quiet(figure)
    for panel in ("evenness", "gradient"):
        svg = figure.locator(f"[data-panel={panel}] svg")
        names = svg.locator(".along text", has_not_text=re.compile("↓|below"))
        assert set(names.all_text_contents()) == {name.replace("_", "") for name in NAMES.values()}
        boxes = names.evaluate_all(BOXES)
        for one, other in itertools.combinations(sorted(boxes), 2):
            (left, size, level), (right, _, other_level) = one, other
            assert left + size < right or abs(level - other_level) >= 14  # the height of letters
        assert min(boxes)[0] >= 0
        assert max(left + size for left, size, _ in boxes) <= svg.bounding_box()["width"]


BOXES = """names => names.map(name => {
    const { x, width } = name.getBBox();
    return [x, width, name.y.baseVal[0].value];
})"""


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("d_k", [4, 64])
def test_names_follow_their_lines_without_a_jump(explorable, width, d_k):
    """From the shortest keys to the longest the mean length goes past both constants."""
    page, figure = explorable("scalings", f"a=0.1,d_k={d_k}")
    page.set_viewport_size({"width": width, "height": 800})
    wait_for_quiet(figure)
    names = figure.locator("[data-panel=evenness] .along text")
    slider = figure.get_by_label("keys × a", exact=True)
    seen = [names.evaluate_all(FROM_THE_LEFT)]
    for _ in range(40):
        drawn = figure.get_attribute("data-state")
        slider.press("ArrowRight")
        page.wait_for_function(
            "drawn => document.querySelector('[data-explorable=scalings]').dataset.state !== drawn",
            arg=drawn,
        )
        seen.append(names.evaluate_all(FROM_THE_LEFT))
    assert "a=10," in figure.get_attribute("data-state")
    assert np.abs(np.diff(seen, axis=0)).max() < 8


FROM_THE_LEFT = "names => names.map(name => name.x.baseVal[0].value)"


def test_the_answer_to_n_says_that_the_curve_changes(explorable):
    """The same divisor leaves another share of the keys, where there are more of them."""
    _, figure = explorable("scalings", "n=256,d_k=64")
    said = re.search(
        r"kmean stays at 8 and has (\d+) % of 4 keys, but (\d+) % of 256", line(figure, 0)
    )
    for share, n in zip(said.groups(), (4, 256), strict=True):
        theirs = measures(sdpa.get_rescaling("k_mean"), n, 64)[0] / n
        assert float(share) / 100 == pytest.approx(theirs, rel=ERROR)


def test_the_curve_glides_from_shape_to_shape(explorable):
    """As a share of the keys, on an axis that stays."""
    page, figure = explorable("scalings", "n=4")
    axis = figure.locator("[data-panel=evenness] .axis").first
    assert axis.locator(".tick text").all_text_contents() == ["0", "n/2", "n"]
    slider = figure.get_by_label("n, keys", exact=True)
    heights = """async () => {
        const path = () => document.querySelector("[data-panel=evenness] path.curve");
        const at = () => path().getPointAtLength(150).y;
        const seen = [at()];
        for (let i = 0; i < 60; i++) {
            await new Promise(requestAnimationFrame);
            seen.push(at());
        }
        return new Set(seen).size;
    }"""
    wait_for_quiet(figure)
    slider.press("End")
    assert page.evaluate(heights) > 4
    wait_for_quiet(figure)
    page.emulate_media(reduced_motion="reduce")
    slider.press("Home")
    assert page.evaluate(heights) <= 2


@pytest.mark.parametrize("width", [360, 1280])
def test_no_line_begins_in_a_lowered_letter(explorable, width):
    page, figure = explorable("scalings", "a=10")
    page.set_viewport_size({"width": width, "height": 800})
    wait_for_quiet(figure)
    names, lines = (
        figure.locator(f"[data-panel=evenness] .along {tag}").evaluate_all(script)
        for tag, script in (
            ("text", "all => all.map(text => text.getBBox().y + text.getBBox().height)"),
            ("line", "all => all.map(line => line.y1.baseVal.value)"),
        )
    )
    for lowest, highest in zip(names, lines[::2], strict=True):  # every other is below the first
        assert lowest <= highest + 3  # the boxes of letters end below them


def test_marks_and_curve_stay_where_the_slider_was_moved_from(explorable):
    """Small and dotted, until it is there again or another is moved."""
    page, figure = explorable("scalings", "a=1")
    heading = figure.locator("[data-panel=evenness] .explorable-panel-title")
    past = figure.locator("[data-panel=evenness] .before path[transform]")
    assert past.count() == 0
    before, shape = (
        places(figure),
        figure.locator("[data-panel=evenness] path.curve").get_attribute("d"),
    )
    slider = figure.get_by_label("keys × a", exact=True)
    slider.press("End")
    wait_for_state(page, "a=10,")
    assert dict(zip(NAMES, past.evaluate_all(PLACES), strict=True)) == pytest.approx(before)
    assert figure.locator("[data-panel=evenness] path.past").get_attribute("d") == shape
    assert heading.text_content() == "effective keys, of n (small, dotted: a = 1)"
    for _ in range(20):
        slider.press("ArrowLeft")
    wait_for_state(page, "a=1,")
    assert past.count() == 0
    assert heading.text_content() == "effective keys, of n"
    slider.press("End")
    wait_for_state(page, "a=10,")
    before = places(figure)
    figure.get_by_label("n, keys", exact=True).press("End")
    wait_for_state(page, "n=256")
    wait_for_quiet(figure)
    assert dict(zip(NAMES, past.evaluate_all(PLACES), strict=True)) == pytest.approx(before)
    assert heading.text_content() == "effective keys, of n (small, dotted: n = 32)"
    figure.get_by_role("button", name="Reset").click()
    wait_for_state(page, "a=1,")
    assert past.count() == 0


def test_controls_panels_and_answer_are_seen_together_on_a_phone(explorable):
    page, figure = explorable("scalings", "a=10")
    page.set_viewport_size({"width": 360, "height": 800})
    wait_for_quiet(figure)
    first = figure.locator(".explorable-controls").first.bounding_box()
    answer = figure.locator(".explorable-formula").bounding_box()
    last = figure.locator("[data-panel=gradient]").bounding_box()
    assert first["y"] + first["height"] < answer["y"] < last["y"]
    assert last["y"] + last["height"] - first["y"] <= 800 - 52  # under the page's header


@pytest.mark.parametrize("a", [1, 10])
def test_the_legend_has_the_divisors_themselves(explorable, a):
    """Longer keys leave the constants as they are: it is the others that change."""
    _, figure = explorable("scalings", f"a={a},n=32,d_k=64")
    key = a * sdpa.sample(200, 32, 64, seed=1, device="cpu")
    sizes = figure.locator(".explorable-legend .explorable-size").all_text_contents()
    for name, text in zip(NAMES, sizes, strict=True):
        theirs = float(torch.as_tensor(sdpa.get_rescaling(name)(key)).mean())
        assert float(text.strip("= ").replace(",", "")) == pytest.approx(theirs, rel=0.03)


def test_what_lies_below_the_axis_is_not_drawn_on_it(explorable):
    _, figure = explorable("scalings", "a=10,n=4,d_k=256")
    panel = figure.locator("[data-panel=gradient] svg")
    assert panel.locator(".along path[transform]").count() == len(NAMES) - 1
    word, arrow = (panel.locator(".along text", has_text=text) for text in ("below", "↓"))
    assert word.count() == arrow.count() == 1
    foot = arrow.evaluate(
        "arrow => [arrow.x.baseVal[0].value, arrow.previousElementSibling.x2.baseVal.value]"
    )
    assert foot[0] == foot[1]  # on its line
    assert "undivided < 0.001" in panel.get_attribute("aria-label")


@pytest.mark.parametrize("width", [360, 1280])
def test_no_setting_changes_the_height(explorable, width):
    page, figure = explorable("scalings", "a=1")
    page.set_viewport_size({"width": width, "height": 700})
    page.wait_for_timeout(200)
    heights = [figure.bounding_box()["height"]]
    for label, part in (("dk", "d_k=4"), ("n, keys", "n=4,"), ("keys × a", "a=0.1,")):
        figure.get_by_label(label, exact=True).press("Home")
        wait_for_state(page, part)
        heights.append(figure.bounding_box()["height"])
    assert max(heights) - min(heights) < 1
