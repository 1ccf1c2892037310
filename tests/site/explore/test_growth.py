"""Dot products spread with d_k, and one power of it takes that back."""

import math
import re

import numpy as np
import pytest

from sdpa_lib.moments import exact_moments
from sdpa_lib.sampling import DISTRIBUTIONS

from .conftest import SAMPLE, described, go, numbers, said


def test_the_spread_is_the_librarys_and_each_distribution_is_drawn(explorable):
    figure = explorable("growth")
    shapes = set()
    for distribution in DISTRIBUTIONS:
        for d_k, p in ((1, 0), (128, 0.5), (16, 0.25), (4, 1)):
            go(figure, f"d_k={d_k},p={p},components={distribution}")
            std = math.sqrt(exact_moments(d_k, query=distribution).variance)
            for panel, divided in (("raw", std), ("divided", std / d_k**p)):
                shown = figure.locator(f"[data-panel={panel}] .notes text").text_content()
                assert numbers(shown) == pytest.approx([divided], rel=0.005)
        for group in ("densities", "fan"):
            shapes.add(figure.locator(f"[data-panel=raw] .{group}").inner_html())
    assert len(shapes) == 2 * len(DISTRIBUTIONS)


@pytest.mark.parametrize("panel", ["raw", "divided"])
def test_a_way_is_the_sum_of_one_product_after_another(explorable, scripts, panel):
    figure = explorable("growth", "d_k=64,p=0.25")
    way = figure.locator(f"[data-panel={panel}] .fan path").nth(7).get_attribute("d")
    levels = [float(y) for y in re.findall(r",(-?[\d.]+)", way)]
    query, key = np.split(np.array(scripts(SAMPLE, [(1024, "normal", 7)])[0]), 2)
    sums = np.append(0, np.cumsum(query * key)[:64])
    assert np.corrcoef(levels, sums)[0, 1] == pytest.approx(-1, abs=1e-6)  # down is up


@pytest.mark.parametrize("p", [0.25, 0.75])
def test_another_power_is_said_to_grow_or_to_shrink(explorable, p):
    figure = explorable("growth", f"d_k=4,p={p}")
    go(figure, f"d_k=256,p={p}")
    expected = [4 ** (0.5 - p), 4, 256 ** (0.5 - p), 256]
    assert numbers(said(figure))[-4:] == pytest.approx(expected, rel=0.005)
    assert ("grows" in said(figure), "shrinks" in said(figure)) == (p < 0.5, p > 0.5)


def test_the_law_is_told_when_the_reader_has_found_the_power_at_two_dimensions(explorable):
    figure = explorable("growth", "d_k=64,p=0.45")
    visited = figure.locator("[data-panel=spread] .visited")
    settings = ((64, 0.5, False), (128, 0.55, False), (128, 0.5, True), (4, 0, True))
    for d_k, p, found in settings:
        go(figure, f"d_k={d_k},p={p}")
        assert ("1 − 2p" in said(figure)) is found
        if found:
            assert numbers(said(figure))[-1] == pytest.approx(d_k ** (1 - 2 * p), rel=0.005)
    places = numbers(described(figure, "spread"))[1:]
    assert places == pytest.approx([2, 4, 8, 64, 11.3, 128], rel=0.005)
    assert visited.locator("line").count() == 1
    figure.get_by_role("button", name="Reset").click()
    visited.locator("line").wait_for(state="detached")
    assert visited.locator("circle").count() == 1
