"""Below the border more and more keys share the weight; above it a few do, however many come."""

import math

import pytest
import torch

import sdpa_lib as sdpa

from .conftest import go, numbers, said

PLACES = [(32, 1), (512, 2), (8192, 8), (131072, 0.5)]
SIDES = ("below", "crossover", "above")


def test_as_many_keys_share_the_weight_as_the_library_finds(explorable):
    figure = explorable("phases")
    for n, sigma in PLACES:
        go(figure, f"n={n},sigma={sigma}")
        lines = figure.locator(".explorable-line").all_inner_texts()
        keys, of = numbers(lines[0])[:2]
        scores = sigma * sdpa.sample(64, n, seed=2, device="cpu")
        found = sdpa.effective_keys(scores.softmax(-1)).log()
        error = 3 * found.std().item() / math.sqrt(32) + 0.05 / (keys if keys < 10 else 1)
        assert of == n
        assert math.log(keys) == pytest.approx(found.mean().item(), abs=error)
        critical = math.sqrt(2 * math.log(n))
        assert numbers(lines[1]) == pytest.approx([sigma, critical], abs=0.05)
        side = SIDES[(sigma > critical / 2) + (sigma > critical)]
        assert [name for name in SIDES if name in lines[1]] == [side]


def test_each_divisor_leaves_the_spread_that_the_library_gives(explorable):
    figure = explorable("phases")
    for d_k in (4, 64, 256):
        go(figure, f"d_k={d_k}")
        keys = torch.ones(512, d_k, dtype=torch.float64)  # each of length √d_k
        lines = figure.locator("line[data-rescaling]").evaluate_all(
            "lines => lines.map(line => [line.dataset.rescaling, Number(line.dataset.sigma)])"
        )
        assert [name for name, _ in lines][:2] == ["none", "sqrt_d_k"]
        for name, sigma in lines:
            theirs = math.sqrt(d_k) / sdpa.RESCALINGS[name](keys).item()
            assert sigma == pytest.approx(theirs)


@pytest.mark.parametrize("d_k", [8, 16])
def test_undivided_crosses_the_border_where_d_k_is_twice_the_logarithm(explorable, d_k):
    figure = explorable("phases", "n=512,d_k=64")
    go(figure, f"n=512,d_k={d_k}")
    above = math.sqrt(d_k) > math.sqrt(2 * math.log(512))
    first = said(figure).rsplit(":", 1)[0]
    assert ("above the border" in first, "below the border" in first) == (above, not above)
    assert any(n == pytest.approx(2 * math.log(512), abs=0.5) for n in numbers(said(figure)))


def test_the_law_is_said_when_both_sides_have_been_walked(explorable, data):
    figure = explorable("phases", "n=512,sigma=8")
    table = data["phases"]
    expected = []
    for sigma in (8, 0.5):
        at = table["sigma"].index(min(table["sigma"], key=lambda x, sigma=sigma: abs(x - sigma)))
        for n in (512, 131072):
            go(figure, f"n={n},sigma={sigma}")
            expected.append(n ** table["share"][table["n"].index(n)][at])
    few, many = expected[:2], expected[2:]
    assert few[1] < 10 < many[0]
    found = numbers(said(figure))[-6:]
    assert found == pytest.approx([0.5, *many, 8, *few], rel=0.06)
    walked = figure.locator("text.walk")
    assert walked.count() == 2
    figure.get_by_role("button", name="Reset").click()
    walked.nth(1).wait_for(state="detached")
