"""Through many layers: which norms explode, and how far a guess was from that."""

import statistics

import pytest

from sdpa_book.studies import depth

from .conftest import act, go, numbers, said, slider

KINDS = {"pre": ("pre", "1/inputs"), "post": ("post", "1/inputs"), "linear": ("pre", "nn.Linear")}
NAMES = ("none", "sqrt_d_k")
UNSET = "guess_none=9,guess_sqrt_d_k=9"


@pytest.fixture(scope="module")
def median():
    """A function that gives the median norm of the models of the study."""
    stored = depth.load_depth()[1]

    def of(d_k, blocks, scaling, kind):
        return statistics.median(stored[depth.Depth(d_k, blocks, scaling, *KINDS[kind])].total)

    return of


@pytest.mark.parametrize("kind", KINDS)
def test_medians_and_the_verdict_are_the_studys(explorable, median, kind):
    figure = explorable("depth", f"kind={kind}")
    for d_k in depth.DIMENSIONS:
        for blocks in (*depth.LAYERS[:-1], depth.LAYERS[-1]):
            go(figure, f"d_k={d_k},blocks={blocks},{UNSET},kind={kind}")
            for name in NAMES:
                shown = figure.locator(f"[data-readout={name}]").inner_text()
                theirs = median(d_k, blocks, name, kind)
                assert numbers(shown) == [pytest.approx(theirs, rel=5.1e-3), blocks]
        times = {name: median(d_k, 48, name, kind) / median(d_k, 2, name, kind) for name in NAMES}
        assert numbers(said(figure))[0] == pytest.approx(times["none"], rel=0.06)
        assert [n for n in numbers(said(figure)) if n == pytest.approx(times["sqrt_d_k"], rel=0.06)]
        # Number alone gives the power 1/2 of the depth; what explodes grows faster than it.
        assert ("explodes" in said(figure)) == (times["none"] > 24)
        assert ("more than" in said(figure)) == (1.25 * times["sqrt_d_k"] < times["none"] < 24)


@pytest.mark.parametrize(("name", "power"), [("none", 2), ("none", 5), ("sqrt_d_k", 3)])
def test_a_guess_is_answered_by_how_far_it_is_from_the_median(explorable, median, name, power):
    guesses = UNSET.replace(f"guess_{name}=9", f"guess_{name}={power}")
    figure = explorable("depth", f"blocks=48,{guesses}")
    ratio = 10**power / median(256, 48, name, "pre")
    assert ("low" in said(figure)) == (ratio < 1 / 1.5)
    assert ("high" in said(figure)) == (ratio > 1.5)
    if not 1 / 1.5 < ratio < 1.5:
        assert numbers(said(figure))[-1] == pytest.approx(max(ratio, 1 / ratio), rel=0.06)


def test_nothing_is_drawn_beyond_the_line_and_what_was_drawn_stays(explorable):
    figure = explorable("depth")
    models, line = figure.locator("circle.model"), slider(figure, "blocks of the model")
    stored = depth.load_depth()[1]
    dots = sum(len(stored[depth.Depth(64, 2, name)].total) for name in NAMES)
    for reached in range(1, len(depth.LAYERS)):
        assert models.count() == dots * reached
        act(figure, line.press, "ArrowRight")
    act(figure, line.press, "Home")
    assert models.count() == dots * len(depth.LAYERS)
