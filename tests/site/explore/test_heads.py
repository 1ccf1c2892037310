"""Heads in training: how many characters each looks at, and whether more than by chance."""

import pytest
import torch

import sdpa_lib as sdpa
from sdpa_book.explorables.heads_explorable import FIRST, HEADS, MIDDLE, count, standard
from sdpa_book.studies.heads.read import LONGER, load_vectors

from .conftest import act, go, numbers, said


def row_of(moment, head, place):
    """The scores of a row."""
    layer, head = divmod(head, 4)
    query, key = (x[moment, layer, head] for x in load_vectors(HEADS, "line", LONGER))
    return sdpa.attention_scores(query, key).double()[place, : place + 1]


def by_chance(row):
    """Effective keys of normal rows with as many keys and the same spread."""
    normal = standard(sdpa.sample(4000, len(row), seed=1, device="cpu").double())
    return sdpa.effective_keys((normal * row.std(correction=0)).softmax(-1))


@pytest.mark.parametrize(("moment", "step"), [(4, 2400), (0, 0), (2, 600)])
def test_heads_are_those_that_were_trained(explorable, moment, step):
    figure = explorable("heads", f"step={step}")
    heads = figure.get_by_role("radio")
    heads.first.wait_for()
    for place in (62, 30):
        go(figure, f"step={step},place={place}")
        rows = [row_of(moment, head, place) for head in range(16)]
        keys = [sdpa.effective_keys(row.softmax(-1)).item() for row in rows]
        ends = [by_chance(row).quantile(MIDDLE).tolist() for row in rows]
        more = 0
        for head, own, (low, high) in zip(heads.all(), keys, ends, strict=True):
            looks, *chance = numbers(head.get_attribute("aria-label").split(": ")[1])
            expected = [pytest.approx(x, rel=0.08, abs=0.8) for x in (own, low, high)]
            assert [looks, chance[0], chance[-1]] == expected
            more += looks > chance[-1]
        assert f"{more or 'none'} of 16 heads look" in said(figure)
        assert not more or f"more than by chance: {more}" in figure.text_content()


def test_bars_are_how_many_heads_look_at_more(explorable):
    figure = explorable("heads", "step=2400")
    query, key = (x[4] for x in load_vectors(HEADS, "line", LONGER))
    more = count(sdpa.attention_scores(query, key))[1].sum(-1)
    bars = figure.locator("[data-panel=text] .many")
    bars.first.wait_for(state="attached")
    high = bars.evaluate_all("all => all.map((one) => Number(one.getAttribute('height')))")
    assert (torch.tensor(high[FIRST:]) - 2 * more).abs().max() <= 2
    mean = numbers(said(figure).split("bars ")[1])[0]
    assert mean == pytest.approx(more.double().mean().item(), abs=0.1)


def test_tiles_keep_their_places_and_keys_go_by_layers(explorable):
    figure = explorable("heads")
    where = "all => all.map((tile) => tile.getAttribute('transform'))"
    places = figure.get_by_role("radio").evaluate_all(where)
    act(figure, lambda: figure.get_by_role("radio", name="layer 3, head 4").press("ArrowUp"))
    heading = figure.locator("[data-panel=text] p").text_content()
    assert heading.startswith("layer 2, head 4 looks from “(” at 25 characters")
    go(figure, "step=2400,place=30,head=4")
    assert figure.get_by_role("radio").evaluate_all(where) == places
