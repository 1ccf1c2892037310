"""Trained heads: over how many characters a row spreads, and over how many by chance."""

import pytest

import sdpa_lib as sdpa
from sdpa_book.explorables.heads_explorable import HEADS, standard, typical
from sdpa_book.studies.heads.read import LONGER, load_vectors

from .conftest import act, go, numbers, said, state


def row_of(moment, head, place):
    """The scores of a row."""
    layer, head = divmod(head, 4)
    query, key = (x[moment, layer, head] for x in load_vectors(HEADS, "line", LONGER))
    return sdpa.attention_scores(query, key).double()[place, : place + 1]


def by_chance(row):
    """Effective keys of normal rows with as many keys and the same spread."""
    normal = sdpa.sample(4000, len(row), seed=0, device="cpu").double()
    normal = standard(normal)
    squares = (normal * row.std(correction=0)).softmax(-1).square().sum(-1)
    return 1 / squares.mean().item()


@pytest.mark.parametrize(("moment", "step"), [(4, 2400), (0, 0), (2, 600)])
def test_rows_are_those_that_were_trained(explorable, moment, step):
    figure = explorable("heads", f"step={step}")
    tiles = figure.get_by_role("radio")
    tiles.first.wait_for()
    for place in (62, 30):
        go(figure, f"head=4,step={step},place={place}")
        rows = [row_of(moment, head, place) for head in range(16)]
        keys = [sdpa.effective_keys(row.softmax(-1)).item() for row in rows]
        shown = [numbers(tile.get_attribute("aria-label").split(": ")[1]) for tile in tiles.all()]
        assert [own for own, _ in shown] == pytest.approx(keys, rel=0.06)
        chance = by_chance(rows[4])
        assert shown[4][1] == pytest.approx(chance, rel=0.06)
        ratio = keys[4] / chance
        told = said(figure).rpartition(",")[2]
        if "about as many" in told:
            assert 1 / 1.3 < ratio < 1.3
        else:
            times = numbers(told)[0] / (100 if "%" in told else 1)
            assert times == pytest.approx(ratio, rel=0.1)
            assert ("more even" in told) == (ratio > 1)


def test_what_is_drawn_by_chance_is_typical():
    row = row_of(4, 4, 62)
    weights = (row.std(correction=0) * standard(typical(63))).softmax(-1)
    assert sdpa.effective_keys(weights).item() == pytest.approx(by_chance(row), rel=0.1)


def test_training_can_be_watched(begin):
    figure, _ = begin("heads", motion="no-preference")
    act(figure, figure.get_by_role("button", name="Watch it learn").click)
    assert state(figure)["step"] == "0"
    figure.page.wait_for_function("() => location.hash.includes('step=2400')", timeout=15_000)
