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
