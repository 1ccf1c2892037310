"""Through many layers: how many times as large the first gradient becomes."""

import statistics

import pytest

from sdpa_book.studies import depth

from .conftest import act, go, numbers, said, slider

NAMES = ("none", "sqrt_d_k")


@pytest.fixture(scope="module")
def stored():
    return depth.load_depth()[1]


def test_the_growth_that_is_told_is_the_studys(explorable, stored):
    figure = explorable("depth")

    def median(d_k, blocks, name):
        return statistics.median(stored[depth.Depth(d_k, blocks, name, "pre", "1/inputs")].total)

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
