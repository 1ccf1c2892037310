"""A figure's description: whatever is seen changes it, and nothing else does."""

import os
import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from sdpa_book.drawing import plotting
from sdpa_book.drawing.description import describe

X = np.linspace(0.0, 3.0, 50)


def panels(noise=0.0):
    """One of each thing that the book draws; ``noise`` is relative to the data."""
    moved = 1 + noise * np.random.default_rng(0).standard_normal(50)
    figure, ((line, cells), (spread, shape)) = plotting.figure(2, 2)
    figure.set_layout_engine("none")  # it takes half of the time, and isn't described
    figure.suptitle("Everything")
    line.plot(X, np.exp(X) * moved, **plotting.style("sqrt_d_k"))
    line.plot(X, np.sin(np.pi * X) * moved, "o", label="zero, nearly")
    line.set(title="lines", xlabel="time", ylabel="size")
    line.legend(title="kind", loc="upper left")
    matrix = torch.tensor([[0.12, -0.5], [1e-17, 0.375]], dtype=torch.float64)
    plotting.heatmap(cells, matrix * moved[0], rows=["the", "cat"], diverging=True)
    plotting.density(spread, torch.as_tensor(np.sqrt(X) * moved))
    plotting.measured(spread, [1, 2], [0.2 * moved[0], 0.3], [0.0125 * moved[1], 0.02])
    shape.scatter(X[1:], X[1:] ** 2 * moved[1:], s=3)
    shape.hlines([1, 2], [0.5, 0.6], 3 * moved[:2])
    shape.bar([1, 2], [0.25, 0.5 * moved[2]])
    shape.annotate("here", (1, 1), xytext=(4, -16), textcoords="offset points")
    shape.set(xscale="log", yscale="log")
    return figure


@pytest.fixture(scope="module")
def words():
    return describe(panels())


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def test_the_same_figure_has_the_same_description(words):
    figure = panels()
    assert describe(figure) == words
    assert describe(figure) == words, "describing changes it"


@pytest.mark.parametrize("noise", [1e-15, 1e-9, 1e-7])
def test_the_last_bits_of_the_data_do_not_show(noise, words):
    assert describe(panels(noise)) == words


@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.parametrize("end", [0, 1])
def test_a_tick_at_an_end_is_told_whatever_its_last_bit(scale, end):
    """A power of ten is another number on another processor."""

    def drawn(factor):
        _, ax = plotting.figure()
        limits = [1e-5, 1.0]
        limits[end] *= factor
        ax.set(yscale=scale, yticks=[1e-5, 1e-2, 1.0])
        ax.set_ylim(limits)  # after the ticks, which widen it
        return describe(ax.figure)

    one = np.nextafter(1.0, [0.0, 2.0])
    assert len({drawn(factor) for factor in (1.0, *one, 1 - 1e-12, 1 + 1e-12)}) == 1


def test_ticks_that_no_one_sees_are_no_part_of_the_style():
    """Matplotlib makes some beyond the ends of an axis, and how many its last bits decide."""
    _, ax = plotting.figure()
    ax.set(ylim=(0, 1), yticks=[0, 1])
    before = describe(ax.figure)
    ax.set_yticks([0, 1, 2])
    ax.set_ylim(0, 1)
    assert describe(ax.figure) == before


def many_points():
    """One of each kind of artist with more points than are listed."""
    x = np.linspace(0.1, 0.9, 31)
    y = 0.5 + 0.4 * np.sin(9 * x)
    _, ax = plotting.figure()
    ax.set(xlim=(0, 1), ylim=(0, 1))
    return ax, {
        "line": (ax.plot(x, y)[0], "set_data", np.array([x, y])),
        "markers": (ax.scatter(x, y), "set_offsets", np.array([x, y])),
        "area": (ax.fill(x, y)[0], "set_xy", np.array([x, y])),
        "bars": (ax.vlines(x, 0, y), "set_segments", np.array([x, y])),
        "arrows": (ax.quiver(x, y, x, y, scale_units="xy", scale=1), "set_UVC", np.array([x, y])),
        "image": (ax.imshow(y[None], vmin=0, vmax=1), "set_data", np.array([y])),
        "sizes": (ax.scatter(x, y), "set_sizes", np.array([y])),
        "colours": (ax.scatter(x, y, c=y), "set_array", np.array([y])),
    }


def description(kind, points):
    """The description of all, with those points or values in place of the own of one."""
    ax, kinds = many_points()
    artist, setter, _ = kinds[kind]
    if setter in ("set_offsets", "set_xy"):
        points = [points.T]
    elif setter == "set_segments":
        points = [[[(x, 0), (x, y)] for x, y in points.T]]
    elif kind == "image":
        points = [points]
    getattr(artist, setter)(*points)
    return describe(ax.figure)


MOVES = {
    "shuffled": lambda y: y[
        [*range(3), *np.random.default_rng(0).permutation(24) + 3, *range(27, 31)]
    ],
    "two swapped": lambda y: y[[*range(9), 12, 10, 11, 9, *range(13, 31)]],
    "one moved": lambda y: np.where(np.arange(31) == 17, y + 0.006, y),
}


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("kind", many_points()[1])
def test_every_point_is_seen(kind, move):
    points = many_points()[1][kind][2]
    moved = points.copy()
    moved[-1] = MOVES[move](points[-1])
    assert description(kind, moved) != description(kind, points)


@pytest.mark.parametrize("kind", many_points()[1])
def test_the_last_bits_of_no_point_are_seen(kind):
    points = many_points()[1][kind][2]
    noise = 1e-12 * np.random.default_rng(1).standard_normal(points.shape)
    assert description(kind, points * (1 + noise)) == description(kind, points)


def test_numbers_that_are_nothing_but_rounding_are_zero():
    _, ax = plotting.figure()
    ax.plot(X, np.where(X < 1, 1.0, 1e-17))
    assert "y 1 … 1 … 0 … 0 (least 0, largest 1," in describe(ax.figure)


def test_ticks_of_a_shared_axis_are_told_where_they_stand():
    figure, axes = plotting.figure(columns=2, share_y=True)
    axes[0].set(ylim=(0, 1), yticks=[0, 1], yticklabels=["none", "all"])
    assert describe(figure).count("y from 0 to 1, linear, ticks 'none' 'all'") == 1
    assert describe(figure).count("y from 0 to 1, linear, ticks\n") == 1


def test_gaps_are_told_and_not_counted():
    _, ax = plotting.figure()
    ax.plot([1, 2, 3], [1.0, np.nan, 2.0])
    assert "3 points, x 1 2 3, y 1 gap 2" in describe(ax.figure)


CHANGES = {
    "title": lambda ax: ax.set_title("other"),
    "axis label": lambda ax: ax.set_ylabel("other"),
    "label of a line": lambda ax: (ax.lines[1].set_label("other"), ax.legend(title="kind")),
    "title of the legend": lambda ax: ax.legend(title="other", loc="upper left"),
    "place of the legend": lambda ax: ax.legend(title="kind", loc="lower right"),
    "colour": lambda ax: ax.lines[0].set_color("#0b6fb4"),
    "line style": lambda ax: ax.lines[0].set_linestyle(":"),
    "line width": lambda ax: ax.lines[0].set_linewidth(1.9),
    "marker": lambda ax: ax.lines[1].set_marker("s"),
    "transparency": lambda ax: ax.lines[0].set_alpha(0.9),
    "data": lambda ax: ax.lines[0].set_ydata(1.01 * ax.lines[0].get_ydata()),
    "one line more": lambda ax: ax.axvline(1.0),
    "one line less": lambda ax: ax.lines[0].remove(),
    "scale": lambda ax: ax.set_xscale("log"),
    "limits": lambda ax: ax.set_xlim(0, 4),
    "ticks": lambda ax: ax.set_xticks([0, 2]),
    "minor ticks": lambda ax: ax.minorticks_on(),
    "grid": lambda ax: ax.grid(False),
    "frame": lambda ax: ax.spines["top"].set_visible(True),
    "text": lambda ax: ax.text(1, 1, "here"),
    "font size of a label": lambda ax: ax.yaxis.label.set_fontsize(11),
    "font size of the ticks": lambda ax: ax.tick_params(labelsize=11),
    "suptitle": lambda ax: ax.figure.suptitle("other"),
    "height": lambda ax: ax.figure.set_figheight(6.7),
    "dpi": lambda ax: ax.figure.set_dpi(100),
    "number in a cell": lambda ax: ax.figure.axes[1].texts[0].set_text("0.13"),
    "value of a cell": lambda ax: ax.figure.axes[1].images[0].set_data([[0.1, 0.2], [0.3, 0.4]]),
    "colour map": lambda ax: ax.figure.axes[1].images[0].set_cmap("viridis"),
    "name of a row": lambda ax: ax.figure.axes[1].set_yticks([0, 1], ["the", "dog"]),
    "length of an error bar": lambda ax: (
        ax.figure.axes[2].collections[1].set_segments([[(1, 0), (1, 1)]])
    ),
    "colour of an area": lambda ax: ax.figure.axes[2].collections[0].set_facecolor("red"),
    "height of a bar": lambda ax: ax.figure.axes[3].patches[0].set_height(0.3),
    "points of a cloud": lambda ax: ax.figure.axes[3].collections[0].set_offsets([[1, 2]]),
    "sizes of points": lambda ax: ax.figure.axes[3].collections[0].set_sizes([4]),
    "place of an annotation": lambda ax: setattr(ax.figure.axes[3].texts[0], "xy", (1, 1.5)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_is_seen_changes_the_description(change, words):
    figure = panels()
    change(figure.axes[0])
    assert describe(figure) != words


def test_panels_that_change_places_are_seen():
    def drawn(first, second):
        _, axes = plotting.figure(columns=2)
        axes[first].plot([1, 2])
        axes[second].plot([2, 1])
        return describe(axes[0].figure)

    assert drawn(0, 1) != drawn(1, 0)


def test_a_style_that_changed_is_seen(monkeypatch, words):
    monkeypatch.setitem(plotting._STYLE, "grid.color", "#d9dde4")
    changed = describe(panels()).splitlines()
    assert changed[:-1] == words.splitlines()[:-1]
    assert changed[-1] != words.splitlines()[-1]


def test_the_reader_s_own_matplotlibrc_changes_nothing(tmp_path):
    (tmp_path / "matplotlibrc").write_text("legend.frameon: False\nfont.size: 20\n")
    code = """
from sdpa_book.drawing import plotting
from sdpa_book.drawing.description import describe
_, ax = plotting.figure()
ax.plot([1, 2], label="line")
ax.legend()
print(describe(ax.figure))
"""
    with_it, without = (
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"MATPLOTLIBRC": file},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for file in (str(tmp_path / "matplotlibrc"), "")
    )
    assert with_it == without
