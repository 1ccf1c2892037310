"""Through many layers: how many times as large the first gradient becomes."""

import statistics

import pytest

from sdpa_book.studies import depth

from .conftest import act, go, numbers, said, slider, state

NAMES = ("none", "sqrt_d_k")


@pytest.fixture(scope="module")
def stored():
    return depth.load_depth()[1]


def test_the_growth_that_is_told_is_the_studys(explorable, stored):
    figure = explorable("depth")

    def median(d_k, blocks, name):
        return statistics.median(stored[depth.Depth(d_k, blocks, name, "pre", "1/inputs")].total)

    go(figure, "blocks=48,guess=1000")
    guessed = numbers(said(figure))[3]
    assert guessed == pytest.approx(1000 / median(256, 2, "none"), rel=0.05)
    for d_k in depth.DIMENSIONS:
        for blocks in depth.LAYERS[1:]:
            go(figure, f"d_k={d_k},blocks={blocks}")
            times = [median(d_k, blocks, name) / median(d_k, 2, name) for name in NAMES]
            assert numbers(said(figure)) == pytest.approx([2, blocks, *times], rel=0.06)


def test_nothing_is_drawn_beyond_the_line(explorable, stored):
    figure = explorable("depth", "blocks=2")
    models, line = figure.locator("circle.model"), slider(figure, "blocks of the model")
    dots = sum(len(stored[depth.Depth(64, 2, name, "pre", "1/inputs")].total) for name in NAMES)
    for reached in range(1, len(depth.LAYERS)):
        assert models.count() == dots * reached
        act(figure, line.press, "ArrowRight")


def test_the_ring_is_dragged_and_the_answer_waits_for_the_line(explorable):
    figure = explorable("depth")
    ring = slider(figure, "your guess")
    act(figure, ring.press, "PageUp")
    assert float(state(figure)["guess"]) == 400
    assert "guessed" not in said(figure)
    for _ in range(2):
        act(figure, slider(figure, "blocks of the model").press, "ArrowRight")
    assert "where you guessed" in said(figure)
