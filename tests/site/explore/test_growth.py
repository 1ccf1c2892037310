"""Dot products spread with d_k, whatever the distribution of their components."""

import math
import re

import numpy as np
import pytest

from sdpa_lib.moments import exact_moments
from sdpa_lib.sampling import DISTRIBUTIONS

from .conftest import SAMPLE, act, described, go, numbers, said, slider, state


def test_the_spread_is_the_librarys_and_each_distribution_is_drawn(explorable):
    figure = explorable("growth")
    shapes = set()
    for distribution in DISTRIBUTIONS:
        for d_k in (1, 128, 16, 4):
            go(figure, f"d_k={d_k},components={distribution}")
            std = math.sqrt(exact_moments(d_k, query=distribution).variance)
            for told in (said(figure), described(figure, "sums").split(":")[1]):
                assert numbers(told)[-1] == pytest.approx(std, rel=0.005)
        for group in ("densities", "fan"):
            shapes.add(figure.locator(f"[data-panel=sums] .{group}").inner_html())
    assert len(shapes) == 2 * len(DISTRIBUTIONS)


def test_a_way_is_the_sum_of_one_product_after_another(explorable, scripts):
    figure = explorable("growth", "d_k=64")
    way = figure.locator("[data-panel=sums] .fan path").nth(7).get_attribute("d")
    levels = [float(y) for y in re.findall(r",(-?[\d.]+)", way)]
    query, key = np.split(np.array(scripts(SAMPLE, [(1024, "normal", 7)])[0]), 2)
    sums = np.append(0, np.cumsum(query * key)[:64])
    assert np.corrcoef(levels, sums)[0, 1] == pytest.approx(-1, abs=1e-6)  # down is up


@pytest.mark.parametrize(("start", "key"), [(32, "End"), (8, "Home"), (64, "ArrowRight")])
def test_what_changes_is_compared_with_where_the_reader_took_hold(explorable, start, key):
    figure = explorable("growth", f"d_k={start}")
    bars = figure.locator("[data-panel=sums] .bar")
    assert len(numbers(said(figure))) == 2
    assert bars.count() == 1
    act(figure, slider(figure, "components").press, key)
    few, many = sorted((start, int(state(figure)["d_k"])))
    expected = [few, many, many / few, math.sqrt(many / few)]
    assert numbers(said(figure))[2:] == pytest.approx(expected, rel=0.005)
    assert bars.count() == 2
    figure.get_by_role("button", name="Reset").click()
    bars.nth(1).wait_for(state="detached")
    assert len(numbers(said(figure))) == 2


def test_another_distribution_is_said_to_change_nothing(explorable):
    figure = explorable("growth")
    chosen = figure.get_by_role("combobox")
    chosen.focus()
    act(figure, chosen.select_option, "uniform")
    assert "as it was" in said(figure)
