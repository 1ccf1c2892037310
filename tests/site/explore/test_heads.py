"""Heads in training: a row of scores beside random ones, and at how many characters heads look."""

import functools
import math

import pytest
import torch

import sdpa_lib as sdpa
from sdpa_book.explorables.heads_explorable import (
    FROM,
    HEADS,
    by_chance,
    look,
    normal,
    standard,
    typical,
)
from sdpa_book.studies.heads.read import LONGER, load_vectors

from .conftest import act, go, numbers, said

MOMENTS = [(4, 2400), (0, 0), (2, 600)]
N = FROM + 1


@functools.cache
def all_scores(moment):
    query, key = (x[moment] for x in load_vectors(HEADS, "line", LONGER))
    return sdpa.attention_scores(query, key)


def rows_of(moment):
    """The scores of the character that looks, of a moment's heads, (heads, n)."""
    return all_scores(moment)[..., FROM, :N].flatten(0, 1).double()


@functools.cache
def measured(moment):
    """Of each head the spread, at how many characters it looks, and would by chance."""
    return look(all_scores(moment), FROM)


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


@pytest.mark.parametrize(("moment", "step"), MOMENTS)
def test_circles_stand_at_the_scores_and_are_as_large_as_the_weights(explorable, moment, step):
    figure = explorable("heads", f"step={step}")
    for head in (9, 5, 2, 15):
        go(figure, f"step={step},head={head}")
        own = rows_of(moment)[head]
        spread = own.std(correction=0)
        labels = figure.locator("[data-panel=rows] .notes text").all_text_contents()
        factor = figure.locator("[data-panel=rows] .axis-label").text_content()
        assert numbers(factor) == pytest.approx([math.exp(spread)], rel=0.06)
        for i, row in enumerate((standard(own), typical(N))):
            weights = (spread * row).softmax(-1)
            places, radii = circles(figure, i)
            across = torch.stack((row, torch.ones_like(row)), -1)
            fit = torch.linalg.lstsq(across, places[:, :1]).solution
            assert (across @ fit - places[:, :1]).abs().max() < 0.1  # px
            assert fit[0] > 30  # px a standard deviation
            assert radii.tolist() == pytest.approx(
                (0.138 * 152 * weights.sqrt()).clamp(min=1.5).tolist(), abs=0.03
            )
            apart = torch.cdist(places, places) - radii - radii[:, None]
            assert apart.fill_diagonal_(0).min() > -0.05  # none hides another
            keys = sdpa.effective_keys(weights).item()
            assert numbers(labels[i]) == pytest.approx([spread.item(), keys], rel=0.06)
        assert labels[0].startswith("the head, spread ")
        assert labels[1].startswith("a typical random row, spread ")
        assert figure.locator("[data-panel=text] p").text_content().startswith(name(head))


def test_the_random_row_looks_at_as_many_characters_as_the_median():
    for spread in (0.4, 1, 3, 6.2):
        keys, one = (
            sdpa.effective_keys((spread * rows).softmax(-1)) for rows in (normal(N), typical(N))
        )
        assert one.item() == pytest.approx(keys.median().item(), rel=0.05)
        [[low, high]] = by_chance(N, torch.tensor([spread]))
        assert ((keys > low) & (keys < high)).double().mean() == pytest.approx(0.9, abs=0.001)


@pytest.mark.parametrize(("moment", "step"), MOMENTS)
def test_the_sentence_and_cells_compare_heads_with_random_scores(explorable, moment, step):
    figure = explorable("heads", f"step={step}")
    legend = figure.locator("[data-panel=heads] p").text_content()
    cells = figure.locator("[data-panel=heads] .cells text").all_text_contents()
    fills = figure.locator("[data-panel=heads] .cells rect").evaluate_all(
        "all => all.map((x) => x.style.fill)"
    )
    handle = figure.get_by_role("slider", name="the head")
    _, keys, chance = measured(moment)
    away = 0
    for head, (at, ends) in enumerate(zip(keys.tolist(), chance.tolist(), strict=True)):
        go(figure, f"step={step},head={head}")
        verdict, _, told = said(figure).partition(": ")
        own, *others = found = numbers(told)
        assert found == pytest.approx([at, *ends], rel=0.06)
        even, sharp = at > ends[1], at < ends[0]
        if own in others:  # no one could see more of a difference
            even = sharp = False
        words = "No, more even" if even else "No, sharper" if sharp else "Not told from chance"
        assert verdict == words
        assert cells[head] == told.split()[0] + ("↑" if even else "↓" if sharp else "")
        assert ("value" in fills[head], "key" in fills[head]) == (even, sharp)
        away += even or sharp
        assert handle.get_attribute("aria-valuetext").startswith(f"{name(head)}: ")
        panel = figure.locator("[data-panel=looks]")
        assert panel.locator(".words text").text_content() == told.split()[0]
        start, end = panel.locator(".notes line").evaluate(
            "({x1, x2}) => [x1, x2].map((x) => x.baseVal.value)"
        )
        drawn = panel.locator(".marks").evaluate("""marks => {
            const [at, bar] = ["circle", "rect"].map((tag) => marks.querySelector(tag));
            const [x, width] = [bar.x, bar.width].map((one) => one.baseVal.value);
            return [at.cx.baseVal.value, x, x + width];
        }""")
        shown = [N ** ((x - start) / (end - start)) for x in drawn]
        assert shown == pytest.approx([at, *ends], rel=0.01)
    assert numbers(legend) == [away, 16, 19, 20, 1.6]


@pytest.mark.parametrize("head", [9, 5])
def test_the_passage_is_coloured_by_the_weights(explorable, head):
    figure = explorable("heads", f"head={head}")
    fills = figure.locator("[data-panel=text] .character rect").evaluate_all(
        "all => all.map((x) => Number(x.style.fill.match(/([\\d.]+)%/)[1]))"
    )
    weights = rows_of(4)[head].softmax(-1)
    expected = 46 * (weights / weights.max()).sqrt()
    assert fills == pytest.approx(expected.tolist(), abs=0.51)


@pytest.mark.parametrize("head", [9, 3])
def test_a_head_s_course_stands_below_the_heads(explorable, head):
    figure = explorable("heads", f"step=600,head={head}")
    cells = figure.locator("[data-panel=steps] .cells text").all_text_contents()
    for i, step in enumerate((0, 160, 600, 1300, 2400)):
        go(figure, f"step={step},head={head}")
        now = figure.locator("[data-panel=heads] .cells text").all_text_contents()
        assert cells[i] == now[head]
        steps = figure.get_by_role("slider", name="training steps")
        assert steps.get_attribute("aria-valuetext").startswith(f"{step:,} steps: ")


def test_arrow_keys_go_through_the_heads_one_by_one(explorable):
    figure = explorable("heads", "step=2400,head=9")
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


def test_a_press_chooses_a_head_by_its_cell(explorable):
    figure = explorable("heads", "step=2400")
    cells = figure.locator("[data-panel=heads] .cells rect")
    figure.scroll_into_view_if_needed()
    for i in (0, 7, 8, 15, 6):
        act(figure, lambda i=i: cells.nth(i).click(force=True))
        assert figure.locator("[data-panel=text] p").text_content().startswith(f"{name(i)} ")


def test_a_press_and_keys_choose_a_moment(explorable):
    figure = explorable("heads", "step=2400")
    steps = figure.get_by_role("slider", name="training steps")
    cells = figure.locator("[data-panel=steps] .cells rect")
    figure.scroll_into_view_if_needed()
    act(figure, lambda: cells.nth(1).click(force=True))
    assert figure.get_attribute("data-state").startswith("#heads:step=160,")
    act(figure, lambda: steps.press("ArrowRight"))
    assert figure.get_attribute("data-state").startswith("#heads:step=600,")
