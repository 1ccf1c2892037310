"""Heads in training: at how many characters each looks, and whether at more than by chance."""

import pytest

import sdpa_lib as sdpa
from sdpa_book.explorables.heads_explorable import FIRST, HEADS, SHARES, measure, outside, standard
from sdpa_book.studies.heads.read import LONGER, load_vectors

from .conftest import act, go, numbers, said


def scores_of(moment):
    """The scores of a moment's heads, (layers, heads, n, n)."""
    query, key = (x[moment] for x in load_vectors(HEADS, "line", LONGER))
    return sdpa.attention_scores(query, key)


def by_chance(row):
    """Of normal rows with as many keys and the same spread the median of the effective ones, and
    between which numbers these are nine times in ten.
    """
    normal = standard(sdpa.sample(4000, len(row), seed=1, device="cpu").double())
    keys = sdpa.effective_keys((normal * row.std(correction=0)).softmax(-1))
    low, middle, high = keys.quantile(SHARES).tolist()
    return middle, low, high


@pytest.mark.parametrize(("moment", "step"), [(4, 2400), (0, 0), (2, 600)])
def test_a_head_looks_at_as_many_characters_as_in_the_study(explorable, moment, step):
    figure = explorable("heads", f"step={step}")
    heading = figure.locator("[data-panel=text] p")
    handle = figure.get_by_role("slider", name="the head")
    scores = scores_of(moment).flatten(0, 1).double()
    for place, head in ((62, 11), (62, 2), (30, 1), (FIRST, 15)):
        go(figure, f"step={step},place={place},head={head}")
        row = scores[head, place, : place + 1]
        keys = sdpa.effective_keys(row.softmax(-1)).item()
        told = handle.get_attribute("aria-valuetext")
        assert told.startswith(heading.text_content())
        assert told.startswith(f"layer {head // 4 + 1}, head {head % 4 + 1} looks from")
        looks, *chance = numbers(told.split("” at ")[1].replace("9 times in 10", ""))
        expected = [pytest.approx(x, rel=0.08, abs=0.2) for x in (keys, *by_chance(row))]
        assert [looks, *chance] == expected


@pytest.mark.parametrize(("moment", "step"), [(4, 2400), (0, 0)])
def test_heads_that_leave_what_chance_gives_are_purple_and_counted(explorable, moment, step):
    figure = explorable("heads", f"step={step},place=62")
    keys, chance = measure(scores_of(moment))
    left = outside(keys, chance)
    rows = figure.locator("[data-panel=heads] .head")
    rows.first.wait_for()
    looks = rows.evaluate_all(
        "all => all.map((one) => one.querySelector('circle').style.fill.includes('weights'))"
    )
    assert looks == left[-1].tolist()
    here, average = said(figure).split(". On average over the passage ")
    away = left[-1].sum().item()
    assert here.startswith("Mostly: from “(” " if away else "Yes: from “(” ")
    assert numbers(here) == [16 - away, 16]
    assert numbers(average) == [
        pytest.approx(left.double().sum(-1).mean().item(), abs=0.051),
        pytest.approx(16 * (1 - (SHARES[-1] - SHARES[0]).item())),
    ]


def test_it_begins_at_a_character_from_which_as_many_leave_as_on_average(explorable):
    figure = explorable("heads", "step=2400")
    stay, heads, mean, _ = numbers(said(figure))
    assert abs(mean - (heads - stay)) < 0.5


def test_a_dot_stands_where_its_head_is_as_a_multiple_of_chance(explorable):
    figure = explorable("heads", "step=2400,place=62")
    rows = figure.locator("[data-panel=heads] .head")
    rows.first.wait_for()
    ticks = figure.locator("[data-panel=heads] .axis .tick").evaluate_all(
        "all => all.map((one) => [one.textContent, one.transform.baseVal[0].matrix.e])"
    )
    at = dict(ticks)
    doubling = at["× 2"] - at["chance"]
    assert at["÷ 8"] == pytest.approx(at["chance"] - 3 * doubling)
    drawn = rows.evaluate_all(
        """all => all.map((row) => {
            const bar = row.querySelector('rect').getBBox();
            const dot = Number(row.querySelector('circle').getAttribute('cx'));
            return [dot, bar.x, bar.x + bar.width];
        })"""
    )
    keys, chance = (x[-1] for x in measure(scores_of(4)))
    for found, own, (low, middle, high) in zip(drawn, keys, chance, strict=True):
        ratios = [2 ** ((x - at["chance"]) / doubling) for x in found]
        expected = [(x / middle).item() for x in (own, low, high)]
        assert ratios == pytest.approx(expected, rel=0.03)


def test_a_purple_dot_lies_outside_its_bar(explorable):
    figure = explorable("heads", "step=600,place=30")
    rows = figure.locator("[data-panel=heads] .head")
    rows.first.wait_for()
    found = rows.evaluate_all(
        """all => all.map((row) => {
            const bar = row.querySelector('rect').getBBox();
            const dot = row.querySelector('circle');
            const at = Number(dot.getAttribute('cx'));
            return [at < bar.x || at > bar.x + bar.width, dot.style.fill.includes('weights')];
        })"""
    )
    assert any(outside for outside, _ in found)
    assert all(outside == purple for outside, purple in found)


def test_arrow_keys_go_through_the_heads_and_through_the_passage(explorable):
    figure = explorable("heads", "place=62")
    heading = figure.locator("[data-panel=text] p")
    assert heading.text_content().startswith("layer 2, head 4 looks from “(” at ")
    head, place = (figure.get_by_role("slider", name=x) for x in ("the head", "the character"))
    act(figure, lambda: head.press("ArrowUp"))
    assert heading.text_content().startswith("layer 2, head 3 looks from “(” at ")
    act(figure, lambda: head.press("End"))
    assert heading.text_content().startswith("layer 4, head 4 looks from “(” at ")
    act(figure, lambda: head.press("Home"))
    assert heading.text_content().startswith("layer 1, head 1 looks from “(” at ")
    for key in ("ArrowDown", "ArrowDown", "PageDown", "PageUp"):
        act(figure, lambda key=key: head.press(key))
    assert heading.text_content().startswith("layer 1, head 3 looks from “(” at ")
    act(figure, lambda: place.press("ArrowLeft"))
    assert heading.text_content().startswith("layer 1, head 3 looks from “a” at ")
    act(figure, lambda: place.press("Home"))
    assert heading.text_content().startswith("layer 1, head 3 looks from “a” at ")
    assert place.get_attribute("aria-valuenow") == str(FIRST)


def test_a_press_chooses_a_head_by_its_row_and_a_character_by_its_place(explorable):
    figure = explorable("heads", "step=2400,place=62")
    heading = figure.locator("[data-panel=text] p")
    rows = figure.locator("[data-panel=heads] .head circle")
    rows.first.wait_for()
    figure.scroll_into_view_if_needed()
    for i in (6, 7, 8, 7, 6):  # neighbours, too
        box = rows.nth(i).bounding_box()
        middle = [box[start] + box[size] / 2 for start, size in (("x", "width"), ("y", "height"))]
        act(figure, lambda middle=middle: figure.page.mouse.click(*middle))
        name = f"layer {i // 4 + 1}, head {i % 4 + 1}"
        assert heading.text_content().startswith(f"{name} looks from “(” at ")
    characters = figure.locator("[data-panel=text] .character")
    act(figure, lambda: characters.nth(20).click(force=True))
    assert "head 3 looks from “h” at" in heading.text_content()
    assert figure.locator("[data-panel=text] .lines line").count() == characters.count() - FIRST
    act(figure, lambda: characters.nth(2).click(force=True))  # sees too few to have a spread
    assert "head 3 looks from “a” at" in heading.text_content()
    assert figure.get_by_role("slider", name="the character").get_attribute("aria-valuenow") == "7"
