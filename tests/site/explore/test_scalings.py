import re

import pytest

import sdpa_lib as sdpa

from .conftest import read, wait_for_state

ERROR = 0.1  # of 800 queries: other draws of the same thing


NAMES = {"none": "undivided", "sqrt_d_k": "√dk", "k_mean": "kmean", "k_total": "ktotal"}
"""The divisors that are compared, and what their buttons say."""


@pytest.mark.parametrize("name", NAMES)
def test_every_divisor_by_the_keyboard(explorable, name):
    page, figure = explorable("scalings", "rescaling=k_total,n=32,d_k=64")
    button = figure.get_by_role("button", name=NAMES[name], exact=True)
    button.press("Enter")
    wait_for_state(page, f"rescaling={name},")
    assert button.get_attribute("aria-pressed") == "true"
    assert figure.locator("[aria-pressed=true]").count() == 1
    q = sdpa.sample(100, 50, 64, seed=0, device="cpu")
    k = sdpa.sample(100, 32, 64, seed=0, stream=1, device="cpu")
    v = sdpa.sample(100, 32, 64, seed=0, stream=2, device="cpu")
    weights = sdpa.attention_weights(q, k, rescaling=name)
    gradient = sdpa.attention_gradients(q, k, v, rescaling=name).query.norm(dim=-1).median()
    expected = {
        "divisor": sdpa.get_rescaling(name)(k).mean(),
        "effective": sdpa.effective_keys(weights).mean(),
        "largest": 32 * sdpa.largest_weight(weights).mean(),
        "gradient": gradient,
    }
    shown = {measure: read(figure, measure) for measure in expected}
    theirs = {measure: value.item() for measure, value in expected.items()}
    assert shown == pytest.approx(theirs, rel=ERROR)
    figure.get_by_label("n, keys").press("ArrowRight")
    wait_for_state(page, "n=64,")
    assert 1 <= read(figure, "effective") <= 64


def test_the_box_compares_the_gradient_with_the_root(explorable):
    page, figure = explorable("scalings", "rescaling=sqrt_d_k")
    root = read(figure, "gradient")
    box = figure.locator(".explorable-formula")
    assert "Others are compared" in box.inner_text()
    for name in ("none", "k_total"):
        page.evaluate(f"location.hash = '#scalings:rescaling={name}'")
        wait_for_state(page, f"rescaling={name},")
        ratio = float(re.search(r"The root has ([\d.]+) times", box.inner_text())[1])
        assert ratio == pytest.approx(root / read(figure, "gradient"), rel=0.01)


def test_no_choice_changes_the_height_on_a_phone(explorable):
    page, figure = explorable("scalings", "rescaling=none,n=256,d_k=256")
    page.set_viewport_size({"width": 360, "height": 700})
    page.wait_for_timeout(200)
    heights = set()
    for at in range(len(NAMES)):
        figure.locator(".explorable-buttons button").nth(at).press("Enter")
        page.wait_for_timeout(200)
        heights.add(figure.bounding_box()["height"])
    assert len(heights) == 1


@pytest.mark.parametrize("panel", ["evenness", "gradient"])
def test_all_divisors_stand_side_by_side_and_a_press_on_a_row_chooses_it(explorable, panel):
    page, figure = explorable("scalings")
    drawn = figure.locator(f"[data-panel={panel}] svg")
    assert drawn.locator(".rows path").count() == len(NAMES)
    # Names end where their rows begin, the chosen one's, too, which is bold.
    for at, name in enumerate(NAMES):
        drawn.locator(".rows rect").nth(at).click()
        wait_for_state(page, f"rescaling={name},")
        ends = drawn.locator(".rows text:not(.rim)").evaluate_all(
            "names => names.map(name => name.getBBox().x + name.getBBox().width)"
        )
        begin = drawn.locator(".rows line").first.evaluate("row => row.getBBox().x")
        assert max(ends) <= begin


def test_the_histogram_holds_every_weight_and_tells_a_needle_from_a_spread(explorable):
    page, figure = explorable("scalings", "rescaling=k_total,n=256,d_k=256")
    shape = figure.locator("[data-panel=shape] svg")
    assert "↑ 100 %" in shape.text_content()  # all weights in the bin of the even share
    page.evaluate("location.hash = '#scalings:rescaling=none,n=256,d_k=256'")
    wait_for_state(page, "rescaling=none,")
    q = sdpa.sample(100, 50, 256, seed=0, device="cpu")
    k = sdpa.sample(100, 256, 256, seed=0, stream=1, device="cpu")
    first = 256 * sdpa.attention_weights(q, k, rescaling="none")[..., 0]
    smaller = float(re.search(r"← (\d+) % smaller", shape.text_content())[1])
    assert smaller == pytest.approx(100 * (first < 10**-3.1).float().mean().item(), abs=3)
