"""Softmax block by block: the factors make it exact, and the divisor hides in the query."""

import pytest
import torch

from .conftest import act, described, go, numbers, slider, state

VALUES = torch.tensor([0.9, 0.2, 0.3, 0.1, 0.8, 1, 0.4, 0.3]).double()


def scores(figure):
    """The scores that the kernel gets, of a query that the divisor has divided."""
    now = state(figure)
    products = [float(now[f"z{j}"]) for j in range(1, 9)]
    return torch.tensor(products).double() / float(now["c"])


def without_factors(z):
    """The quotient of sums whose terms have the largest score of their own time."""
    terms = torch.cat([(z[i : i + 2] - z[: i + 2].max()).exp() for i in range(0, len(z), 2)])
    return (terms @ VALUES[: len(z)] / terms.sum()).item()


def agrees(figure, read):
    """Sums and quotients of so many keys are softmax's."""
    z, values = scores(figure)[:read], VALUES[:read]
    terms = (z - z.max()).exp()
    total, _, output, _ = numbers(described(figure, "kept"))
    assert total == pytest.approx(terms.sum().item(), abs=5.1e-3)
    assert output == pytest.approx((terms @ values).item(), abs=5.1e-3)
    assert numbers(described(figure, "scores"))[-1] == pytest.approx(z.max().item(), abs=0.051)
    quotient = (torch.softmax(z, -1) @ values).item()
    plain = (torch.softmax(scores(figure), -1) @ VALUES).item()
    quotients = [quotient, without_factors(z), plain]
    assert numbers(described(figure, "output")) == pytest.approx(quotients, abs=5.1e-4)


@pytest.mark.parametrize("c", [1, 2.8, 8])
def test_every_block_agrees_with_softmax_over_what_was_read(explorable, c):
    figure = explorable("online", f"c={c},read=0")
    step = figure.locator(".explorable-step")
    for block in range(1, 5):
        act(figure, step.click)
        assert state(figure)["read"] == str(block)
        agrees(figure, 2 * block)
    act(figure, step.click)
    assert state(figure)["read"] == "0"


def test_a_large_late_score_multiplies_what_is_kept(explorable):
    figure = explorable("online", "read=4")
    act(figure, slider(figure, "score of key 8").press, "End")
    agrees(figure, 8)
    factor = numbers(described(figure, "terms"))[-1]
    assert factor == pytest.approx(torch.tensor(3.4 - 6).exp().item(), rel=0.01)
    act(figure, slider(figure, "divisor").press, "End")
    assert scores(figure)[7] == 6 / 8, "the handle keeps its product"
    agrees(figure, 8)


def test_where_the_largest_score_comes_first_no_factor_is_needed(explorable):
    figure = explorable("online", "read=4,z1=6")
    rescaled, forgotten, plain = numbers(described(figure, "output"))
    assert rescaled == forgotten == plain


def test_the_last_block_is_answered(explorable):
    figure = explorable("online", "read=3")
    result = figure.locator(".explorable-line").last
    assert numbers(result.text_content()) == []
    go(figure, "read=4")
    assert numbers(result.text_content()) == numbers(described(figure, "output"))[:2]
