"""Longer keys leave the weights alone where the divisor grows with them, and nowhere else."""

import pytest

import sdpa_lib as sdpa
from sdpa_book.explorables.scalings import COMPARED, query_and_keys

from ..conftest import act, described, go, numbers, sentence, slider


@pytest.mark.parametrize("a", [0.25, 0.75, 1, 1.5, 3, 8])
def test_the_weights_are_the_librarys_at_every_length(explorable, a):
    figure = explorable("scalings", f"a={a}")
    query, keys = query_and_keys()
    for name in COMPARED:
        p = sdpa.attention_weights(query, a * keys, rescaling=name)[0]
        divisor, *weights, count, of = numbers(described(figure, name))
        size = float(sdpa.RESCALINGS[name](a * keys))
        assert divisor == pytest.approx(size, rel=0.05)
        assert (weights, of) == (pytest.approx(p.tolist(), abs=0.0051), 8)
        assert count == pytest.approx(sdpa.effective_keys(p).item(), abs=0.051)
        words = " ".join(figure.locator(f"[data-panel={name}] .words text").all_text_contents())
        heading = figure.locator(f"[data-panel={name}] .explorable-panel-title").inner_text()
        assert numbers(heading)[-1] == divisor
        assert count in numbers(words)
        verdicts = {word for word in ("unmoved", "sharper", "more even") if word in words}
        moved = "sharper" if a > 1 else "more even"
        verdict = "unmoved" if name in ("k_mean", "k_total") else moved
        assert verdicts == ({verdict} if a != 1 else set())
        assert ("as if shared by" in words) == (name == "none")
        assert ("dashed: at × 1" in words) == (name == "none" and a != 1)


def test_two_rows_stay_and_two_collapse(explorable):
    figure = explorable("scalings", "a=1")
    assert "nearly the same weights" in sentence(figure)
    before = [described(figure, name) for name in COMPARED]
    act(figure, slider(figure, "length of").press, "End")
    after = [described(figure, name) for name in COMPARED]
    same = [numbers(old)[1:] == numbers(new)[1:] for old, new in zip(before, after, strict=True)]
    assert same == [False] * 2 + [True] * 2
    assert sentence(figure).endswith("now does what undivided did at × 1.")
    root, undivided = (numbers(text)[1:] for text in (after[1], before[0]))
    assert root == pytest.approx(undivided, abs=0.0051)
    go(figure, "a=3")
    assert numbers(sentence(figure)) == [4, 1.8]
    act(figure, slider(figure, "length of").press, "Home")
    assert "shrink with the keys" in sentence(figure)
    assert numbers(sentence(figure)) == [4, 7.4]
