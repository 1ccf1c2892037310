import math
import re

import numpy as np
import pytest

import sdpa_lib as sdpa

from .conftest import state, wait_for_state


def std(figure, panel):
    """The standard deviation that stands above a panel's bar."""
    text = figure.locator(f"[data-panel={panel}] .notes text").text_content()
    return float(text.removeprefix("±"))


def test_growth_by_the_keyboard(explorable):
    page, figure = explorable("growth", "d_k=64,p=0.5")
    assert std(figure, "raw") == math.sqrt(sdpa.exact_moments(64).variance)
    assert std(figure, "divided") == 1
    figure.get_by_label("dk, components").press("ArrowRight")
    figure.get_by_label("p, the power").press("Home")
    wait_for_state(page, "d_k=128,p=0,")
    expected = math.sqrt(sdpa.exact_moments(128).variance)
    assert std(figure, "divided") == pytest.approx(expected, rel=0.005)
    page.wait_for_function("location.hash === '#growth:d_k=128,p=0,components=normal'")
    assert "Standard deviation 11.3" in figure.locator(".explorable-spoken").inner_text()


@pytest.mark.parametrize("distribution", sdpa.DISTRIBUTIONS)
def test_every_distribution_walks_and_has_its_density(explorable, distribution):
    page, figure = explorable("growth", f"d_k=1,p=0,components={distribution}")
    assert state(figure)["components"] == distribution
    panel = figure.locator("[data-panel=divided] svg")
    for d_k in (1, 2, 512):
        page.evaluate(f"location.hash = '#growth:d_k={d_k},p=0,components={distribution}'")
        wait_for_state(page, f"d_k={d_k},")
        assert "NaN" not in panel.inner_html()
        expected = math.sqrt(sdpa.exact_moments(d_k, query=distribution).variance)
        assert std(figure, "raw") == pytest.approx(expected, rel=0.005)
        # Five standard deviations to each side, but for a lattice, which may end before.
        box = figure.locator("[data-panel=raw] .densities").evaluate("g => g.getBBox().height")
        axis = figure.locator("[data-panel=raw] .axis .domain").first
        height = axis.evaluate("line => line.getBBox().height")
        least = 1 if distribution == "rademacher" and d_k < 16 else 5
        assert box >= least * height * expected / 36 - 6


def test_walks_are_the_sums_of_one_term_after_another(explorable, scripts):
    _, figure = explorable("growth", "d_k=64,p=0.25")
    for panel, reach, divisor in (("raw", 36, 1), ("divided", 6, 64**0.25)):
        ways = figure.locator(f"[data-panel={panel}] .fan path").evaluate_all(
            "paths => paths.map(path => path.getAttribute('d'))"
        )
        assert len(ways) == 30
        low, high = (
            float(figure.locator(f"[data-panel={panel}] .axis .tick").nth(at)
                  .get_attribute("transform").split(",")[1].rstrip(")"))
            for at in (0, 4)
        )  # fmt: skip
        for pair in (0, 7, 29):
            two = """(pair) => {
                const uniform = Explorables.math.makeGenerator(pair);
                return [0, 1].map(() => [...Explorables.math.sample(512, "normal", uniform)]);
            }"""
            query, key = np.array(scripts(two, [(pair,)])[0])
            sums = np.append(0, np.cumsum(query * key)[:64]) / divisor
            drawn = [float(y) for y in re.findall(r",(-?[\d.]+)", ways[pair])]
            expected = low + (sums + reach) / (2 * reach) * (high - low)
            assert drawn == pytest.approx(expected.tolist(), abs=0.6)


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
        assert ("64 and 128: the bar stays" in formula.inner_text()) is law
    page.evaluate("location.hash = '#growth:d_k=4,p=0'")
    wait_for_state(page, "d_k=4,p=0,")
    assert "1 − 2p" in formula.inner_text()  # what was found stays
    assert "±2.00 at dk = 4, ±11.3 at 128: the bar grows" in formula.text_content()


def test_every_power_has_its_sentence_after_two_dimensions(explorable):
    page, figure = explorable("growth", "d_k=4,p=0.45")
    formula = figure.locator(".explorable-formula")
    assert "bar grows" not in formula.text_content()
    for setting, said in (
        ("512,p=0.45", f"±{4**0.05:.2f} at dk = 4, ±{512**0.05:.2f} at 512: the bar grows."),
        ("512,p=0.5", "Its dots lie level: move dk to confirm."),
        ("512,p=0.6", f"±{4**-0.1:.3f} at dk = 4, ±{512**-0.1:.3f} at 512: the bar shrinks."),
    ):
        page.evaluate(f"location.hash = '#growth:d_k={setting}'")
        wait_for_state(page, f"d_k={setting},")
        assert formula.text_content().endswith(said)


def test_the_strip_has_the_places_visited_and_the_line_once_it_is_found(explorable):
    page, figure = explorable("growth", "d_k=4,p=0")
    axis = figure.locator("[data-panel=divided] .axis").first
    before = axis.text_content()
    strip = figure.locator("[data-panel=spread] svg")
    settings = ("512,p=0", 2, False), ("64,p=1", 3, False), ("64,p=0.5", 3, False)
    for setting, dots, found in (*settings, ("512,p=0.5", 3, True)):
        page.evaluate(f"location.hash = '#growth:d_k={setting}'")
        wait_for_state(page, f"d_k={setting},")
        assert axis.text_content() == before  # the axes stand still
        assert strip.locator(".visited circle").count() == dots
        assert strip.locator(".visited line").count() == found
    levels = strip.locator(".visited circle").evaluate_all(
        "dots => dots.map(dot => dot.getAttribute('cy'))"
    )
    assert len(set(levels)) == 1
    assert "1.00 at 512" in strip.get_attribute("aria-label")
    figure.get_by_role("button", name="Reset").click()
    wait_for_state(page, "d_k=4,p=0,")
    assert strip.locator(".visited circle").count() == 1
    assert strip.locator(".visited line").count() == 0


def test_the_curve_from_before_a_slider_was_taken_stays_behind(explorable):
    page, figure = explorable("growth", "d_k=64,p=0")
    curves = figure.locator("[data-panel=raw] .densities path")
    assert curves.count() == 1
    before = curves.get_attribute("d")
    slider = figure.get_by_label("dk, components")
    for d_k in (128, 256):  # not the step before, but where the slider was taken
        slider.press("ArrowRight")
        wait_for_state(page, f"d_k={d_k},")
        assert curves.first.get_attribute("d") == before
    bars = figure.locator("[data-panel=raw] .bar")
    lengths = bars.evaluate_all("all => all.map(bar => bar.getBBox().width)")
    assert lengths[1] == pytest.approx(2 * lengths[0])  # of 64 components, pale, and of 256
    figure.get_by_role("button", name="Reset").click()
    wait_for_state(page, "d_k=4,")
    assert curves.count() == 1
    assert bars.count() == 1


@pytest.mark.parametrize(("d_k", "p"), [(64, 0), (512, 0)])
def test_what_is_farther_out_than_the_axis_leaves_the_frame(explorable, d_k, p):
    """Its points are not moved to the frame, which cuts it off."""
    _, figure = explorable("growth", f"d_k={d_k},p={p}")
    panel = figure.locator("[data-panel=divided] svg")
    curve, frame = (
        panel.locator(name).nth(0).evaluate("shape => shape.getBBox().y")
        for name in (".densities path", "clipPath rect")
    )
    assert curve < frame - 20
    for group in (".densities", ".fan"):
        assert "url(#growth-divided)" in panel.locator(group).get_attribute("clip-path")
