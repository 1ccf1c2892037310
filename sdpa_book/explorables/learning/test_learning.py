"""What a link, a query and a matrix receive: against the graph's own gradients, and chapter 5."""

import math
import re

import pytest
import torch
import torch.nn.functional as F

import sdpa_lib as sdpa
from sdpa_book.explorables.chosen import DIVISORS, WIDTHS
from sdpa_book.explorables.chosen import divisor as divide_by
from sdpa_book.explorables.learning import ROWS, data, measured
from sdpa_lib.sampling import sample

from ..conftest import described, go, numbers, sentence

OF_LINKS = ("link", "strongest")


def by_autograd(d_k, c, layers=40, tokens=32, d_model=128):
    """The same of other layers, by automatic differentiation."""

    def normal(*shape, stream):
        return sample(layers, *shape, seed=77, stream=stream, device="cpu")

    x = F.layer_norm(normal(tokens, d_model, stream=0), (d_model,))
    W_Q, W_K, W_V = (
        normal(d_model, d, stream=1 + i) / math.sqrt(d_model) for i, d in enumerate((d_k, d_k, 64))
    )
    W_Q.requires_grad_()
    q = x @ W_Q
    dots = q @ (x @ W_K).mT
    output = (dots / c).softmax(-1) @ (x @ W_V)
    loss = (output * normal(tokens, 64, stream=4)).sum()
    links, queries, matrix = torch.autograd.grad(loss, (dots, q, W_Q))
    return {
        "link": links.abs().median(),
        "strongest": links.abs().amax(-1).median(),
        "query": queries.norm(dim=-1).median(),
        "matrix": matrix.norm(dim=(-2, -1)).mean(),
    }


@pytest.mark.parametrize("d_k", [4, 64])
@pytest.mark.parametrize("divisor", DIVISORS)
def test_what_is_stored_is_what_automatic_differentiation_gives(d_k, divisor):
    """The smallest links differ most: by a sixth of themselves, or so, in 40 layers."""
    other = by_autograd(d_k, divide_by(divisor, d_k))
    for row in ROWS:
        stored = data()[divisor][row][WIDTHS.index(d_k)]
        far = 0.5 if row == "link" and divisor == "none" else 0.12
        assert stored == pytest.approx(other[row].item(), rel=far)


def test_what_is_stored_is_what_is_measured_today():
    for divisor in DIVISORS:
        for row, values in measured(16, divisor).items():
            stored = data()[divisor][row][WIDTHS.index(16)]
            assert stored == pytest.approx(values.mean().item(), rel=1e-3)
            error = values.std() / math.sqrt(len(values)) / values.mean()
            assert error < 0.05


def test_adding_1_to_the_score_or_to_the_dot_product_reverses_the_order():
    """Finite steps say so, too: how many weights grow by 0.05, and the most that one does."""
    q, k = (sample(4000, n, 64, seed=5, stream=n, device="cpu") for n in (1, 32))
    dots = (q * k).sum(-1)

    def gains(divisor, to):
        c = divide_by(divisor, 64)
        p = sdpa.attention_weights(q, k, rescaling=divisor).squeeze(-2)
        raised = p * math.exp(1 if to == "score" else 1 / c)
        assert p == pytest.approx((dots / c).softmax(-1), abs=1e-6)
        grown = raised / (1 - p + raised) - p
        return (grown >= 0.05).sum(-1).double().mean().item(), grown.amax(-1).mean().item()

    none, root = gains("none", "dot"), gains("sqrt_d_k", "dot")
    assert none == pytest.approx((1.67, 0.115), rel=0.05)
    assert root == pytest.approx((0.0, 0.017), abs=0.001)
    assert gains("none", "score") == none
    keys, best = gains("sqrt_d_k", "score")
    assert keys > 6 * none[0]
    assert best > 1.4 * none[1]
    over = dict(zip(ROWS, ratios(64, "none", "dot"), strict=True))
    at_scores = dict(zip(ROWS, ratios(64, "none", "score"), strict=True))
    assert over["strongest"] > 1 > at_scores["strongest"]


def ratios(d_k, divisor, to):
    """Of each row, a divisor's over the root's."""
    for row in ROWS:
        own, root = (data()[name][row][WIDTHS.index(d_k)] for name in (divisor, "sqrt_d_k"))
        if to == "score" and row in OF_LINKS:
            own, root = own * divide_by(divisor, d_k), root * math.sqrt(d_k)
        yield own / root


SETTINGS = [
    (4, "none", "dot"),
    (64, "none", "dot"),
    (64, "none", "score"),
    (64, "sqrt_d_k", "dot"),
    (64, "d_k", "score"),
    (256, "none", "dot"),
]


@pytest.mark.parametrize(("d_k", "divisor", "to"), SETTINGS)
def test_points_and_words_are_what_is_stored(explorable, d_k, divisor, to):
    figure = explorable("learning", f"d_k={d_k},divisor={divisor},to={to}")
    panel = figure.locator("[data-panel=rows]")
    other = "sqrt_d_k" if divisor == "none" else "none"
    expected, compared = (list(ratios(d_k, name, to)) for name in (divisor, other))
    texts = re.findall(r"([\w ]+) \((.*?)\)", described(figure, "rows"))
    for (words, value), ratio in zip(texts, expected + compared, strict=True):
        assert float(value.replace("−", "-").replace("+", "")) == pytest.approx(ratio, rel=0.005)
        assert ("times as much" in words) == (ratio >= 1.005)
        assert ("times less" in words) == (ratio <= 0.995)
    ticks = panel.locator(".axis .tick").evaluate_all(
        "ticks => ticks.map(tick => tick.getAttribute('transform').match(/[\\d.]+/)[0])"
    )
    decade = (float(ticks[-1]) - float(ticks[0])) / 8  # from a millionth to a hundred
    at, grey = (
        panel.locator(f".{name} circle").evaluate_all(
            "dots => dots.map(dot => Number(dot.getAttribute('cx')))"
        )
        for name in ("own", "other")
    )
    for places, values in ((at, expected), (grey, compared)):
        for place, ratio in zip(places, values, strict=True):
            drawn = 10 ** ((place - float(ticks[0])) / decade - 6)
            assert drawn == pytest.approx(min(100, max(1e-6, ratio)), rel=0.02)
    labels = panel.locator(".notes text").all_text_contents()
    assert ("unchanged" in labels) == (to == "score")


def test_the_sentence_is_chapter_5s(explorable):
    figure = explorable("learning")
    assert sentence(figure).startswith(
        "Undivided, the median link gets 25,000 times less gradient than with √64, "
        "but WQ gets 8 times as much"
    )
    go(figure, "d_k=256")
    assert "120 billion times less" in sentence(figure)
    for d_k in WIDTHS:
        for to in ("dot", "score"):
            go(figure, f"d_k={d_k},to={to}")
            link, *_, matrix = ratios(d_k, "none", to)
            assert ("for most links" in sentence(figure)) == (link < 0.1)
            assert numbers(sentence(figure))[-1] == float(f"{matrix:.2g}")
            assert matrix > 2
