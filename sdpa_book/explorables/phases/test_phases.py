"""At a small spread a longer row needs more keys for half of its weight; at a large one hardly."""

import re

import pytest

from sdpa_lib.sampling import sample

from ..conftest import act, described, numbers, sentence, slider

LENGTHS = [32, 1024, 32_768]


def gathered(n, sigma):
    """The mean weight of the heaviest key, of the two heaviest, and so on."""
    rows = max(256, 2**17 // n)
    scores = sigma * sample(rows, n, seed=2, device="cpu")
    return scores.softmax(-1).sort(descending=True).values.mean(0).cumsum(-1)


def labels(figure):
    """What stands below each bar."""
    texts = figure.locator("[data-panel=rows] svg").get_by_text(re.compile("reach half|key has"))
    return [numbers(text) for text in texts.all_text_contents()]


@pytest.mark.parametrize("sigma", [1, 2, 2.8, 4, 8])
def test_as_many_keys_have_half_of_the_weight_as_the_library_finds(explorable, sigma):
    figure = explorable("phases", f"sigma={sigma}")
    drawn = numbers(described(figure, "rows"))
    for n, (keys, *percent) in zip(LENGTHS, labels(figure), strict=True):
        shares = gathered(n, sigma)
        half = (shares < 0.5).sum().item() + 1
        of, heaviest, count, share = (drawn.pop(0) for _ in range(4))
        assert of == n
        assert heaviest == pytest.approx(shares[0].item(), abs=0.05)
        assert count == pytest.approx(half, rel=0.03, abs=1.01)
        assert share == pytest.approx(shares[int(count) - 1].item(), abs=0.05)
        assert keys == count
        assert percent == ([pytest.approx(100 * heaviest, abs=1)] if count == 1 else [])


def test_the_sentence_says_how_many_keys_the_shortest_and_the_longest_row_need(explorable):
    figure = explorable("phases")
    handle = slider(figure, "spread of the scores")
    spreads = []
    for _ in range(25):
        spreads.append(figure.locator("output").inner_text())
        counts = [count for count, *_ in labels(figure)]
        if counts[-1] == 1:
            assert sentence(figure) == "No: in all three rows one key has most of the weight."
        else:
            assert numbers(sentence(figure)) == [counts[0], LENGTHS[0], counts[-1], LENGTHS[-1]]
            assert sentence(figure).startswith(
                "Yes: " if counts[-1] > 10 * counts[0] else "Hardly: "
            )
        shares = [count / n for count, n in zip(counts, LENGTHS, strict=True)]
        assert shares == sorted(shares, reverse=True)
        if len(spreads) < 25:
            act(figure, lambda: handle.press("ArrowRight"))
    assert len({*spreads}) == 25
    assert sentence(figure).startswith("No")
