"""Heads in training: a row of scores beside random ones, and at how many characters heads look."""

import functools

import pytest
import torch

import sdpa_lib as sdpa
from sdpa_book.explorables.heads_explorable import (
    FROM,
    HEADS,
    MODELS,
    by_chance,
    look,
    normal,
    outside,
    scores_of,
    standard,
    typical,
)
from sdpa_book.studies.heads.read import load_results

from .conftest import act, go, numbers, said

STATES = [("learned", 4, 2400), ("learned", 0, 0), ("rotary", 2, 600), ("rotary", 4, 2400)]
N = FROM + 1


@functools.cache
def scores(positions):
    return scores_of(positions)


def rows_of(positions, moment):
    """The scores of the character that looks, of a moment's heads, (heads, n)."""
    return scores(positions)[moment, ..., FROM, :N].flatten(0, 1).double()


@functools.cache
def measured(positions, moment):
    """Of each head the spread, at how many characters it looks, and would by chance."""
    return look(scores(positions)[moment], FROM)


def test_both_models_are_kept_at_the_moments_of_the_slider():
    for path in MODELS.values():
        assert load_results(path).kept[f"{HEADS.name}, line"] == [0, 160, 600, 1300, 2400]


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


@pytest.mark.parametrize(("positions", "moment", "step"), STATES)
def test_circles_stand_at_the_scores_and_are_as_large_as_the_weights(
    explorable, positions, moment, step
):
    figure = explorable("heads", f"step={step},positions={positions}")
    for head in (9, 5, 2, 15):
        go(figure, f"step={step},positions={positions},head={head}")
        own = rows_of(positions, moment)[head]
        spread = own.std(correction=0)
        told = figure.locator("[data-panel=rows] .axis-label").text_content()
        assert numbers(told) == pytest.approx([spread.item()], rel=0.06)
        labels = figure.locator("[data-panel=rows] .notes text").all_text_contents()
        for i, row in enumerate((standard(own), typical(N))):
            weights = (spread * row).softmax(-1)
            places, radii = circles(figure, i)
            across = torch.stack((row, torch.ones_like(row)), -1)
            fit = torch.linalg.lstsq(across, places[:, :1]).solution
            assert (across @ fit - places[:, :1]).abs().max() < 0.1  # px
            assert fit[0] > 30  # px a standard deviation
            assert radii.tolist() == pytest.approx(
                (21 * weights.sqrt()).clamp(min=1.5).tolist(), abs=0.03
            )
            apart = torch.cdist(places, places) - radii - radii[:, None]
            assert apart.fill_diagonal_(0).min() > -0.05  # none hides another
            keys = sdpa.effective_keys(weights).item()
            assert numbers(labels[i]) == pytest.approx([keys], rel=0.06)
        assert labels[0].startswith("the head looks at ")
        assert labels[1].startswith("a typical random row: ")
        assert figure.locator("[data-panel=text] p").text_content().startswith(name(head))


def test_the_random_row_looks_at_as_many_characters_as_the_median():
    for spread in (0.4, 1, 3, 6.2):
        keys, one = (
            sdpa.effective_keys((spread * rows).softmax(-1)) for rows in (normal(N), typical(N))
        )
        assert one.item() == pytest.approx(keys.median().item(), rel=0.05)
        [[low, high]] = by_chance(N, torch.tensor([spread]))
        assert ((keys > low) & (keys < high)).double().mean() == pytest.approx(0.9, abs=0.001)


@pytest.mark.parametrize(("positions", "moment", "step"), STATES)
def test_a_cell_has_a_head_s_characters_and_a_colour_where_chance_has_others(
    explorable, positions, moment, step
):
    figure = explorable("heads", f"step={step},positions={positions}")
    _, keys, chance = measured(positions, moment)
    even, sharp = outside(keys, chance)
    cells = figure.locator("[data-panel=heads] .cells text").all_text_contents()
    assert [numbers(cell)[0] for cell in cells] == pytest.approx(keys.tolist(), rel=0.06)
    words = [
        ", more even" if e else ", sharper" if s else "" for e, s in zip(even, sharp, strict=True)
    ]
    assert [cell.lstrip("0123456789.") for cell in cells] == words
    counted = figure.locator("[data-panel=heads] p").text_content()
    assert numbers(counted) == [int((even | sharp).sum()), 16, 9, 10, 1.6]
    fills = figure.locator("[data-panel=heads] .cells .cell").evaluate_all(
        "all => all.map((x) => x.style.fill)"
    )
    assert ["value" in x for x in fills] == even.tolist()
    assert ["key" in x for x in fills] == sharp.tolist()


@pytest.mark.parametrize(("positions", "moment", "step"), STATES)
def test_the_sentence_compares_a_head_with_random_scores(explorable, positions, moment, step):
    figure = explorable("heads", f"step={step},positions={positions}")
    _, keys, chance = measured(positions, moment)
    even, sharp = outside(keys, chance)
    handle = figure.get_by_role("slider", name="the head")
    for head in range(16):
        go(figure, f"step={step},positions={positions},head={head}")
        verdict, _, told = said(figure).partition(": ")
        expected = "More even" if even[head] else "Sharper" if sharp[head] else "Within chance"
        assert verdict == expected
        own, low, high = found = numbers(told)
        assert found == pytest.approx([keys[head].item(), *chance[head].tolist()], rel=0.06)
        assert own >= high if even[head] else own <= low if sharp[head] else low <= own <= high
        assert handle.get_attribute("aria-valuetext").startswith(f"{name(head)}: ")


@pytest.mark.parametrize(("positions", "moment", "step"), STATES)
def test_a_cell_has_a_dot_and_a_bar_for_chance(explorable, positions, moment, step):
    figure = explorable("heads", f"step={step},positions={positions}")
    _, keys, chance = measured(positions, moment)
    drawn = figure.locator("[data-panel=heads] g.head").evaluate_all("""all => all.map((cell) => {
        const value = (part, name) => cell.querySelector(part)[name].baseVal.value;
        const bar = value(".chance", "x");
        const ends = ["x1", "x2"].map((name) => value("line", name));
        return [...ends, value("circle", "cx"), bar, bar + value(".chance", "width")];
    })""")
    for (start, end, *at), own, ends in zip(drawn, keys, chance, strict=True):
        shown = [N ** ((x - start) / (end - start)) for x in at]
        assert shown == pytest.approx([own.item(), *ends.tolist()], rel=0.01)


@pytest.mark.parametrize("head", [9, 5])
def test_the_passage_is_coloured_by_the_weights(explorable, head):
    figure = explorable("heads", f"head={head}")
    fills = figure.locator("[data-panel=text] .character rect").evaluate_all(
        "all => all.map((x) => Number(x.style.fill.match(/([\\d.]+)%/)[1]))"
    )
    weights = rows_of("learned", 4)[head].softmax(-1)
    assert fills == pytest.approx((46 * weights.sqrt()).tolist(), abs=0.51)


def test_the_other_model_shows_its_head_of_nearest_spread(explorable):
    figure = explorable("heads", "step=2400,head=9")
    spreads, others = (measured(positions, 4)[0].log() for positions in ("learned", "rotary"))
    head = 9
    for button, own, all_of in (("RoPE", spreads, others), ("Learned places", others, spreads)):
        act(figure, figure.get_by_role("button", name=button).click)
        head = int((all_of - own[head]).abs().argmin())
        assert figure.locator("[data-panel=text] p").text_content().startswith(f"{name(head)} ")


def test_arrow_keys_go_through_the_heads_as_they_lie(explorable):
    figure = explorable("heads", "step=2400,head=9")
    handle = figure.get_by_role("slider", name="the head")
    for key, head in (
        ("ArrowRight", 10),
        ("ArrowDown", 14),
        ("ArrowLeft", 13),
        ("ArrowUp", 9),
        ("Home", 0),
        ("End", 15),
    ):
        act(figure, lambda key=key: handle.press(key))
        assert handle.get_attribute("aria-valuenow") == str(head)
        assert handle.get_attribute("aria-valuetext").startswith(f"{name(head)}: ")
    handle.press("ArrowDown")  # none is below
    act(figure, lambda: handle.press("ArrowUp"))
    assert handle.get_attribute("aria-valuenow") == "11"


def test_a_press_chooses_a_head_by_its_cell(explorable):
    figure = explorable("heads", "step=2400")
    cells = figure.locator("[data-panel=heads] .cells .cell")
    figure.scroll_into_view_if_needed()
    for i in (0, 7, 8, 15, 6):
        act(figure, lambda i=i: cells.nth(i).click(force=True))
        assert figure.locator("[data-panel=text] p").text_content().startswith(f"{name(i)} ")
