import pytest

import sdpa_lib as sdpa

from .conftest import read, wait_for_state

ERROR = 0.1  # of 800 queries: other draws of the same thing


@pytest.mark.parametrize("name", sdpa.RESCALINGS)
def test_every_rescaling_by_the_keyboard(explorable, name):
    page, figure = explorable("scalings", "rescaling=none,n=32,d_k=64")
    figure.get_by_role("combobox", name="divided by").select_option(name)
    wait_for_state(page, f"rescaling={name},")
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


def test_all_rescalings_stand_side_by_side(explorable):
    _, figure = explorable("scalings")
    options = figure.get_by_role("combobox", name="divided by").locator("option")
    assert options.evaluate_all("all => all.map(option => [option.value, option.text])") == [
        [name, rescaling.label] for name, rescaling in sdpa.RESCALINGS.items()
    ]
    for panel in ("evenness", "gradient"):
        drawn = figure.locator(f"[data-panel={panel}] svg")
        assert drawn.locator(".rows path").count() == len(sdpa.RESCALINGS)
        text = drawn.get_attribute("aria-label")
        assert [r.label for r in sdpa.RESCALINGS.values() if r.label not in text] == []
        # Names end where their rows begin.
        ends = drawn.locator(".rows text:not(.rim)").evaluate_all(
            "names => names.map(name => name.getBBox().x + name.getBBox().width)"
        )
        begin = drawn.locator(".rows line").first.evaluate("row => row.getBBox().x")
        assert max(ends) <= begin
