"""Trained heads: how many characters each looks at, and how many by chance."""

import pytest

import sdpa_lib as sdpa
from sdpa_book.explorables.heads_explorable import HEADS, MIDDLE, standard
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
        for head, own, chance in zip(heads.all(), keys, ends, strict=True):
            shown = numbers(head.get_attribute("aria-label").split(": ")[1])
            assert shown == pytest.approx([own, *chance], rel=0.12)
        least, most = (
            sum(own > by * high for own, (_, high) in zip(keys, ends, strict=True))
            for by in (1.1, 1 / 1.1)
        )
        more = said(figure).partition(" of 16")[0].split()[-1].replace("none", "0")
        assert least <= int(more) <= most


def test_a_head_that_is_pressed_is_named_until_something_else_moves(explorable):
    figure = explorable("heads")
    act(figure, figure.get_by_role("radio", name="layer 2, head 1").click)
    assert said(figure).startswith("Layer 2, head 1 looks from “(” at 5.")
    go(figure, "step=600,place=62,head=4")
    assert " of 16 heads" in said(figure)


def test_heads_stand_in_the_order_of_their_kinds(explorable):
    figure = explorable("heads", "step=2400,place=30")
    heads = figure.get_by_role("radio").all()
    heads.sort(key=lambda head: head.bounding_box()["x"])
    kinds = []
    for head in heads:
        keys, low, high = numbers(head.get_attribute("aria-label").split(": ")[1])
        kinds.append((keys > high) - (keys < low))
    assert kinds == sorted(kinds)
    assert figure.locator(".notes").text_content().startswith(f"{kinds.count(-1)} fewer")
