"""Heads in training: at how many characters each looks, and whether at more than random scores."""

import math
import re

import pytest
import torch

import sdpa_lib as sdpa
from sdpa_book.explorables.heads_explorable import FIRST, HEADS, SHARES, inside, measure, standard
from sdpa_book.studies.heads.read import LONGER, load_vectors

from .conftest import act, go, numbers, said


def scores_of(moment):
    """The scores of a moment's heads, (layers, heads, n, n)."""
    query, key = (x[moment] for x in load_vectors(HEADS, "line", LONGER))
    return sdpa.attention_scores(query, key)


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
        assert told.startswith(f"layer {head // 4 + 1}, head {head % 4 + 1} looks at ")
        assert handle.get_attribute("aria-valuetext") == told
        expected = [pytest.approx(x, rel=0.08, abs=0.2) for x in (keys, *by_chance(row))]
        assert numbers(told.split("looks at ")[1]) == expected


@pytest.mark.parametrize("step", [0, 600, 2400])
def test_the_letters_are_as_strong_as_the_weights_say(explorable, step):
    figure = explorable("heads", f"step={step}")
    box = figure.locator("[data-panel=head]")
    for place, head in ((62, 11), (30, 1), (FIRST, 15)):
        go(figure, f"step={step},place={place},head={head}")
        fills = box.locator(".character rect").evaluate_all("all => all.map((x) => x.style.fill)")
        tints = torch.tensor([float(re.search(r"([\d.]+)%", x)[1]) for x in fills[: place + 1]])
        assert all("panel" in x for x in fills[place + 1 :])
        expected = numbers(box.locator("p").text_content().split("looks at ")[1])[0]
        assert sdpa.effective_keys(tints / tints.sum()).item() == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize(("moment", "step"), [(4, 2400), (0, 0), (2, 600)])
def test_dots_and_bars_stand_where_the_study_has_them(explorable, moment, step):
    figure = explorable("heads", f"step={step},place=62")
    keys, chance = (x[-1] for x in measure(scores_of(moment)))
    lines = figure.locator("[data-panel=heads] .head")
    lines.first.wait_for()
    named = "[data-panel=heads] .notes text[text-anchor=middle]"
    places = dict(
        figure.locator(named).evaluate_all(
            "all => all.map((x) => [Number(x.textContent), Number(x.getAttribute('x'))])"
        )
    )
    by = (places[50] - places[1]) / math.log(50)
    drawn = torch.tensor(
        lines.evaluate_all(
            "all => all.map(({firstChild: {x, width}, lastChild: {cx}}) =>"
            "[cx, x, width].map((one) => one.baseVal.value))"
        )
    ).double()
    drawn[:, 2] += drawn[:, 1]
    read = ((drawn - places[1]) / by).exp()
    expected = torch.cat((keys[:, None], chance), -1)
    torch.testing.assert_close(read, expected.double(), rtol=0.01, atol=0.002)


@pytest.mark.parametrize(("moment", "step"), [(4, 2400), (0, 0), (2, 600)])
def test_heads_outside_their_bars_are_coloured_and_those_inside_counted(explorable, moment, step):
    figure = explorable("heads", f"step={step},place=62")
    stays = inside(*measure(scores_of(moment)))
    dots = figure.locator("[data-panel=heads] .head circle")
    dots.first.wait_for()
    colours = dots.evaluate_all("dots => dots.map((dot) => dot.style.fill)")
    assert ["ink" in x for x in colours] == stays[-1].tolist()
    means = stays.double().sum(-1).mean().item(), 16 * SHARES.diff().item()
    expected = [stays[-1].sum().item(), 16, *means]
    assert numbers(said(figure)) == pytest.approx(expected, abs=0.051)


def test_training_takes_more_heads_out_of_their_bars_than_chance_does():
    by_chance = 16 * SHARES.diff().item()
    untrained, *trained = (inside(*measure(scores_of(i))).double().sum(-1).mean() for i in range(5))
    assert untrained == pytest.approx(by_chance, abs=0.3)
    assert 8 < min(trained) < max(trained) < by_chance - 1


def test_a_number_that_prints_like_its_border_gets_a_third_digit(explorable):
    figure = explorable("heads", "step=2400")
    pairs = torch.cat([x[..., None] if x.dim() == 2 else x for x in measure(scores_of(4))], -1)
    alike = [
        (place + FIRST, head)
        for place, heads in enumerate(pairs.tolist())
        for head, (keys, *borders) in enumerate(heads)
        if f"{keys:.1f}" in {f"{x:.1f}" for x in borders} and keys < 9
    ]
    place, head = alike[-1]
    go(figure, f"step=2400,place={place},head={head}")
    told = numbers(figure.locator("[data-panel=head] p").text_content().split("looks at ")[1])
    assert told == pytest.approx(pairs[place - FIRST, head].tolist(), abs=0.0051)
    assert told[0] not in told[1:]


def test_arrow_keys_go_through_the_heads_and_through_the_passage(explorable):
    figure = explorable("heads", "place=62,head=7")
    heading = figure.locator("[data-panel=head] p")
    assert heading.text_content().startswith("layer 2, head 4 looks at ")
    head, place = (figure.get_by_role("slider", name=x) for x in ("the head", "the character"))
    act(figure, lambda: head.press("ArrowDown"))
    assert heading.text_content().startswith("layer 3, head 1 looks at ")
    act(figure, lambda: head.press("ArrowUp"))
    act(figure, lambda: head.press("ArrowLeft"))
    assert heading.text_content().startswith("layer 2, head 3 looks at ")
    act(figure, lambda: head.press("Home"))
    head.press("ArrowUp")  # has no line above it
    assert heading.text_content().startswith("layer 1, head 1 looks at ")
    act(figure, lambda: head.press("End"))
    assert heading.text_content().startswith("layer 4, head 4 looks at ")
    act(figure, lambda: place.press("ArrowLeft"))
    assert place.get_attribute("aria-valuetext").startswith("a at 62; ")
    act(figure, lambda: place.press("Home"))
    assert heading.text_content().startswith("layer 4, head 4 looks at ")
    assert place.get_attribute("aria-valuenow") == str(FIRST)


def test_a_press_chooses_a_head_by_its_line_and_a_character_by_its_place(explorable):
    figure = explorable("heads", "step=2400,place=62")
    heading = figure.locator("[data-panel=head] p")
    rows = figure.locator("[data-panel=heads] .head")
    rows.first.wait_for()
    figure.scroll_into_view_if_needed()
    for i in (6, 7, 8, 7, 6):  # neighbours, too
        box = rows.nth(i).locator("rect").bounding_box()
        middle = [box[start] + box[size] / 2 for start, size in (("x", "width"), ("y", "height"))]
        act(figure, lambda middle=middle: figure.page.mouse.click(*middle))
        name = f"layer {i // 4 + 1}, head {i % 4 + 1}"
        assert heading.text_content().startswith(f"{name} looks at ")
    characters = figure.locator("[data-panel=head] .character")
    act(figure, lambda: characters.nth(20).click(force=True))
    place = figure.get_by_role("slider", name="the character")
    assert place.get_attribute("aria-valuetext").startswith("h at 21; ")
    assert figure.locator("[data-panel=head] .lines line").count() == characters.count() - FIRST
    act(figure, lambda: characters.nth(2).click(force=True))  # sees too few to have a spread
    assert place.get_attribute("aria-valuenow") == str(FIRST)
