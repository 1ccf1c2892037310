"""How figures are drawn: the same bytes each time, for both themes and for narrow screens."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pytest

from sdpa_book.drawing import plotting
from sdpa_book.drawing.description import describe
from sdpa_book.drawing.svg import LARGE, collisions, for_letters, in_the_dark, picture, svg

NUMBERS = np.random.default_rng(0)


@pytest.fixture
def panels():
    """Two panels beside each other, with one label and one row of ticks for both."""
    figure, (left, right) = plotting.figure(columns=2, share_y=True)
    left.plot([1, 2, 3], [1, 4, 9], color=plotting.INK)
    right.plot([1, 2, 3], [9, 4, 1], color="black")
    left.set(ylabel="square", title="up")
    right.set(title="down")
    yield figure
    plt.close(figure)


def size(drawn):
    return [
        float(x) for x in re.match(r'<svg [^>]*width="(.+?)pt" height="(.+?)pt"', drawn).groups()
    ]


def test_two_drawings_are_the_same_bytes_and_leave_the_figure_as_it_was(panels):
    before = describe(panels)
    first = picture(panels)
    assert picture(panels) == first
    assert describe(panels) == before
    assert "date" not in first


def test_panels_stand_one_below_the_other_on_a_narrow_screen(panels):
    wide, narrow = picture(panels).split("<metadata>", 1)
    assert size(wide)[0] == pytest.approx(7.8 * 72, abs=15)
    width, height = size(narrow)
    assert width == pytest.approx(4.0 * 72, abs=15)
    assert height == pytest.approx(2 * size(wide)[1], rel=0.1)


def test_a_column_has_its_title_at_every_panel_of_a_narrow_screen():
    figure, axes = plotting.figure(2, 2)
    for ax, title in zip(axes.flat, ("nought", "root", "", "own"), strict=True):
        ax.set_title(title, size=14)
        ax.set(xticks=[], yticks=[])
    before = describe(figure)
    wide, narrow = (text.count("<use ") for text in picture(figure).split("<metadata>", 1))
    assert narrow == wide + len("nought")
    assert describe(figure) == before
    plt.close(figure)


def test_what_would_stand_on_each_other_is_not_drawn_narrow():
    figure, ax = plotting.figure()
    for place in range(2):
        ax.text(
            place / 2, 0.5, "as long as half of the figure in a wide column", transform=ax.transAxes
        )
    assert collisions(figure) == []
    assert "<metadata>" not in picture(figure)
    plt.close(figure)


def test_every_colour_has_one_for_the_dark(panels):
    drawn = svg(panels)
    body, style = drawn.split("<style>@media (prefers-color-scheme:dark)")
    for name, colour in re.findall(r"(fill|stroke): (#[0-9a-f]{6})", body):
        assert f'[style*="{name}: {colour}"]{{{name}:{in_the_dark(colour)}!important}}' in style
    assert f"svg{{fill:{in_the_dark('black')}}}" in style


def test_a_text_is_darker_than_a_line_of_its_colour():
    figure, ax = plotting.figure()
    ax.plot([0, 1], [0, 1], color="#d3746b")
    ax.text(0.2, 0.8, "undivided", color="#d3746b")
    ax.text(0.2, 0.6, "root", color="#0b6fb3")
    drawn = svg(figure)
    assert "stroke: #d3746b" in drawn
    texts = set(re.findall(r'<g style="fill: (#[0-9a-f]{6})" transform', drawn))
    assert texts == {for_letters("#d3746b"), "#0b6fb3", plotting.MUTED}
    plt.close(figure)


@pytest.mark.parametrize("kind", ["scatter", "plot"])
def test_many_markers_are_pixels(kind):
    figure, ax = plotting.figure()
    places = NUMBERS.standard_normal((2, 4000))
    if kind == "scatter":
        ax.scatter(*places, s=4)
    else:
        ax.plot(*places, ".", markersize=2)
    drawn = svg(figure)
    assert drawn.count("<image") == 1
    assert len(drawn) < LARGE
    plt.close(figure)


def test_many_points_of_lines_stay_lines():
    figure, ax = plotting.figure(height=3.8)
    ax.plot(NUMBERS.standard_normal((512, 40)).cumsum(0), linewidth=0.8)
    drawn = svg(figure)
    assert "<image" not in drawn
    assert len(drawn) < 1.1 * LARGE
    plt.close(figure)


def test_a_line_goes_where_it_went():
    figure, ax = plotting.figure()
    (line,) = ax.plot(NUMBERS.standard_normal(50).cumsum(), color="#123456")
    (path,) = re.findall(r'<path d="([^"]*)"[^>]*stroke: #123456', svg(figure))
    start, *legs = path.removeprefix("M").split("l")
    number = r"-?(?:\d+\.?\d*|\.\d+)"
    places = np.cumsum([[float(x) for x in re.findall(number, leg)] for leg in (start, *legs)], 0)
    expected = line.get_transform().transform(line.get_xydata()) * 72 / figure.dpi
    moved = places - expected * [1, -1]
    assert np.abs(moved - moved.mean(0)).max() < 0.15
    plt.close(figure)


def test_a_letter_of_two_parts_keeps_both():
    figure = plt.figure()
    figure.text(0.5, 0.5, "i:=")
    paths = re.findall(r'<path id="DejaVuSans-[^>]* d="([^"]*)"', svg(figure))
    assert [(path.count("M"), path.count("z")) for path in paths] == [(2, 2)] * 3
    plt.close(figure)


def test_a_legend_on_a_line_is_found():
    figure, ax = plotting.figure()
    ax.plot([0, 1], [0, 1], label="rising")
    ax.legend(loc="upper right")
    ax.plot([0.1, 0.9], [0.2, 0.1], "o")
    ax.text(0.1, 0.2, "marker", ha="center", va="center")
    assert collisions(figure) == ["'marker' stands on a line", "the legend stands on a line"]
    ax.legend(loc="upper left")
    assert collisions(figure) == ["'marker' stands on a line"]
    plt.close(figure)
