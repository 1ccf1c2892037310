"""Below the border more keys share half of the weight of a longer row; above it a few have it."""

import math

import pytest

import sdpa_lib as sdpa

from .conftest import act, described, go, numbers, said, slider, state

LENGTHS = [32, 1024, 32_768]
BORDERS = [math.sqrt(2 * math.log(n)) for n in LENGTHS]


def gathered(n, sigma):
    """The mean weight of the heaviest key, of the two heaviest, and so on."""
    rows = max(256, 2**17 // n)
    scores = sigma * sdpa.sample(rows, n, seed=2, device="cpu")
    return scores.softmax(-1).sort(descending=True).values.mean(0).cumsum(-1)


@pytest.mark.parametrize("sigma", [1, 2, 2.8, 4, 8])
def test_as_many_keys_have_half_of_the_weight_as_the_library_finds(explorable, sigma):
    figure = explorable("phases", f"sigma={sigma}")
    told, drawn = numbers(said(figure)), numbers(described(figure, "rows"))
    for n in LENGTHS:
        shares = gathered(n, sigma)
        half = (shares < 0.5).sum().item() + 1
        of, heaviest, count, share = (drawn.pop(0) for _ in range(4))
        assert of == n
        assert heaviest == pytest.approx(shares[0].item(), abs=0.05)
        assert count == pytest.approx(half, rel=0.03, abs=1.01)
        assert share == pytest.approx(shares[int(count) - 1].item(), abs=0.05)
        if sigma == 8:
            assert told.pop(0) == pytest.approx(100 * heaviest, abs=1)
        else:
            assert told.pop(0) == count


def test_a_row_is_past_its_border_where_a_few_keys_have_half(explorable):
    figure = explorable("phases")
    handle = slider(figure, "spread of the scores")
    shown = [figure.locator("output").inner_text()]
    starts = ("All rows are", "The shortest row is past", "Two rows are past", "Past its border")
    for past, start in enumerate(starts):
        while past and float(state(figure)["sigma"]) < BORDERS[past - 1]:
            act(figure, handle.press, "ArrowRight")
            shown.append(figure.locator("output").inner_text())
        assert said(figure).startswith(start)
        told = figure.locator("svg").get_by_text("border")
        borders = [x for text in told.all_text_contents() for x in numbers(text)]
        assert borders == pytest.approx(BORDERS, abs=0.0051)
        weights = told.evaluate_all("all => all.map(one => one.style.fontWeight)")
        assert weights == ["700"] * past + [""] * (3 - past)
        counts = numbers(said(figure))
        assert max(counts[:past], default=0) <= 3
        shares = [count / n for count, n in zip(counts, LENGTHS, strict=True)]
        assert shares == sorted(shares, reverse=True)
    assert len({*shown}) == len(shown)
    go(figure, "sigma=8")
    assert said(figure).startswith("On average one key has more than half of each row")
