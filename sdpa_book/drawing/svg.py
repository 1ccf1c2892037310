"""How a figure is stored and shown: as SVG, which is sharp on every screen, for a wide column and
for a narrow one, in the colours of the light theme and of the dark one.

The letters are outlines, because a picture on a page can't load a font. What has so many points
that as curves it would be large is drawn as pixels inside the SVG. Two drawings of the same figure
are the same bytes.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import combinations, pairwise
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text

from sdpa_book.drawing.description import describe, in_view

WORDS_ALONE = "SDPA_BOOK_WORDS_ALONE"
"""The environment variable with which a figure is described and not drawn: the tests of notebooks
compare no drawing, and drawing is a tenth of what they would compute.
"""

DESCRIPTION = "text/x-figure-description"
"""What an output has a figure's description under: no viewer shows it, and nbval compares it."""

IN_PLACE = "A figure: where it does not show, trust this notebook or run the cell."
"""JupyterLab shows no SVG of a notebook that it does not trust."""

NARROW = (4.0, 4.4)
"""Widths in inches, the better one first. On a phone of 360 px, where a column is 325 px wide, 10
points are 11.3 px of the first and 10.3 of the second.
"""

APART = 0.13
"""Inches above and below each of the panels that stand one below the other."""

LARGE = 120_000
"""Bytes of an SVG from which on it is drawn with less: many markers as pixels, and lines without
the points that lie within ``COARSE`` of the way between their neighbours.
"""

MANY, COARSE = 500, 0.5
"""Markers that may be drawn as pixels; points of 1/72 inch."""

PIXELS_PER_INCH = 144
"""Of what is drawn as pixels: half as many again as a column of 700 px has."""

_GROUNDS = {"#ffffff": "#14171c"}
"""The ground of the light theme and of the dark one."""

_LUMINANCE, _LIGHTEST = np.array([0.2126, 0.7152, 0.0722]), 0.165
"""Of red, green and blue; and the most that letters may have."""

_LETTERS = re.compile(r'(?<=<g style="fill: )#[0-9a-f]{6}(?=" transform=)')
"""The colour of a text in an SVG."""

_HUE_ROTATE_180 = np.array([[-0.574, 1.430, 0.144], [0.426, 0.430, 0.144], [0.426, 1.430, -0.856]])
"""Of linear maps of red, green and blue, the one that CSS calls ``hue-rotate(180deg)``."""

_TURN = "filter:invert(.93) hue-rotate(180deg)"
"""What CSS does to pixels for them to have the colours of :func:`in_the_dark`."""


class DescribedFigure(Figure):
    """A figure that IPython shows as SVG, and as text its description."""

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        printer.text(describe(self))

    def _ipython_display_(self) -> None:
        # Only a notebook has a figure to show, and so only a notebook needs IPython.
        from IPython.display import display

        # In this order: the narrow drawing moves the panels.
        bundle = {"text/plain": IN_PLACE, DESCRIPTION: describe(self)}
        if WORDS_ALONE not in os.environ:
            bundle["image/svg+xml"] = picture(self)
        show: Any = display
        show(bundle, raw=True)


def picture(figure: Figure) -> str:
    """The figure as SVG, and in its metadata the same figure for a narrow column where it can be
    drawn so: an SVG element whose id is ``narrow``.
    """
    in_the_way = len(collisions(figure))
    with _laid_out(figure):
        wide = svg(figure)
    narrow = _narrow_svg(figure, in_the_way)
    if narrow is None:
        return wide
    inner = narrow.replace("<svg ", '<svg id="narrow" ', 1)
    return wide.removesuffix("</svg>") + f"<metadata>{inner}</metadata></svg>"


def svg(figure: Figure) -> str:
    """The figure as SVG, which is hardly ever larger than :data:`LARGE`, in colours for both
    themes.
    """
    drawn = _draw(figure)
    if len(drawn) > LARGE:
        for ax in figure.axes:
            for line in ax.lines:
                line.get_path().simplify_threshold = COARSE
                if line.get_linestyle() == "None" and len(line.get_path()) >= MANY:
                    line.set_rasterized(True)
            for markers in ax.collections:
                places = np.asarray(markers.get_offsets())
                if isinstance(markers, PathCollection) and len(places) >= MANY:
                    markers.set_rasterized(True)
        drawn = _draw(figure)
    return drawn


def in_the_dark(color: str) -> str:
    """A figure's colour in the dark theme: its lightness is turned over and its hue stays; white,
    the ground, becomes the ground of the site.

    Example:
        >>> in_the_dark("white"), in_the_dark("#0b6fb3")
        ('#14171c', '#54aae4')
    """
    light = to_hex(color)
    if light in _GROUNDS:
        return _GROUNDS[light]
    turned = _HUE_ROTATE_180 @ (0.93 - 0.86 * np.array(to_rgb(color)))
    red, green, blue = np.clip(turned, 0.0, 1.0).tolist()
    return to_hex((red, green, blue))


def for_letters(color: str) -> str:
    """The shade of a figure's colour for a text, which must be darker than a line may be: it has a
    contrast of 4.5 to white and to a pale ground, and in the dark theme to that one's. White
    letters stay, for they have a dark ground of their own.

    Example:
        >>> for_letters("#d3746b"), for_letters("#0b6fb3"), for_letters("#ffffff")
        ('#a65b54', '#0b6fb3', '#ffffff')
    """
    if to_hex(color) in _GROUNDS:
        return color
    shade = np.array(to_rgb(color))
    while _LUMINANCE @ shade**2.2 > _LIGHTEST:
        shade *= 0.99
    red, green, blue = shade.tolist()
    return to_hex((red, green, blue))


def _draw(figure: Figure) -> str:
    nameless = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    file = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "figure", "svg.fonttype": "path"}):
        figure.savefig(
            file, format="svg", metadata=nameless, dpi=PIXELS_PER_INCH, bbox_inches="tight"
        )
    text = file.getvalue()
    text = _LETTERS.sub(lambda match: for_letters(match[0]), _short(text[text.index("<svg ") :]))
    return text.removesuffix("</svg>") + _dark_style(text) + "</svg>"


def _short(text: str) -> str:
    """An SVG without what nobody sees: comments, names of groups, and of places more digits than a
    hundredth of a point, of those along a line than a tenth.
    """
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r"\s*\n\s*", " ", text).replace("> <", "><").strip()
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    text = re.sub(r"<g>(<g [^>]*><use [^>]*/></g>)</g>", r"\1", text)
    text = re.sub(r'(?<= d=")[^"]*', _short_path, text)
    return re.sub(r' [xy]="[^"]*"|translate\([^)]*\)|viewBox="[^"]*"', _rounded, text)


def _rounded(match: re.Match[str]) -> str:
    return re.sub(r"\d+\.\d+", lambda number: f"{round(float(number[0]), 2):g}", match[0])


def _short_path(match: re.Match[str]) -> str:
    """The same path; one of straight lines goes from point to point by steps, in tenths."""
    if set(re.findall("[A-Za-z]", match[0])) - set("MLz"):
        return re.sub(" ?([A-Za-z]) ?", r"\1", _rounded(match))
    path, here = "", (0, 0)
    for letter, x, y in re.findall(r"([MLz])(?: ([-\d]\S*) ([-\d]\S*))?", match[0]):
        if letter == "z":
            path += "z"
            continue
        there = (round(10 * float(x)), round(10 * float(y)))
        start = (0, 0) if letter == "M" else here
        step = [f"{(b - a) / 10:g}" for a, b in zip(start, there, strict=True)]
        path += letter.replace("L", "l") + re.sub(r"\b0\.", ".", " ".join(step)).replace(" -", "-")
        here = there
    return path


def _dark_style(text: str) -> str:
    """The style sheet that puts every colour of an SVG into that of the dark theme.

    A browser asks for it where the page's ``color-scheme`` is dark, whoever has chosen that.
    """
    used = sorted(set(re.findall(r"(fill|stroke): (#[0-9a-f]{6})", text)))
    rules = [f"svg{{fill:{in_the_dark('black')}}}", f"image{{{_TURN}}}"]
    rules += [
        f'[style*="{name}: {color}"]{{{name}:{in_the_dark(color)}!important}}'
        for name, color in used
    ]
    return f"<style>@media (prefers-color-scheme:dark){{{''.join(rules)}}}</style>"


def _narrow_svg(figure: Figure, in_the_way: int) -> str | None:
    """The figure for a narrow column; ``None`` where nothing but more room keeps its texts apart
    from each other and from what is drawn, as far as they are in the wide one.
    """
    for width in NARROW:
        with _narrow(figure, width):
            if len(collisions(figure)) <= in_the_way:
                with _laid_out(figure):
                    return svg(figure)
    return None


@contextmanager
def _laid_out(figure: Figure) -> Iterator[None]:
    """Leave everything where the last drawing put it: finding the places is half of the work."""
    engine = figure.get_layout_engine()
    figure.set_layout_engine("none")
    yield
    figure.set_layout_engine(engine)


@contextmanager
def _narrow(figure: Figure, width: float) -> Iterator[None]:
    """Give the figure that width, with panels that stood beside each other one below the other."""
    size = figure.get_size_inches().copy()
    with ExitStack() as undo:
        undo.callback(figure.set_size_inches, *size)
        panels = [ax for ax in figure.axes if ax.get_subplotspec() is not None]
        specs = [spec for ax in panels if (spec := ax.get_subplotspec()) is not None]
        rows, columns = specs[0].get_gridspec().get_geometry() if specs else (1, 1)
        height = float(size[1])
        if columns > 1:
            height = (height / rows + APART) * len(panels)
            grid = GridSpec(len(panels), 1, figure=figure)
            _keep_apart(figure, undo)
            for place, (ax, spec) in enumerate(zip(panels, specs, strict=True)):
                row, column = divmod(spec.num1, columns)
                _take_labels(ax.yaxis, panels[row * columns].yaxis, undo)
                _take_labels(ax.xaxis, panels[(rows - 1) * columns + column].xaxis, undo)
                _take_title(ax, panels[column], undo)
                undo.callback(ax.set_subplotspec, spec)
                ax.set_subplotspec(grid[place])
        figure.set_size_inches(width, height)
        yield


def _keep_apart(figure: Figure, undo: ExitStack) -> None:
    """Leave room between panels, so that none's label and the next one's title are read as one."""
    if isinstance(engine := figure.get_layout_engine(), ConstrainedLayoutEngine):
        undo.callback(engine.set, h_pad=engine.get()["h_pad"])
        engine.set(h_pad=APART)


def _take_title(ax: Axes, top: Axes, undo: ExitStack) -> None:
    """Give a panel the title that stood once for its column."""
    if not ax.get_title():
        undo.callback(ax.set_title, "", size=ax.title.get_fontsize())
        ax.set_title(top.get_title(), size=top.title.get_fontsize())


def _take_labels(axis: Axis, outer: Axis, undo: ExitStack) -> None:
    """Give an axis the label and the ticks that stood once for it and its neighbours."""
    if axis is outer or not np.array_equal(axis.get_view_interval(), outer.get_view_interval()):
        return
    if not axis.get_label_text():
        undo.callback(axis.set_label_text, "", size=axis.label.get_fontsize())
        axis.set_label_text(outer.get_label_text(), size=outer.label.get_fontsize())
    side = "labelleft" if axis is axis.axes.yaxis else "labelbottom"
    if not axis.get_tick_params(which="major").get(side, True):
        undo.callback(axis.set_tick_params, which="both", **{side: False})
        axis.set_tick_params(which="both", **{side: True})
    elif not len(axis.get_ticklocs()):
        undo.callback(axis.set_major_locator, axis.get_major_locator())
        undo.callback(axis.set_major_formatter, axis.get_major_formatter())
        axis.set_ticks(outer.get_ticklocs(), [text.get_text() for text in outer.get_ticklabels()])


def collisions(figure: Figure) -> list[str]:
    """What is in the way of a text: another text or, for a text among the data and for a legend,
    a line or a marker.

    Example:
        >>> figure = Figure()
        >>> ax = figure.subplots()
        >>> line = ax.plot([0, 1], [0, 1])
        >>> text = ax.text(0.5, 0.5, "here", ha="center")
        >>> collisions(figure)
        ["'here' stands on a line"]
    """
    figure.draw_without_rendering()
    overlaps = []
    texts = [(text, _box(text)) for text in _texts(figure)]
    for (first, one), (second, other) in combinations(texts, 2):
        if (np.minimum(one[1], other[1]) - np.maximum(one[0], other[0]) > 1).all():
            overlaps.append(f"{first.get_text()!r} stands on {second.get_text()!r}")
    for ax in figure.axes:
        points = _drawn_points(ax)
        boxes = [(repr(text.get_text()), _box(text)) for text in ax.texts if text.get_visible()]
        if legend := ax.get_legend():
            boxes.append(("the legend", legend.get_window_extent().get_points()))
        for name, (low, high) in boxes:
            if ((low < points) & (points < high)).all(1).any():
                overlaps.append(f"{name} stands on a line")
    return overlaps


def _texts(figure: Figure) -> list[Text]:
    """All that is read in a figure, without the labels of ticks beyond the ends of an axis."""
    beyond = set()
    for axis in (axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)):
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            if not in_view(axis, tick):
                beyond |= {tick.label1, tick.label2}
    return [
        text
        for text in figure.findobj(Text)
        if isinstance(text, Text)
        and text.get_visible()
        and text.get_text().strip()
        and text not in beyond
    ]


def _box(text: Text) -> np.ndarray:
    """The lower left and the upper right corner, less the room above and below the letters."""
    low, high = Text.get_window_extent(text).get_points()
    room = np.array([1.0, 0.15 * (high[1] - low[1])])
    return np.array([low + room, high - room])


def _drawn_points(ax: Axes) -> np.ndarray:
    """Points on every line and in every marker, in pixels, close enough to meet each letter."""
    of_artists = [np.empty((0, 2))]
    for line in ax.lines:
        at = np.asarray(line.get_transform().transform(line.get_path().vertices))
        if line.get_linestyle() != "None":
            of_artists.append(_filled_up(at))
        of_artists.append(at)
    for collection in ax.collections:
        if isinstance(collection, PathCollection):
            offsets = np.ma.filled(collection.get_offsets(), np.nan)
            of_artists.append(collection.get_offset_transform().transform(offsets))
    points: np.ndarray = np.concatenate(of_artists)
    inside = ax.get_window_extent().get_points()
    visible: np.ndarray = points[((inside[0] <= points) & (points <= inside[1])).all(1)]
    return visible


def _filled_up(at: np.ndarray) -> np.ndarray:
    """Points every two pixels along a line through ``at``."""
    legs = [np.empty((0, 2))]
    for start, end in pairwise(at):
        length = np.abs(end - start).max()
        if np.isfinite(length) and 0 < length < 10_000:
            legs.append(start + np.linspace(0, 1, int(length / 2) + 1)[:, None] * (end - start))
    return np.concatenate(legs)
