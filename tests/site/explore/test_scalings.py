"""Longer keys leave the weights alone where the divisor grows with them, and nowhere else."""

import pytest

import sdpa_lib as sdpa
from sdpa_book.explorables.scalings_explorable import COMPARED, query_and_keys

from .conftest import act, described, go, numbers, said, slider, state


@pytest.mark.parametrize("a", [0.1, 1, 2, 10])
def test_the_weights_are_the_librarys_at_every_length(explorable, a):
    figure = explorable("scalings", f"a={a}")
    query, keys = query_and_keys()
    lengths = numbers(described(figure, "keys"))
    assert lengths == pytest.approx((a * keys).norm(dim=-1).tolist(), rel=0.051)
    for name in COMPARED:
        p = sdpa.attention_weights(query, a * keys, rescaling=name)[0]
        divisor, *shown, count, of = numbers(described(figure, name))
        size = float(sdpa.RESCALINGS[name](a * keys))
        assert divisor == pytest.approx(size, rel=0.05)
        assert (shown, of) == (pytest.approx(p.tolist(), abs=0.0051), 8)
        assert count == pytest.approx(sdpa.effective_keys(p).item(), abs=0.051)
        shown = figure.locator(f"[data-panel={name}] text.keys").text_content()
        assert count in numbers(shown)


def test_two_rows_stay_and_two_collapse(explorable):
    figure = explorable("scalings")
    before = [described(figure, name) for name in COMPARED]
    act(figure, slider(figure, "length of").press, "End")
    assert state(figure)["a"] == "10"
    after = [described(figure, name) for name in COMPARED]
    same = [numbers(old)[1:] == numbers(new)[1:] for old, new in zip(before, after, strict=True)]
    assert same == [False] * 2 + [True] * 2
    assert "longer keys let one key take nearly all" in said(figure)
    go(figure, "a=0.1")
    assert "shorter keys let more" in said(figure)
