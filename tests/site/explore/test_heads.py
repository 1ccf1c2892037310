"""Heads in training: at how many characters each looks, and whether at more than by chance."""

import pytest

import sdpa_lib as sdpa
from sdpa_book.explorables.heads_explorable import FIRST, HEADS, MIDDLE, measure, standard
from sdpa_book.studies.heads.read import LONGER, load_vectors

from .conftest import act, go, numbers, said


def scores_of(moment):
    """The scores of a moment's heads, (layers, heads, n, n)."""
    query, key = (x[moment] for x in load_vectors(HEADS, "line", LONGER))
    return sdpa.attention_scores(query, key)


def by_chance(row):
    """Between which numbers normal rows with as many keys and the same spread have their effective
    ones, nine times in ten.
    """
    normal = standard(sdpa.sample(4000, len(row), seed=1, device="cpu").double())
    keys = sdpa.effective_keys((normal * row.std(correction=0)).softmax(-1))
    return keys.quantile(MIDDLE).tolist()


@pytest.mark.parametrize(("moment", "step"), [(4, 2400), (0, 0), (2, 600)])
def test_a_head_looks_at_as_many_characters_as_in_the_study(explorable, moment, step):
    figure = explorable("heads", f"step={step}")
    heading = figure.locator("[data-panel=text] p")
    scores = scores_of(moment).flatten(0, 1).double()
    for place, head in ((62, 11), (62, 2), (30, 1), (FIRST, 15)):
        go(figure, f"step={step},place={place},head={head}")
        row = scores[head, place, : place + 1]
        keys = sdpa.effective_keys(row.softmax(-1)).item()
        told = heading.text_content()
        assert told.startswith(f"layer {head // 4 + 1}, head {head % 4 + 1} looks from")
        looks, *chance = numbers(told.split("” at ")[1])
        expected = [pytest.approx(x, rel=0.08, abs=0.2) for x in (keys, *by_chance(row))]
        assert [looks, *chance] == expected


@pytest.mark.parametrize(("moment", "step"), [(4, 2400), (0, 0)])
def test_heads_that_leave_what_chance_gives_are_purple_and_counted(explorable, moment, step):
    figure = explorable("heads", f"step={step},place=62")
    keys, ends = measure(scores_of(moment))
    left = (keys < ends[..., 0]) | (keys > ends[..., 1])
    rows = figure.locator("[data-panel=heads] .head")
    rows.first.wait_for()
    looks = rows.evaluate_all(
        "all => all.map((one) => one.querySelector('circle').style.fill.includes('weights'))"
    )
    assert looks == left[-1].tolist()
    assert said(figure).startswith("Less so after 2,400" if step else "Yes before training")
    mean, by_chance, *here = numbers(said(figure).split("on average")[1].replace("16 dots", ""))
    assert mean == pytest.approx(left.sum(-1).double().mean().item(), abs=0.051)
    assert by_chance == pytest.approx(16 * (1 - (MIDDLE[1] - MIDDLE[0]).item()))
    right = (keys > ends[..., 1])[-1].sum().item()
    assert here == [right, left[-1].sum().item() - right]


def test_it_begins_at_a_character_from_which_as_many_leave_as_on_average(explorable):
    figure = explorable("heads", "step=2400")
    mean, _, right, left = numbers(said(figure).split("on average")[1].replace("16 dots", ""))
    assert abs(mean - right - left) < 0.5


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
    head, place = (figure.get_by_role("slider", name=x) for x in ("the head", "the character"))
    act(figure, lambda: head.press("ArrowUp"))
    assert heading.text_content().startswith("layer 3, head 3 looks from “(” at ")
    act(figure, lambda: head.press("PageUp"))
    assert heading.text_content().startswith("layer 2, head 3 looks from “(” at ")
    act(figure, lambda: place.press("ArrowLeft"))
    assert heading.text_content().startswith("layer 2, head 3 looks from “a” at ")
    act(figure, lambda: place.press("Home"))
    assert heading.text_content().startswith("layer 2, head 3 looks from “a” at ")
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
    characters.nth(2).click(force=True)  # sees too few to have a spread
    act(figure, lambda: rows.nth(7).click(force=True))
    assert "head 4 looks from “h” at" in heading.text_content()
