import re

import numpy as np
import pytest

import sdpa_lib as sdpa

from .conftest import read, wait_for_state

ERROR = 0.1  # of 400 queries or more: other draws of the same thing


NAMES = {"none": "undivided", "sqrt_d_k": "√dk", "k_mean": "kmean", "k_total": "ktotal"}
"""The divisors that are compared, and what their buttons say."""


def measures(rescaling, n, d_k):
    """The divisor over the root, effective keys and gradient, of draws of the test's own."""
    q, k, v = (
        sdpa.sample(40, size, d, seed=1, stream=s, device="cpu")
        for s, (size, d) in enumerate(((100, d_k), (n, d_k), (n, 64)))
    )
    gradient = sdpa.attention_gradients(q, k, v, rescaling=rescaling).query.norm(dim=-1)
    return {
        "ratio": (rescaling(k).mean() / d_k**0.5).item(),
        "effective": sdpa.effective_keys(sdpa.attention_weights(q, k, rescaling=rescaling))
        .mean()
        .item(),
        "gradient": gradient.median().item(),
    }


@pytest.mark.parametrize("name", NAMES)
def test_every_divisor_by_the_keyboard(explorable, name):
    page, figure = explorable("scalings", "rescaling=k_total,n=16,d_k=64")
    button = figure.get_by_role("button", name=NAMES[name], exact=True)
    button.press("Enter")
    wait_for_state(page, f"rescaling={name},")
    assert button.get_attribute("aria-pressed") == "true"
    assert figure.locator("[aria-pressed=true]").count() == 1
    figure.get_by_label("n, keys").press("ArrowRight")
    wait_for_state(page, "n=32,")
    theirs = measures(sdpa.get_rescaling(name), 32, 64)
    assert {key: read(figure, key) for key in theirs} == pytest.approx(theirs, rel=ERROR)


@pytest.mark.parametrize(("n", "d_k"), [(4, 4), (32, 64), (256, 16)])
@pytest.mark.parametrize("r", [0.25, 1, 32])
def test_the_curves_are_the_librarys(data, n, d_k, r):
    table = data["scalings"]
    along = table["along"][table["n"].index(n)][table["d_k"].index(d_k)]
    stored = along[table["ratios"].index(r)]
    theirs = measures(r * sdpa.get_rescaling("sqrt_d_k"), n, d_k)
    assert stored == pytest.approx([theirs["effective"], theirs["gradient"]], rel=ERROR)


def test_divisors_lie_on_their_curves(data):
    """They were measured on the same draws; between two places of a curve its line is straight."""
    table = data["scalings"]
    at = np.log(table["ratios"])
    for of_name in table["compared"].values():
        for along_n, row in zip(table["along"], of_name, strict=True):
            for along, (ratio, effective, gradient) in zip(along_n, row, strict=True):
                keys, gradients = np.array(along).T
                assert effective == pytest.approx(np.interp(np.log(ratio), at, keys), rel=0.03)
                on_it = np.exp(np.interp(np.log(ratio), at, np.log(gradients)))
                assert gradient == pytest.approx(on_it, rel=0.1)


@pytest.mark.parametrize(("name", "larger"), [("none", True), ("k_total", False)])
def test_the_comparison_with_the_root_is_drawn_and_said(explorable, name, larger):
    page, figure = explorable("scalings", "rescaling=sqrt_d_k")
    root = read(figure, "gradient")
    figure.get_by_role("button", name=NAMES[name], exact=True).press("Enter")
    wait_for_state(page, f"rescaling={name},")
    ratio = read(figure, "gradient") / root
    assert (ratio > 1) == larger
    said = figure.locator(".explorable-formula").inner_text()
    assert float(re.search(r"gradient is ([\d.]+) times", said)[1]) == pytest.approx(
        ratio, rel=0.05
    )
    shown = figure.locator("[data-panel=gradient] .along text").text_content()
    assert float(shown.removeprefix("× ")) == pytest.approx(ratio, rel=0.05)
    page.wait_for_timeout(1000)  # it has glided there
    for panel in ("evenness", "gradient"):
        ends = figure.locator(f"[data-panel={panel}] .along path").evaluate_all(
            "paths => paths.filter(path => path.style.strokeWidth === '4')"
            ".map(path => path.getBBox()).map(b => [b.x, b.x + b.width])"
        )
        marks = figure.locator(f"[data-panel={panel}] .along path[transform]").evaluate_all(
            "paths => paths.map(path => path.transform.baseVal[0].matrix.e)"
        )
        assert len(marks) == len(NAMES)
        assert min(abs(end - marks[-1]) for end in ends[0]) < 1  # the chosen one's comes last


def test_the_sum_runs_away_with_the_keys_and_the_root_stays(explorable):
    page, figure = explorable("scalings", "rescaling=k_total,n=4,d_k=64")
    slider = figure.get_by_label("n, keys")
    before = read(figure, "gradient"), read(figure, "ratio")
    slider.press("End")
    wait_for_state(page, "n=256,")
    assert read(figure, "ratio") == pytest.approx(64 * before[1], rel=0.05)
    assert read(figure, "gradient") < before[0] / 64


@pytest.mark.parametrize("width", [360, 1280])
def test_no_choice_changes_the_height(explorable, width):
    page, figure = explorable("scalings", "rescaling=none,n=256,d_k=256")
    page.set_viewport_size({"width": width, "height": 700})
    page.wait_for_timeout(200)
    heights = set()
    for at in range(len(NAMES)):
        figure.locator(".explorable-buttons button").nth(at).press("Enter")
        page.wait_for_timeout(200)
        heights.add(round(figure.bounding_box()["height"]))
    assert len(heights) == 1
