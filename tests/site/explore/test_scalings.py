import math
import re

import numpy as np
import pytest
import torch

import sdpa_lib as sdpa

from .conftest import wait_for_state

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


def ways(figure, panel="evenness"):
    """How far every divisor has been moved, in pixels."""
    drawn = figure.locator(f"[data-panel={panel}] [data-way]")
    return {
        path.get_attribute("data-way"): path.evaluate("path => path.getBBox().width")
        for path in drawn.all()
    }


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


@pytest.mark.parametrize(("n", "d_k"), [(4, 4), (32, 64), (256, 16)])
@pytest.mark.parametrize("r", [0.25, 1, 32])
def test_the_curves_are_the_librarys(data, n, d_k, r):
    table = data["scalings"]
    at = table["n"].index(n), table["d_k"].index(d_k)
    stored = np.array(table["along"][at[0]][at[1]])
    keys = np.interp(math.log(r), np.log(table["ratios"]), stored[:, 0])
    gradient = math.exp(
        np.interp(math.log(r), np.log(table["ratios"]), np.log(stored[:, 1].clip(1e-9)))
    )
    theirs = measures(r * sdpa.get_rescaling("sqrt_d_k"), n, d_k)
    assert [keys, gradient] == pytest.approx(theirs, rel=ERROR)


def test_divisors_are_the_librarys(data):
    table = data["scalings"]
    for name, of_name in table["compared"].items():
        for n, row in zip(table["n"], of_name, strict=True):
            for d_k, ratio in zip(table["d_k"], row, strict=True):
                key = sdpa.sample(2**12 // n, n, d_k, seed=1, device="cpu")
                theirs = sdpa.get_rescaling(name)(key).mean().item() / d_k**0.5
                assert ratio == pytest.approx(theirs, rel=0.03)


def test_every_slider_moves_some_divisors_and_none_moves_the_mean_length(explorable):
    page, figure = explorable("scalings", "a=1")
    formula = figure.locator(".explorable-formula")
    assert "Which" in formula.inner_text()
    moved_by = {
        "keys × a": ({"none", "sqrt_d_k"}, "a=10,"),
        "n, keys": ({"none", "sqrt_d_k", "k_total"}, "n=256,"),
        "dk": ({"none", "sqrt_d_k", "k_total"}, "d_k=256,"),
    }
    before = places(figure)
    for label, (moved, part) in moved_by.items():
        assert "kept" not in formula.inner_text()
        figure.get_by_label(label, exact=True).press("End")
        wait_for_state(page, part)
        gone = {name for name, width in ways(figure).items() if width > 10}
        assert gone == moved
    assert "Only kmean has kept its place" in formula.inner_text().replace("\n", "")
    assert places(figure)["k_mean"] == pytest.approx(before["k_mean"], abs=2)
    figure.get_by_role("button", name="Reset").click()
    wait_for_state(page, "a=1,")
    assert max(ways(figure).values()) == 0
    assert "Which" in formula.inner_text()


@pytest.mark.parametrize("panel", ["evenness", "gradient"])
@pytest.mark.parametrize("width", [360, 1280])
def test_no_way_hides_another(explorable, panel, width):
    page, figure = explorable("scalings", "a=1")
    page.set_viewport_size({"width": width, "height": 700})
    for label, key, part in (
        ("keys × a", "Home", "a=0.1,"),
        ("dk", "Home", "d_k=4,"),
        ("n, keys", "Home", "n=4,"),
    ):
        figure.get_by_label(label, exact=True).press(key)
        wait_for_state(page, part)
    drawn = figure.locator(f"[data-panel={panel}] [data-way]").evaluate_all(
        """paths => paths.map(path => Array.from({ length: 101 }, (_, i) =>
            path.getPointAtLength((i * path.getTotalLength()) / 100)).map(p => [p.x, p.y]))"""
    )
    none, root, _, total = drawn  # the mean length has no way
    for one, other in ((none, root), (none, total), (root, total)):
        (first, second) = ([x for x, _ in way] for way in (one, other))
        assert min(first) < max(second), "they run beside each other"
        assert min(second) < max(first), "they run beside each other"
        assert min(math.dist(a, b) for a in one for b in other) > 4.5  # 4 wide, and a gap


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("a=10", "kmean and ktotal stay. Now move n and d_k: one of them goes."),
        ("n=256", "undivided, √dk and kmean stay. Now move a and d_k: two of them go."),
        ("a=10,n=256", "kmean stays. Now move d_k."),
    ],
)
def test_the_sentence_names_all_that_have_kept_their_place(explorable, setting, said):
    _, figure = explorable("scalings", setting)
    text = figure.locator(".explorable-line").last.text_content()
    assert text == said.replace("d_k", "dk")


def test_the_sentence_says_what_a_query_attends_to(explorable):
    page, figure = explorable("scalings", "a=10")
    line = figure.locator(".explorable-line").first
    told_keys = told(figure, "evenness")
    attended = (
        f"ivided by √dk, a query attends to {told_keys['sqrt_d_k']:.1f} of 32 keys; "
        f"by kmean, to {told_keys['k_mean']:.0f}."
    )
    assert line.text_content() == f"Keys 10 times as long: d{attended}"
    page.evaluate("location.hash = '#scalings:a=1,n=256'")
    wait_for_state(page, "a=1,n=256,")
    assert line.text_content().startswith("Divided by √dk, a query attends to ")


@pytest.mark.parametrize("a", [1, 10])
def test_the_legend_has_the_divisors_themselves(explorable, a):
    """Longer keys leave the constants as they are: it is the others that change."""
    _, figure = explorable("scalings", f"a={a},n=32,d_k=64")
    key = a * sdpa.sample(200, 32, 64, seed=1, device="cpu")
    sizes = figure.locator(".explorable-legend .explorable-size").all_text_contents()
    for name, text in zip(NAMES, sizes, strict=True):
        theirs = float(torch.as_tensor(sdpa.get_rescaling(name)(key)).mean())
        assert float(text.strip("= ").replace(",", "")) == pytest.approx(theirs, rel=0.03)


def test_the_dial_stands_at_the_root_at_first_and_reads_the_curves(explorable):
    page, figure = explorable("scalings")
    dial = figure.get_by_role("slider", name="divisor, in key lengths")
    assert dial.evaluate("g => g.transform.baseVal[0].matrix.e") == pytest.approx(
        places(figure)["sqrt_d_k"], abs=0.5
    )
    root = measures(sdpa.get_rescaling("sqrt_d_k"), 32, 64)

    def read():
        keys = figure.locator("[data-panel=evenness] .under text").first.text_content()
        gradient = figure.locator("[data-panel=gradient] .under text").text_content()
        assert keys.endswith(" of 32 keys")
        return [float(keys.split()[0]), float(gradient)]

    assert read() == pytest.approx(root, rel=ERROR)
    for _ in range(8):
        dial.press("ArrowRight")
    wait_for_state(page, "r=4")
    theirs = measures(4 * sdpa.get_rescaling("sqrt_d_k"), 32, 64)
    assert read() == pytest.approx(theirs, rel=ERROR)


def test_what_lies_below_the_axis_is_not_drawn_on_it(explorable):
    _, figure = explorable("scalings", "a=10,n=4,d_k=256,r=0.0078125")
    panel = figure.locator("[data-panel=gradient] svg")
    assert panel.locator(".along path[transform]").count() == len(NAMES) - 1
    assert panel.locator(".along text").text_content() == "↓"
    assert panel.locator(".under text").text_content() == "< 0.001"
    assert panel.locator(".under circle").count() == 0


@pytest.mark.parametrize("width", [360, 1280])
def test_no_setting_changes_the_height(explorable, width):
    page, figure = explorable("scalings", "a=1")
    page.set_viewport_size({"width": width, "height": 700})
    page.wait_for_timeout(200)
    heights = [figure.bounding_box()["height"]]
    for label, part in (("keys × a", "a=0.1,"), ("n, keys", "n=4,"), ("dk", "d_k=4,")):
        figure.get_by_label(label, exact=True).press("Home")
        wait_for_state(page, part)
        heights.append(figure.bounding_box()["height"])
    assert max(heights) - min(heights) < 1
