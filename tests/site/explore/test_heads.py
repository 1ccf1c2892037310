"""Heads in training: how far scores spread, and at how many characters heads look."""

import functools
import math
import re

import pytest
import torch

import sdpa_lib as sdpa
from sdpa_book.explorables.heads_explorable import (
    FIRST,
    FROM,
    HEADS,
    SHARES,
    measure,
    outside,
    standard,
)
from sdpa_book.studies.heads.read import LONGER, load_vectors

from .conftest import act, go, numbers, said


def scores_of(moment):
    """The scores of a moment's heads, (layers, heads, n, n)."""
    query, key = (x[moment] for x in load_vectors(HEADS, "line", LONGER))
    return sdpa.attention_scores(query, key)


@functools.cache
def measured(moment):
    return measure(scores_of(moment))


def by_chance(row):
    """Between which numbers the effective keys of normal rows with as many keys and the same
    spread are nine times in ten.
    """
    normal = standard(sdpa.sample(4000, len(row), seed=1, device="cpu").double())
    keys = sdpa.effective_keys((normal * row.std(correction=0)).softmax(-1))
    return keys.quantile(SHARES).tolist()


@pytest.mark.parametrize(("moment", "step"), [(4, 2400), (0, 0), (2, 600)])
def test_a_head_looks_at_as_many_characters_as_in_the_study(explorable, moment, step):
    figure = explorable("heads", f"step={step}")
    heading = figure.locator("[data-panel=head] p")
    handle = figure.get_by_role("slider", name="the head")
    scores = scores_of(moment).flatten(0, 1).double()
    for place, head in ((62, 11), (62, 2), (30, 1), (FIRST, 15)):
        go(figure, f"step={step},place={place},head={head}")
        row = scores[head, place, : place + 1]
        keys = sdpa.effective_keys(row.softmax(-1)).item()
        told = heading.text_content()
        assert told.startswith(f"layer {head // 4 + 1}, head {head % 4 + 1}: spread ")
        assert handle.get_attribute("aria-valuetext") == told
        expected = [pytest.approx(x, rel=0.08, abs=0.2) for x in (keys, *by_chance(row))]
        spread, *looks = numbers(told.partition(": ")[2])
        assert spread == pytest.approx(row.std(correction=0).item(), rel=0.06)
        assert looks == expected


@pytest.mark.parametrize("step", [0, 600, 2400])
def test_the_letters_are_as_strong_as_the_weights_say(explorable, step):
    figure = explorable("heads", f"step={step}")
    box = figure.locator("[data-panel=head]")
    for place, head in ((62, 11), (30, 1), (FIRST, 15)):
        go(figure, f"step={step},place={place},head={head}")
        fills = box.locator(".character rect").evaluate_all("all => all.map((x) => x.style.fill)")
        tints = torch.tensor([float(re.search(r"([\d.]+)%", x)[1]) for x in fills[: place + 1]])
        assert all("panel" in x for x in fills[place + 1 :])
        expected = numbers(box.locator("p").text_content().partition("looks at ")[2])[0]
        weights = (tints / 46).square()
        assert weights.sum().item() == pytest.approx(1, abs=0.05)
        assert sdpa.effective_keys(weights).item() == pytest.approx(expected, rel=0.1)


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


@pytest.mark.parametrize("place", [62, FROM, FIRST])
@pytest.mark.parametrize(("moment", "step"), [(4, 2400), (0, 0), (2, 600)])
def test_dots_stand_where_the_study_has_them_coloured_outside_the_band(
    explorable, moment, step, place
):
    figure = explorable("heads", f"step={step},place={place}")
    read, inside, colours = shown(figure)
    spreads, keys, chance = (x[place - FIRST] for x in measured(moment))
    for drawn, expected in zip(read, (spreads, keys), strict=True):
        assert drawn == pytest.approx(expected.tolist(), rel=0.02)  # a tick is half a px off
    wider, narrower = outside(keys, chance)
    assert ["value" in x for x in colours] == wider.tolist()
    assert ["key" in x for x in colours] == narrower.tolist()
    clear = (keys[:, None] / chance).log().abs().amin(-1) > 0.03  # of the drawn border
    stay = ~(wider | narrower)
    assert torch.tensor(inside)[clear].tolist() == stay[clear].tolist()


@pytest.mark.parametrize(("moment", "step"), [(4, 2400), (0, 0), (2, 600)])
def test_the_sentence_tells_how_many_leave_the_band(explorable, moment, step):
    figure = explorable("heads", f"step={step}")
    means = [outside(*measured(i)[1:]).double().sum((0, -1)).mean().item() for i in (moment, 0)]
    left = outside(*(x[FROM - FIRST] for x in measured(moment)[1:])).sum().item()
    told = [left, 16, *(means if step else means[:1]), 1.6]
    assert numbers(said(figure))[3:] == pytest.approx(told, abs=0.051)


@pytest.mark.parametrize("place", [62, FROM, FIRST])
@pytest.mark.parametrize(("moment", "step"), [(4, 2400), (0, 0), (2, 600)])
def test_the_sentence_tells_which_two_spread_alike_and_look_most_differently(
    explorable, moment, step, place
):
    figure = explorable("heads", f"step={step},place={place}")
    (spreads, keys), _, _ = shown(figure)
    drawn = list(zip(spreads, keys, strict=True))
    pairs = [(a, b) for a in drawn for b in drawn if max(a[0] / b[0], b[0] / a[0]) < 1.1]
    (a, wide), (b, narrow) = max(pairs, key=lambda pair: pair[0][1] / pair[1][1])
    assert numbers(said(figure))[:3] == pytest.approx([math.sqrt(a * b), wide, narrow], rel=0.06)
    beside = figure.locator(".told text").all_text_contents()
    assert list(map(float, beside)) == numbers(said(figure))[1:3]
    ends = figure.locator(".pair path").evaluate(
        "tie => [0, tie.getTotalLength()].map((at) => tie.getPointAtLength(at))"
        ".map(({x, y}) => [x, y])"
    )
    places = figure.locator(".dots circle").evaluate_all(
        "dots => dots.map((dot) => [dot.cx.baseVal.value, dot.cy.baseVal.value])"
    )
    ties = [places[drawn.index(one)] for one in ((a, wide), (b, narrow))]
    for end, expected in zip(ends, ties, strict=True):
        assert end == pytest.approx(expected, abs=0.1)


@pytest.mark.parametrize("moment", range(5))
def test_from_each_character_two_heads_spread_alike_and_look_differently(moment):
    for spreads, keys in zip(*measured(moment)[:2], strict=True):
        near = (spreads[:, None] / spreads).log().abs() < math.log(1.1)
        assert (keys[:, None] / keys)[near].max() > 1.3


def test_a_number_that_prints_like_its_border_gets_a_third_digit(explorable):
    figure = explorable("heads", "step=2400")
    _, keys, chance = measured(4)
    pairs = torch.cat((keys[..., None], chance), -1)
    alike = [
        (place + FIRST, head)
        for place, heads in enumerate(pairs.tolist())
        for head, (keys, *borders) in enumerate(heads)
        if f"{keys:.1f}" in {f"{x:.1f}" for x in borders} and keys < 9
    ]
    place, head = alike[-1]
    go(figure, f"step=2400,place={place},head={head}")
    told = numbers(figure.locator("[data-panel=head] p").text_content().partition("looks at ")[2])
    assert told == pytest.approx(pairs[place - FIRST, head].tolist(), abs=0.0051)
    assert told[0] not in told[1:]


def test_arrow_keys_go_through_the_heads_and_through_the_passage(explorable):
    figure = explorable("heads", "place=62,head=7")
    heading = figure.locator("[data-panel=head] p")
    assert heading.text_content().startswith("layer 2, head 4: spread ")
    head, place = (figure.get_by_role("slider", name=x) for x in ("the head", "the character"))
    act(figure, lambda: head.press("ArrowUp"))
    assert heading.text_content().startswith("layer 3, head 1: spread ")
    act(figure, lambda: head.press("ArrowDown"))
    act(figure, lambda: head.press("ArrowLeft"))
    assert heading.text_content().startswith("layer 2, head 3: spread ")
    act(figure, lambda: head.press("Home"))
    head.press("ArrowDown")  # is the first
    assert heading.text_content().startswith("layer 1, head 1: spread ")
    act(figure, lambda: head.press("End"))
    assert heading.text_content().startswith("layer 4, head 4: spread ")
    act(figure, lambda: place.press("ArrowLeft"))
    assert place.get_attribute("aria-valuetext").startswith("a at 62; ")
    act(figure, lambda: place.press("Home"))
    assert heading.text_content().startswith("layer 4, head 4: spread ")
    assert place.get_attribute("aria-valuenow") == str(FIRST)


def test_a_press_chooses_a_head_by_its_dot_and_a_character_by_its_place(explorable):
    figure = explorable("heads", "step=2400,place=62")
    heading = figure.locator("[data-panel=head] p")
    dots = figure.locator("[data-panel=heads] .dots circle")
    dots.first.wait_for()
    figure.scroll_into_view_if_needed()
    for i in (6, 7, 8, 7, 6):
        box = dots.nth(i).bounding_box()
        middle = [box[start] + box[size] / 2 for start, size in (("x", "width"), ("y", "height"))]
        act(figure, lambda middle=middle: figure.page.mouse.click(*middle))
        name = f"layer {i // 4 + 1}, head {i % 4 + 1}"
        assert heading.text_content().startswith(f"{name}: spread ")
    characters = figure.locator("[data-panel=head] .character")
    act(figure, lambda: characters.nth(20).click(force=True))
    place = figure.get_by_role("slider", name="the character")
    assert place.get_attribute("aria-valuetext").startswith("h at 21; ")
    assert figure.locator("[data-panel=head] .lines line").count() == characters.count() - FIRST
    act(figure, lambda: characters.nth(2).click(force=True))  # sees too few to have a spread
    assert place.get_attribute("aria-valuenow") == str(FIRST)
