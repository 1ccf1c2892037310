"""Trained heads: is it place or what is read that makes a row even?"""

import pytest
from playwright.sync_api import expect

import sdpa_lib as sdpa
from sdpa_book.explorables.heads_explorable import HEADS
from sdpa_book.studies.heads.read import LONGER, load_places, load_vectors

from .conftest import go, numbers, said

PARTS = ("all", "place", "read")


def rows_of(moment, head, place):
    """The scores of a row, by part of them."""
    layer, head = divmod(head, 4)
    query, key = (x[moment, layer, head] for x in load_vectors(HEADS, "line", LONGER))
    whole = sdpa.attention_scores(query, key).double()[place, : place + 1]
    of_place = load_places(HEADS, "line", LONGER)[moment, layer, head, place, : place + 1].double()
    return {"all": whole, "place": of_place, "read": whole - of_place}


def keys_of(row):
    return sdpa.effective_keys(row.softmax(-1)).item()


def over_normal(row):
    """Effective keys over those of normal rows with as many keys and the same spread."""
    normal = sdpa.sample(4000, len(row), seed=0, device="cpu").double()
    normal = (normal - normal.mean(-1, keepdim=True)) / normal.std(-1, correction=0, keepdim=True)
    squares = (normal * row.std(correction=0)).softmax(-1).square().sum(-1)
    return keys_of(row) * squares.mean().item()


def kind_of(ratio):
    return "even" if ratio > 2 else "sharp" if ratio < 1 / 2 else ""


@pytest.mark.parametrize(("moment", "step"), [(4, 2400), (0, 0), (2, 600)])
def test_rows_and_their_parts_are_those_that_were_trained(explorable, moment, step):
    figure = explorable("heads", f"step={step}")
    tiles = figure.get_by_role("radio")
    tiles.first.wait_for()
    for part in PARTS:
        go(figure, f"part={part},head=4,step={step},place=62")
        expect(figure.locator(".text .character")).not_to_have_count(0)
        rows = [rows_of(moment, head, 62)[part] for head in range(16)]
        ratios = [over_normal(row) for row in rows]
        shown = [numbers(text)[-1] for text in tiles.all_text_contents()]
        assert shown == pytest.approx(ratios, rel=0.1)
        keys, usual = numbers(said(figure))[:2]
        assert keys == pytest.approx(keys_of(rows[4]), rel=0.06)
        assert keys / usual == pytest.approx(ratios[4], rel=0.12)
        for kind in ("even", "sharp"):
            count = figure.locator(f"[data-count={kind}]").text_content()
            assert numbers(count)[-1] == [kind_of(ratio) for ratio in shown].count(kind)


def verdict(whole, place, read):
    """Which part alone is as the whole is; or whether the parts of an ordinary row cancel."""
    if not whole:
        return "cancel" if {place, read} == {"even", "sharp"} else None
    return {
        (True, True): "Either part",
        (True, False): "Place alone",
        (False, True): "What is read alone",
        (False, False): "Neither part",
    }[place == whole, read == whole]


def test_the_answer_follows_from_the_three_numbers_that_stand_there(explorable):
    figure = explorable("heads")
    results = figure.locator(".explorable-buttons small")
    expect(results.nth(1)).to_have_text("?")
    for part in PARTS:
        go(figure, f"part={part}")
    found = []
    for head in range(16):
        go(figure, f"head={head}")
        found.append(verdict(*(kind_of(numbers(text)[0]) for text in results.all_text_contents())))
        named = [case for case in ("Either", "Place", "Neither", "cancel") if case in said(figure)]
        assert (found[-1] or "").split(" ")[0] in [*named, "What", ""], head
        assert ("cancel" in said(figure)) == (found[-1] == "cancel")
    # The chapter's notes count them.
    counts = [
        found.count(case) for case in ("Place alone", "Either part", "Neither part", "cancel")
    ]
    assert counts == [3, 2, 1, 3]
