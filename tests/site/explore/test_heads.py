"""Trained heads: a row of scores beside random ones of one spread, and at how many characters heads
look.
"""

import collections
import functools
import math

import pytest
import torch

import sdpa_lib as sdpa
from sdpa_book.explorables.heads_explorable import (
    FROM,
    HEADS,
    SPREAD,
    by_chance,
    normal,
    standard,
    typical,
)
from sdpa_book.studies.heads.read import LONGER, load_vectors

from .conftest import act, go, numbers, said

N = FROM + 1
SPREADS = (SPREAD, 1.5, 2.5, 4.0)


@functools.cache
def rows():
    """The scores of the character that looks, of each head, (heads, n)."""
    query, key = (x[-1] for x in load_vectors(HEADS, "line", LONGER))
    return sdpa.attention_scores(query, key)[..., FROM, :N].flatten(0, 1).double()


@functools.cache
def chance(spread):
    """Between which numbers of characters nine in ten random rows look."""
    return by_chance(N, torch.tensor([spread]))[0].tolist()


def keys_of(head, spread):
    return sdpa.effective_keys((spread * standard(rows()[head])).softmax(-1)).item()


def name(head):
    return f"layer {head // 4 + 1}, head {head % 4 + 1}"


def circles(figure, row):
    """Where those of a row stand, (n, 2), and their radii."""
    found = figure.locator(f"[data-panel=rows] .row-{row} .score").evaluate_all(
        "all => all.map((one) => [...one.style.transform.matchAll(/-?[\\d.]+(?=px)/g)].map(Number)"
        ".concat(one.querySelector('circle').r.baseVal.value))"
    )
    *places, radii = torch.tensor(found).double().T
    return torch.stack(places, -1), radii


def axis_and_band(figure):
    """Pixels to a unit of the axis and where its zero stands, and the ends of the band."""
    panel = figure.locator("[data-panel=rows]")
    ticks = panel.locator(".tick").evaluate_all(
        "all => all.map((one) => [one.transform.baseVal.consolidate().matrix.e, one.textContent])"
    )
    (left, low), *_, (right, high) = ((at, *numbers(text)) for at, text in ticks)
    scale = (right - left) / (high - low)
    band = panel.locator(".deviation rect").evaluate(
        "({x, width}) => [x.baseVal.value, x.baseVal.value + width.baseVal.value]"
    )
    return [scale, left - 0.5 - scale * low], band  # D3 puts ticks on half a pixel


@pytest.mark.parametrize("head", [9, 5, 2, 15])
def test_circles_stand_at_the_scores_and_are_as_large_as_the_weights(explorable, head):
    figure = explorable("heads")
    for spread in SPREADS:
        go(figure, f"spread={spread:g},head={head}")
        labels = figure.locator("[data-panel=rows] .notes text").all_text_contents()
        assert numbers(labels.pop(0)) == [spread]
        factor = figure.locator("[data-panel=rows] .axis-label").text_content()
        assert numbers(factor) == [round(math.e, 1)]
        [scale, zero], band = axis_and_band(figure)
        assert band == pytest.approx([zero - scale * spread, zero + scale * spread], abs=0.1)
        for i, row in enumerate((standard(rows()[head]), typical(N))):
            weights = (spread * row).softmax(-1)
            places, radii = circles(figure, i)
            assert places[:, 0].tolist() == pytest.approx(
                (zero + scale * spread * row).tolist(), abs=0.1
            )
            assert radii.tolist() == pytest.approx(
                (0.14 * 210 * weights.sqrt()).clamp(min=1.5).tolist(), abs=0.03
            )
            apart = torch.cdist(places, places) - radii - radii[:, None]
            assert apart.fill_diagonal_(0).min() > -0.05  # none hides another
            keys = sdpa.effective_keys(weights).item()
            assert numbers(labels[i])[0] == pytest.approx(keys, rel=0.06)
        assert labels[0].startswith("the head: ")
        assert labels[1].startswith("a typical random row: ")
        assert numbers(labels[1])[1:] == pytest.approx(chance(spread), rel=0.06)
        assert figure.locator("[data-panel=text] p").text_content().startswith(name(head))


def test_the_random_row_looks_at_as_many_characters_as_the_median():
    for spread in (0.4, 1, 3, 6.2):
        keys, one = (
            sdpa.effective_keys((spread * rows).softmax(-1)) for rows in (normal(N), typical(N))
        )
        assert one.item() == pytest.approx(keys.median().item(), rel=0.05)
        [[low, high]] = by_chance(N, torch.tensor([spread]))
        assert ((keys > low) & (keys < high)).double().mean() == pytest.approx(0.9, abs=0.001)


def way_of(keys, spread):
    """On which side of nine in ten random rows."""
    low, high = chance(spread)
    return "↑" if keys > high else "↓" if keys < low else ""


@pytest.mark.parametrize("spread", SPREADS)
def test_sentence_and_cells_compare_heads_with_random_scores(explorable, spread):
    figure = explorable("heads", f"spread={spread:g}")
    panel = figure.locator("[data-panel=heads]")
    cells = panel.locator(".cells text").all_text_contents()
    fills = panel.locator(".cells rect").evaluate_all("all => all.map((x) => x.style.fill)")
    handle = figure.get_by_role("slider", name="the head")
    low, high = chance(spread)
    counts = collections.Counter()
    for head, (cell, fill) in enumerate(zip(cells, fills, strict=True)):
        go(figure, f"spread={spread:g},head={head}")
        keys = keys_of(head, spread)
        [shown] = numbers(cell)
        assert shown == pytest.approx(keys, rel=0.06)
        way = way_of(keys, spread)
        counts[way] += 1
        assert cell.removeprefix(cell.rstrip("↑↓")) == way
        assert ("value" in fill, "key" in fill) == (way == "↑", way == "↓")
        held = spread != SPREAD and way == way_of(keys_of(head, SPREAD), SPREAD)
        still = "still " * held
        start = {"↑": f"No, {still}more even than ", "↓": f"No, {still}sharper than "}
        assert said(figure).startswith(start.get(way, "Could be chance: "))
        if not way:
            assert numbers(said(figure)) == pytest.approx([low, high], rel=0.06)
        largest = standard(rows()[head]).max()
        if way:  # the reason that is given: random rows stand as far out one in ten times
            near, far = normal(N).amax(-1).quantile(torch.tensor([0.1, 0.9]).double())
            assert largest < near if way == "↑" else largest > far
        assert handle.get_attribute("aria-valuetext").startswith(f"{name(head)}: ")
    legend = panel.locator("p").text_content()
    assert numbers(legend) == [counts["↑"], counts["↓"], 1.6, 16]
    assert counts["↓"] == 1  # the prompt asks for it


def test_the_slider_stretches_every_row(explorable):
    figure = explorable("heads")
    slider = figure.get_by_label("standard deviation")
    act(figure, lambda: slider.press("ArrowLeft"))
    assert figure.get_attribute("data-state") == "#heads:spread=2.9,head=9"
    [keys] = numbers(figure.locator("[data-panel=rows] .notes text").nth(1).text_content())
    assert keys == pytest.approx(keys_of(9, 2.9), rel=0.06)
    act(figure, lambda: figure.get_by_role("slider", name="the head").press("ArrowLeft"))
    assert figure.get_attribute("data-state") == "#heads:spread=2.9,head=8"
    act(figure, lambda: figure.get_by_role("button", name="Reset").click())
    assert figure.get_attribute("data-state") == f"#heads:spread={SPREAD:g},head=9"


@pytest.mark.parametrize("head", [9, 5])
def test_the_passage_is_coloured_by_the_weights(explorable, head):
    figure = explorable("heads", f"head={head}")
    fills = figure.locator("[data-panel=text] .character rect").evaluate_all(
        "all => all.map((x) => Number(x.style.fill.match(/([\\d.]+)%/)[1]))"
    )
    weights = (SPREAD * standard(rows()[head])).softmax(-1)
    expected = 46 * (weights / 0.25).clamp(max=1).sqrt()
    assert fills == pytest.approx(expected.tolist(), abs=0.51)


def test_arrow_keys_go_through_the_heads_one_by_one(explorable):
    figure = explorable("heads", "head=9")
    handle = figure.get_by_role("slider", name="the head")
    for key, head in (
        ("ArrowRight", 10),
        ("ArrowUp", 11),
        ("ArrowLeft", 10),
        ("Home", 0),
        ("End", 15),
        ("ArrowDown", 14),
    ):
        act(figure, lambda key=key: handle.press(key))
        assert handle.get_attribute("aria-valuenow") == str(head)
        assert handle.get_attribute("aria-valuetext").startswith(f"{name(head)}: ")
    act(figure, lambda: handle.press("ArrowUp"))
    handle.press("ArrowUp")  # is the last
    assert handle.get_attribute("aria-valuenow") == "15"


def test_a_character_under_the_pointer_stands_out_in_both_places(explorable):
    figure = explorable("heads")
    parts = (".character", ".row-0 .score")

    def lit():
        return [
            figure.locator(part).evaluate_all(
                "all => all.flatMap((one, j) => one.classList.contains('lit') ? [j] : [])"
            )
            for part in parts
        ]

    for j, part in ((20, parts[0]), (36, parts[1])):  # the end of a line, and an i
        mark = figure.locator(f"{part} >> nth={j}")
        mark.hover(force=True)
        assert lit() == [[j], [j]]
        for kind, left in (("touch", [[j], [j]]), ("mouse", [[], []])):
            mark.dispatch_event("pointerenter", {"pointerType": kind})
            mark.dispatch_event("pointerleave", {"pointerType": kind})
            assert lit() == left
    mark.dispatch_event("pointerenter", {"pointerType": "touch"})
    act(figure, lambda: figure.get_by_label("standard deviation").press("Home"))
    assert lit() == [[j], [j]]
    act(figure, lambda: figure.get_by_role("button", name="Reset").press("Enter"))
    assert lit() == [[], []]


def test_a_press_chooses_a_head_by_its_cell(explorable):
    figure = explorable("heads")
    cells = figure.locator("[data-panel=heads] .cells rect")
    figure.scroll_into_view_if_needed()
    for i in (0, 7, 8, 15, 6):
        act(figure, lambda i=i: cells.nth(i).click(force=True))
        assert figure.locator("[data-panel=text] p").text_content().startswith(f"{name(i)} ")
