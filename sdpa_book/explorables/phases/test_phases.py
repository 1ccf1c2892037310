"""At a small spread a longer row needs more keys for half of its weight; at a large one hardly."""

import pytest

from sdpa_lib.sampling import sample

from ..conftest import act, described, go, numbers, sentence, slider

LENGTHS = [2**i for i in range(5, 16)]


def gathered(n, sigma):
    """The mean weight of the heaviest key, of the two heaviest, and so on."""
    rows = max(256, 2**17 // n)
    scores = sigma * sample(rows, n, seed=2, device="cpu")
    return scores.softmax(-1).sort(descending=True).values.mean(0).cumsum(-1)


def curve(figure):
    """The keys that have half of the weight, by the length of the row."""
    drawn = numbers(described(figure, "curve"))
    assert drawn[1::2] == LENGTHS
    return drawn[::2]


@pytest.mark.parametrize("sigma", [1, 2, 2.8, 4, 8])
def test_as_many_keys_have_half_of_the_weight_as_the_library_finds(explorable, sigma):
    figure = explorable("phases", f"sigma={sigma}")
    counts = curve(figure)
    for n in (32, 1024, 32_768):
        go(figure, f"sigma={sigma},n={n}")
        of, heaviest, count, share = numbers(described(figure, "row"))
        shares = gathered(n, sigma)
        half = (shares < 0.5).sum().item() + 1
        assert of == n
        assert heaviest == pytest.approx(shares[0].item(), abs=0.05)
        assert count == counts[LENGTHS.index(n)] == pytest.approx(half, rel=0.03, abs=1.01)
        assert share == pytest.approx(shares[int(count) - 1].item(), abs=0.05)


def test_the_sentence_says_how_many_keys_the_row_needs_and_how_that_grows(explorable):
    figure = explorable("phases")
    handle = slider(figure, "spread of the scores")
    spreads = []
    for _ in range(13):
        spreads.append(figure.locator("output").inner_text())
        counts = curve(figure)
        count = counts[LENGTHS.index(1024)]
        here, ends = sentence(figure).split(". ") if counts[-1] > 1 else (sentence(figure), "")
        assert numbers(here) == ([count, 1024] if count > 1 else [1024])
        if ends:
            assert numbers(ends) == [LENGTHS[0], LENGTHS[-1], counts[0], counts[-1]]
            assert ("only" in ends) == (counts[-1] <= 10 * counts[0])
        else:
            assert here.endswith("in a row of any length it is one.")
        assert counts == sorted(counts)
        if len(spreads) < 13:
            act(figure, lambda: handle.press("ArrowRight"))
    assert len({*spreads}) == 13


def test_the_line_in_the_drawing_makes_the_row_longer(explorable):
    figure = explorable("phases")
    handle = figure.get_by_role("slider", name="keys in the row")
    counts = curve(figure)
    act(figure, lambda: handle.press("End"))
    assert numbers(described(figure, "row"))[0] == LENGTHS[-1]
    assert numbers(sentence(figure))[:2] == [counts[-1], LENGTHS[-1]]
    act(figure, lambda: handle.press("ArrowLeft"))
    assert numbers(described(figure, "row"))[0] == LENGTHS[-2]
