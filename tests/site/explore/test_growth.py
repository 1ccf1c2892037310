import math

import pytest

import sdpa_lib as sdpa

from .conftest import read, state, wait_for_state


def test_growth_by_the_keyboard(explorable):
    page, figure = explorable("growth", "d_k=64,p=0.5")
    assert read(figure, "raw_std") == pytest.approx(math.sqrt(sdpa.exact_moments(64).variance))
    assert read(figure, "std") == pytest.approx(1)
    figure.get_by_label("dk, components").press("ArrowRight")
    figure.get_by_label("p, the power").press("Home")
    page.wait_for_function("document.querySelector('[data-readout=std]').dataset.value > 11")
    assert read(figure, "variance") == pytest.approx(sdpa.exact_moments(128).variance)
    page.wait_for_function("location.hash === '#growth:d_k=128,p=0,components=normal'")
    assert "Standard deviation 11.3" in figure.locator(".explorable-spoken").inner_text()


@pytest.mark.parametrize("distribution", sdpa.DISTRIBUTIONS)
def test_every_distribution_is_drawn_over_the_whole_range(explorable, distribution):
    page, figure = explorable("growth", f"d_k=1,p=0,components={distribution}")
    assert state(figure)["components"] == distribution
    panel = figure.locator("[data-panel=divided] svg")
    for d_k in (1, 2, 512):
        page.evaluate(f"location.hash = '#growth:d_k={d_k},p=0,components={distribution}'")
        wait_for_state(page, f"d_k={d_k},")
        assert "NaN" not in panel.inner_html()
        assert read(figure, "raw_std") == pytest.approx(
            math.sqrt(sdpa.exact_moments(d_k, query=distribution).variance)
        )
        # Seven to each side; the lattice's last point lies at 5 standard deviations, or before.
        box = panel.locator(".densities").evaluate("group => group.getBBox().width")
        axis = panel.locator(".axis .domain").last.evaluate("line => line.getBBox().width")
        assert box >= axis * min(5 * math.sqrt(d_k), 7) / 7 - 6


def test_a_bar_that_is_longer_than_the_axis_ends_in_arrows(explorable):
    page, figure = explorable("growth", "d_k=16,p=0")
    panel = figure.locator("[data-panel=divided] svg")

    def ends():
        shape = panel.locator(".bar").get_attribute("d")
        return {"cap": shape.count("v8"), "arrow": shape.count("L") // 2}

    assert ends() == {"cap": 2, "arrow": 0}
    page.evaluate("location.hash = '#growth:d_k=64,p=0,components=normal'")
    wait_for_state(page, "d_k=64,")
    assert ends() == {"cap": 0, "arrow": 2}
    assert "leaves the axis" in panel.get_attribute("aria-label")


def test_the_law_is_shown_when_the_reader_has_found_the_power(explorable):
    page, figure = explorable("growth", "d_k=64,p=0.45")
    formula = figure.locator(".explorable-formula")
    for setting, law in (("64,p=0.5", False), ("128,p=0.55", False), ("128,p=0.5", True)):
        page.evaluate(f"location.hash = '#growth:d_k={setting}'")
        wait_for_state(page, f"d_k={setting},")
        assert ("1 − 2p" in formula.inner_text()) is law
    page.evaluate("location.hash = '#growth:d_k=4,p=0'")
    wait_for_state(page, "d_k=4,p=0,")
    assert "1 − 2p" in formula.inner_text()  # what was found stays


def test_the_axes_stand_still_and_the_strip_is_level_at_one_half(explorable):
    page, figure = explorable("growth", "d_k=4,p=0")
    axis = figure.locator("[data-panel=divided] .axis").first
    before = axis.text_content()
    strip = figure.locator("[data-panel=spread] svg")

    def ends():
        (line,) = strip.locator(".line line").all()  # no pale one: nothing was taken hold of
        return [float(line.get_attribute(end)) for end in ("y1", "y2")]

    assert ends()[0] > ends()[1]
    for setting, level in (("512,p=1", False), ("512,p=0.5", True)):
        page.evaluate(f"location.hash = '#growth:d_k={setting}'")
        wait_for_state(page, f"d_k={setting},")
        assert axis.text_content() == before
        assert (ends()[0] == ends()[1]) is level
        wedge = strip.locator(".wedge").evaluate("path => path.getBBox().height")
        assert (wedge == 0) is level
    assert "1.00 at 256" in strip.get_attribute("aria-label")


def test_the_curve_from_before_a_slider_was_taken_stays_behind(explorable):
    page, figure = explorable("growth", "d_k=64,p=0")
    ghost = figure.locator("[data-panel=raw] .ghost path")
    curve = figure.locator("[data-panel=raw] .densities path").nth(1)
    assert ghost.count() == 0
    before = curve.get_attribute("d")
    slider = figure.get_by_label("dk, components")
    for d_k in (128, 256):  # not the step before, but where the slider was taken
        slider.press("ArrowRight")
        wait_for_state(page, f"d_k={d_k},")
        assert ghost.get_attribute("d") == before
    bars = figure.locator("[data-panel=raw] .bar")
    lengths = bars.evaluate_all("all => all.map(bar => bar.getBBox().width)")
    assert lengths[1] == pytest.approx(2 * lengths[0])  # of 64 components, pale, and of 256
    figure.get_by_role("button", name="Reset").click()
    wait_for_state(page, "d_k=4,")
    assert ghost.count() == 0
    assert bars.count() == 1


@pytest.mark.parametrize(("d_k", "p"), [(1, 0), (1, 1), (512, 1)])
def test_a_curve_that_is_higher_than_the_axis_leaves_the_frame(explorable, d_k, p):
    """Its points are not moved to the frame, which cuts it off."""
    _, figure = explorable("growth", f"d_k={d_k},p={p}")
    panel = figure.locator("[data-panel=divided] svg")
    curve, frame = (
        panel.locator(name).nth(0).evaluate("shape => shape.getBBox().y")
        for name in (".densities path", "clipPath rect")
    )
    assert curve < frame - 20
    assert "url(#growth-divided)" in panel.locator(".densities").get_attribute("clip-path")
