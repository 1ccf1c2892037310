"""Trained heads: how many characters each looks at, and how many by chance."""

import pytest

import sdpa_lib as sdpa
from sdpa_book.explorables.heads_explorable import HEADS, MIDDLE, standard, typical
from sdpa_book.studies.heads.read import LONGER, load_vectors

from .conftest import go, numbers, said


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
        go(figure, f"head=4,step={step},place={place}")
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


def test_what_is_drawn_by_chance_is_typical():
    row = row_of(4, 4, 62)
    weights = (row.std(correction=0) * standard(typical(63))).softmax(-1)
    usual = 1 / (1 / by_chance(row)).mean()
    assert sdpa.effective_keys(weights).item() == pytest.approx(usual.item(), rel=0.1)
