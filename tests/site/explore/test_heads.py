"""Heads in training: how far scores spread, and at how many characters heads look."""

import functools
import math

import pytest
import torch

import sdpa_lib as sdpa
from sdpa_book.explorables.heads_explorable import (
    FROM,
    HEADS,
    look,
    outside,
)
from sdpa_book.studies.heads.read import LONGER, load_vectors

from .conftest import act, go, numbers, said

MOMENTS = [(4, 2400), (0, 0), (2, 600)]


@functools.cache
def scores_of(moment):
    """The scores of the character that looks, of a moment's heads, (heads, n)."""
    query, key = (x[moment] for x in load_vectors(HEADS, "line", LONGER))
    return sdpa.attention_scores(query, key)[..., FROM, : FROM + 1].flatten(0, 1).double()


@functools.cache
def measured(moment):
    """Of each head the spread, at how many characters it looks, and would by chance."""
    query, key = (x[moment] for x in load_vectors(HEADS, "line", LONGER))
    return look(sdpa.attention_scores(query, key), FROM)


def name(head):
    return f"layer {head // 4 + 1}, head {head % 4 + 1}"


def neighbour(moment, head):
    """The head with the nearest spread, and how many times as large the larger of both is."""
    spreads = measured(moment)[0].log()
    far = (spreads - spreads[head]).abs()
    far[head] = math.inf
    return int(far.argmin()), far.min().exp().item()


@pytest.mark.parametrize(("moment", "step"), MOMENTS)
def test_a_head_looks_at_as_many_characters_as_in_the_study(explorable, moment, step):
    figure = explorable("heads", f"step={step}")
    heading = figure.locator("[data-panel=pair] p")
    handle = figure.get_by_role("slider", name="the head")
    for head in (11, 2, 1, 15):
        go(figure, f"step={step},head={head}")
        row = scores_of(moment)[head]
        keys = sdpa.effective_keys(row.softmax(-1)).item()
        told = heading.text_content()
        assert told.startswith(f"Bars up: the ringed head, {name(head)}, ")
        assert f"Bars up: the ringed head, {handle.get_attribute('aria-valuetext')}" == told
        assert numbers(told)[-1] == pytest.approx(keys, rel=0.06)


@pytest.mark.parametrize(("moment", "step"), MOMENTS)
def test_the_bars_are_as_high_as_the_weights_say(explorable, moment, step):
    figure = explorable("heads", f"step={step}")
    for head in (11, 5, 1):
        go(figure, f"step={step},head={head}")
        pair = [head, neighbour(moment, head)[0]]
        weights = scores_of(moment)[pair].softmax(-1)
        full = 47  # px
        for side, row in zip(("up", "down"), weights, strict=True):
            bars = figure.locator(f"[data-panel=pair] rect.{side}")
            heights = bars.evaluate_all("all => all.map((x) => x.height.baseVal.value)")
            assert [x / full for x in heights] == pytest.approx(row.sqrt().tolist(), abs=0.01)
        told = figure.locator("[data-panel=pair] .largest text").all_text_contents()
        assert [*map(float, told)] == pytest.approx(weights.amax(-1).tolist(), abs=0.0051)
        under = figure.locator("[data-panel=pair] .under text").text_content()
        assert under.startswith(f"Bars down: the head nearest in spread, {name(pair[1])}, ")


def shown(figure):
    """Where dots stand, as spreads and characters, which lie in the band, and their colours."""
    panel = figure.locator("[data-panel=heads]")
    panel.locator(".dots circle").first.wait_for()
    ticks = panel.locator(".tick").evaluate_all(
        "all => all.map((x) => [Number(x.textContent), x.transform.baseVal[0].matrix])"
        ".map(([value, {e, f}]) => [value, e, f])"
    )
    dots = panel.locator(".dots circle").evaluate_all(
        "dots => dots.map((dot) => [dot.cx.baseVal.value, dot.cy.baseVal.value])"
    )
    read = []
    for axis in (0, 1):
        (low, *_, high) = [t for t in ticks if t[2 - axis] == 0 and t[1 + axis] > 0]
        by = math.log(high[0] / low[0]) / (high[1 + axis] - low[1 + axis])
        read.append([low[0] * math.exp(by * (dot[axis] - low[1 + axis])) for dot in dots])
    inside = panel.locator(".band path").evaluate(
        "(band, dots) => dots.map(([x, y]) => band.isPointInFill(new DOMPoint(x, y)))", dots
    )
    colours = panel.locator(".dots circle").evaluate_all("all => all.map((x) => x.style.fill)")
    return read, inside, colours


@pytest.mark.parametrize(("moment", "step"), MOMENTS)
def test_dots_stand_where_the_study_has_them_coloured_outside_the_band(explorable, moment, step):
    figure = explorable("heads", f"step={step}")
    read, inside, colours = shown(figure)
    spreads, keys, chance = measured(moment)
    for drawn, expected in zip(read, (spreads, keys), strict=True):
        assert drawn == pytest.approx(expected.tolist(), rel=0.02)  # a tick is half a px off
    wider, narrower = outside(keys, chance)
    assert ["value" in x for x in colours] == wider.tolist()
    assert ["key" in x for x in colours] == narrower.tolist()
    titles = figure.locator("[data-panel=heads] .dots title").all_text_contents()
    for i, title in enumerate(titles):
        assert title.startswith(f"{name(i)}: ")
        of_head = [keys[i].item(), spreads[i].item()]
        assert numbers(title.partition(": ")[2]) == pytest.approx(of_head, rel=0.06)
    beyond = figure.locator("[data-panel=heads] .notes text").all_text_contents()
    counts = [
        f"more even: {wider.sum()} (by chance 0.8)",
        f"sharper: {narrower.sum()} (by chance 0.8)",
    ]
    assert beyond == counts
    clear = (keys[:, None] / chance).log().abs().amin(-1) > 0.03  # of the drawn border
    stay = ~(wider | narrower)
    assert torch.tensor(inside)[clear].tolist() == stay[clear].tolist()


@pytest.mark.parametrize(("moment", "step"), MOMENTS)
def test_the_sentence_compares_a_head_with_its_neighbour(explorable, moment, step):
    figure = explorable("heads", f"step={step}")
    spreads, keys, chances = measured(moment)
    outer = outside(keys, chances).any(0)
    for head in range(16):
        go(figure, f"step={step},head={head}")
        other, times = neighbour(moment, head)
        told, _, chance = said(figure).partition("; chance ")
        found = numbers(told)
        if times <= 1.1 and len(found) == 3:  # of the same spread
            found.append(found[-1])
        of_spreads, looks = [[x[i].item() for i in (head, other)] for x in (spreads, keys)]
        expected = looks + of_spreads if times <= 1.1 else of_spreads + looks
        assert found == pytest.approx(expected, rel=0.06)
        looks = found[:2] if times <= 1.1 else found[2:]
        close = (keys[head] / keys[other]).log().abs() <= math.log(4 / 3)
        equal = "Yes" if looks[0] == looks[1] else "Nearly" if close else "No"
        assert told.startswith(f"{equal}: " if times <= 1.1 else "Spreads differ, ")
        rare = [n for n, i in zip(looks, (head, other), strict=True) if outer[i]]
        assert numbers(chance) == rare
        assert chance.startswith("rarely" if rare else "may give both")
        beside = figure.locator(".told text").all_text_contents()
        assert [*map(float, beside)] == looks
        ends = figure.locator(".pair path").evaluate(
            "tie => [0, tie.getTotalLength()].map((at) => tie.getPointAtLength(at))"
            ".map(({x, y}) => [x, y])"
        )
        dots = figure.locator(".dots circle").evaluate_all(
            "dots => dots.map((dot) => [dot.cx.baseVal.value, dot.cy.baseVal.value])"
        )
        for end, i in zip(ends, (head, other), strict=True):
            assert end == pytest.approx(dots[i], abs=0.1)


def test_arrow_keys_go_through_the_heads_by_their_spread(explorable):
    figure = explorable("heads", "step=2400")
    handle = figure.get_by_role("slider", name="the head")
    order = measured(4)[0].argsort().tolist()
    for key, rank in (
        ("Home", 0),
        ("ArrowRight", 1),
        ("ArrowUp", 2),
        ("ArrowDown", 1),
        ("ArrowLeft", 0),
        ("End", 15),
    ):
        act(figure, lambda key=key: handle.press(key))
        assert handle.get_attribute("aria-valuetext").startswith(f"{name(order[rank])}, ")
        assert handle.get_attribute("aria-valuenow") == str(rank + 1)
    handle.press("ArrowUp")  # is the last
    assert handle.get_attribute("aria-valuenow") == "16"


def test_a_press_chooses_a_head_by_its_dot(explorable):
    figure = explorable("heads", "step=2400")
    heading = figure.locator("[data-panel=pair] p")
    dots = figure.locator("[data-panel=heads] .dots circle")
    dots.first.wait_for()
    figure.scroll_into_view_if_needed()
    for i in (6, 7, 8, 7, 6):
        box = dots.nth(i).bounding_box()
        middle = [box[start] + box[size] / 2 for start, size in (("x", "width"), ("y", "height"))]
        act(figure, lambda middle=middle: figure.page.mouse.click(*middle))
        assert heading.text_content().startswith(f"Bars up: the ringed head, {name(i)}, ")


def test_steps_of_training_draw_the_way_of_the_ringed_head(explorable):
    figure = explorable("heads", "step=2400,head=9")
    way = figure.locator(".way circle")
    assert way.count() == 0
    for stops, step in ((3, 600), (2, 160), (4, 1300)):
        go(figure, f"step={step},head=9")
        where = "all => all.map((dot) => [dot.cx.baseVal.value, dot.cy.baseVal.value])"
        dots = figure.locator("[data-panel=heads] .dots circle").evaluate_all(where)
        assert way.count() == stops
        assert way.evaluate_all(where)[-1] == pytest.approx(dots[9], abs=0.1)
    act(figure, lambda: figure.get_by_role("button", name="Reset").click())
    assert way.count() == 0
