"""Dot products spread with the root of d_k, and what changed is compared with what was before."""

import math
import re

import numpy as np
import pytest

from sdpa_lib.moments import exact_moments

from .conftest import SAMPLE, act, described, numbers, said, slider, state


def sums(pair, terms, scripts):
    """Of a pair's products, one after the other."""
    query, key = np.split(np.array(scripts(SAMPLE, [(512, pair)])[0]), 2)
    return np.append(0, np.cumsum(query * key)[:terms])


def drawn(figure, pair):
    """Where a line is at each of its terms, in pixels, up is up."""
    way = figure.locator("[data-panel=sums] .fan path").nth(pair).get_attribute("d")
    return [-float(y) for y in re.findall(r",(-?[\d.]+)", way)]


@pytest.mark.parametrize("d_k", [4, 16, 64, 256])
def test_the_spread_is_the_librarys(explorable, d_k):
    figure = explorable("growth", f"d_k={d_k}")
    std = math.sqrt(exact_moments(d_k).variance)
    for told in (said(figure), described(figure, "sums")):
        assert numbers(told)[-1] == std


def test_a_line_is_the_sum_of_one_product_after_another(explorable, scripts):
    figure = explorable("growth", "d_k=64")
    assert np.corrcoef(drawn(figure, 7), sums(7, 64, scripts))[0, 1] == pytest.approx(1, abs=1e-6)
    act(figure, figure.get_by_role("button", name="Draw").click)
    assert np.corrcoef(drawn(figure, 7), sums(47, 64, scripts))[0, 1] == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(("start", "key"), [(16, "End"), (256, "Home"), (64, "ArrowRight")])
def test_what_changes_is_compared_with_where_the_reader_took_hold(explorable, start, key):
    figure = explorable("growth", f"d_k={start}")
    bars = figure.locator("[data-panel=sums] .bar")
    assert bars.count() == 1
    act(figure, slider(figure, "components").press, key)
    few, many = sorted((start, int(state(figure)["d_k"])))
    assert numbers(said(figure).replace("1/", ""))[:2] == [many / few, math.sqrt(many / few)]
    assert bars.count() == 2
    figure.get_by_role("button", name="Reset").click()
    bars.nth(1).wait_for(state="detached")
    assert numbers(said(figure))[0] == 16
