"""Dot products spread with the root of d_k, and what changed is compared with what was before."""

import math
import re

import numpy as np
import pytest

from sdpa_lib.moments import exact_moments

from ..conftest import SAMPLE, act, described, go, numbers, sentence, slider, state


def sums(pair, terms, scripts):
    """Of a pair's products, one after the other."""
    query, key = np.split(np.array(scripts(SAMPLE, [(512, pair)])[0]), 2)
    return np.append(0, np.cumsum(query * key)[:terms])


def drawn(figure, pair):
    """Where a line is at each of its terms, in pixels, up is up."""
    way = figure.locator("[data-panel=sums] .fan path").nth(pair).get_attribute("d")
    return [-float(y) for y in re.findall(r",(-?[\d.]+)", way)]


@pytest.mark.parametrize("d_k", [16, 64, 256])
def test_the_spread_is_the_librarys(explorable, scripts, d_k):
    figure = explorable("growth", f"d_k={d_k},draw=0")
    std = math.sqrt(exact_moments(d_k).variance)
    for text in (sentence(figure), described(figure, "sums")):
        assert numbers(text)[-1] == std
    ends = [sums(pair, d_k, scripts)[-1] for pair in range(40)]
    assert numbers(sentence(figure))[1] == pytest.approx(
        np.sqrt(np.mean(np.square(ends))), rel=0.05
    )


def test_a_line_is_the_sum_of_one_product_after_another(explorable, scripts):
    figure = explorable("growth", "draw=0")
    for pair in (7, 47):
        lines = np.corrcoef(drawn(figure, 7), sums(pair, 256, scripts))
        assert lines[0, 1] == pytest.approx(1, abs=1e-6)
        act(figure, figure.get_by_role("button", name="Draw").click)


def test_what_is_expected_is_marked_where_the_lines_end(explorable):
    figure = explorable("growth")
    for d_k in (16, 128):
        go(figure, f"d_k={d_k}")
        panel = figure.locator("[data-panel=sums]")
        for side in range(2):
            curve, level = (
                panel.locator(f".{name} path").nth(side).get_attribute("d")
                for name in ("expected", "level")
            )
            end = re.split("[ML]", curve)[1 + d_k]
            start = re.match("M(.*)H", level)[1]
            assert numbers(start) == pytest.approx(numbers(end), abs=0.01)
        assert (
            f"expected:±{round(math.sqrt(d_k), 1):g}, dashed"
            in panel.locator(".notes").text_content()
        )


def test_it_begins_with_the_first_draw_that_is_ordinary(explorable, scripts):
    typical = int(state(explorable("growth"))["draw"])
    dims = np.array([16, 32, 64, 128, 256])
    for draw in range(typical + 1):
        pairs = [sums(40 * draw + pair, 256, scripts)[dims] for pair in range(40)]
        over = np.sqrt(np.mean(np.square(pairs), 0) / dims)  # what is expected
        off = np.abs(np.append(over, over[1:] / over[:-1]) - 1).max()
        assert (off < 1 / math.sqrt(2 * 40)) == (draw == typical), "a standard error"


@pytest.mark.parametrize(
    ("start", "key", "times"),
    [(16, "End", "4"), (256, "Home", "0.25"), (64, "End", "2"), (64, "ArrowRight", "1.4")],
)
def test_what_changes_is_compared_with_where_the_reader_took_hold(explorable, start, key, times):
    figure = explorable("growth", f"d_k={start}")
    act(figure, slider(figure, "terms").press, key)
    notes = figure.locator(".notes").text_content()
    here = re.match(r"±([\d.]+) at ", notes)[1]
    ratio, expected = re.search(
        r"(\S+) times as wide: (?:1/)?√\S+\s=\s(\S+) expected", sentence(figure)
    ).groups()
    assert expected == times
    before = re.search(rf".±([\d.]+) at {start}standard", notes)[1]
    widening = float(here) / float(before)
    assert ratio == (f"{widening:.1f}" if widening >= 1 else f"{widening:.2f}")
    for button, terms in (("Draw", state(figure)["d_k"]), ("Reset", 64)):
        act(figure, figure.get_by_role("button", name=button).click)
        assert sentence(figure).startswith(f"After {terms} terms")
        assert figure.locator(".notes .bar").count() == 0
