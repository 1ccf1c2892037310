"""Below the border more keys share half of the weight of a longer row; above it a few have it."""

import math
import re

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


def told(figure):
    """What stands below each bar."""
    texts = figure.locator("[data-panel=rows] svg").get_by_text(re.compile("reach half|key has"))
    return [numbers(text) for text in texts.all_text_contents()]


@pytest.mark.parametrize("sigma", [1, 2, 2.8, 4, 8])
def test_as_many_keys_have_half_of_the_weight_as_the_library_finds(explorable, sigma):
    figure = explorable("phases", f"sigma={sigma}")
    drawn = numbers(described(figure, "rows"))
    for n, (shown, *percent) in zip(LENGTHS, told(figure), strict=True):
        shares = gathered(n, sigma)
        half = (shares < 0.5).sum().item() + 1
        of, heaviest, count, share = (drawn.pop(0) for _ in range(4))
        assert of == n
        assert heaviest == pytest.approx(shares[0].item(), abs=0.05)
        assert count == pytest.approx(half, rel=0.03, abs=1.01)
        assert share == pytest.approx(shares[int(count) - 1].item(), abs=0.05)
        assert shown == count
        assert percent == ([pytest.approx(100 * heaviest, abs=1)] if count == 1 else [])


def test_a_row_is_past_its_border_where_a_few_keys_have_half(explorable):
    figure = explorable("phases")
    handle = slider(figure, "spread of the scores")
    shown = [figure.locator("output").inner_text()]
    starts = (
        "Longer rows need more keys",
        "Past σ = 2.6 the shortest row",
        "Past σ = 3.7 two rows",
        "No more: all three rows",
    )
    for past, start in enumerate(starts):
        while past and float(state(figure)["sigma"]) < BORDERS[past - 1]:
            act(figure, handle.press, "ArrowRight")
            shown.append(figure.locator("output").inner_text())
        assert said(figure).startswith(start)
        labels = figure.locator("svg").get_by_text("few hold half")
        borders = [x for text in labels.all_text_contents() for x in numbers(text)]
        assert borders == pytest.approx(BORDERS, abs=0.051)
        weights = labels.evaluate_all("all => all.map(one => one.style.fontWeight)")
        assert weights == ["700"] * past + [""] * (3 - past)
        counts = [count for count, *_ in told(figure)]
        few = max(counts[:past], default=0)
        assert few <= 3
        ends = counts, [few, counts[-1]], [few, counts[-1]], [few, LENGTHS[2] / LENGTHS[0]]
        assert numbers(said(figure))[-len(ends[past]) :] == ends[past]
        shares = [count / n for count, n in zip(counts, LENGTHS, strict=True)]
        assert shares == sorted(shares, reverse=True)
    assert len({*shown}) == len(shown)
    go(figure, "sigma=8")
    assert said(figure).endswith("one key has most of the weight in all three rows.")


def test_the_thumb_passes_a_tick_where_a_row_passes_its_border(explorable):
    figure = explorable("phases")
    handle, ticks = slider(figure, "spread of the scores"), figure.locator(".explorable-tick")
    middles = "all => all.map(one => one.offsetLeft + one.offsetWidth / 2)"
    inset, width = 8, handle.evaluate("one => one.offsetWidth")  # half of the thumb
    places = [(x - inset) / (width - 2 * inset) for x in ticks.evaluate_all(middles)]
    expected = [math.log(border) / math.log(8) for border in BORDERS]
    assert places == pytest.approx(expected, abs=0.01)
