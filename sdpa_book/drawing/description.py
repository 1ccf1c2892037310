"""What a figure draws, in words.

A notebook stores the words beside the picture. The tests compare words and no pixels, which differ
from machine to machine: a changed label, colour, line or number changes the words, and so a picture
that was not drawn anew is found. A terminal and a screen reader get something to read.

The words are the same on every machine although the last bits of the data are not: numbers are
rounded to what can be seen, and what stands at an end of an axis is seen. They are independent of
the picture's format.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis, Tick
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex, to_rgba_array
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Annotation

_FEW = 8  # so many numbers are listed; more are summarised, and then all go into a digest

_VISIBLE = 0.005  # of an axis: what a point moves by to be seen

# Digits after the point of √5/2 and of √2, whose multiples, less their whole parts, never repeat.
_STEPS = (0.6180339887498949, 0.41421356237309515)

# What can be seen of an artist, and that data don't change unless colours stand for them.
_STYLE = (
    *("alpha", "hatch", "linestyle", "linewidth", "visible", "zorder"),
    *("marker", "markeredgewidth", "markersize"),
    *("fontfamily", "fontsize", "fontstyle", "fontweight", "ha", "rotation", "va"),
)
_COLORS = ("color", "edgecolor", "facecolor", "markeredgecolor", "markerfacecolor")


def describe(figure: Figure) -> str:
    """The figure's size, its axes with everything drawn in them, and a digest of the style.

    Example:
        >>> figure = Figure((4, 3))
        >>> ax = figure.subplots()
        >>> lines = ax.plot([1, 2, 4], [0.5, 0.25, 0.125], label="halves")
        >>> ticks = ax.set(xticks=[1, 2, 4], yticks=[0.5])
        >>> print(describe(figure))  # doctest: +ELLIPSIS
        Figure, 4 by 3 inches, 100 dpi
        Axes 1
            x from 0.85 to 4.15, linear, ticks '1' '2' '4'
            y from 0.106 to 0.519, linear, ticks '0.5'
            Line2D 'halves', #1f77b4, line -, marker None, 3 points, x 1 2 4, y 0.5 0.25 0.125
        Style ...
    """
    figure.draw_without_rendering()  # places ticks and legends
    width, height = figure.get_size_inches()
    lines = [f"Figure, {width:g} by {height:g} inches, {figure.dpi:g} dpi"]
    lines += [f"    Text{_quoted(text.get_text())}" for text in figure.texts]
    for place, ax in enumerate(figure.axes, start=1):
        lines += [f"Axes {place}{_quoted(ax.get_title())}"]
        lines += [f"    {line}" for line in _contents(ax)]
    return "\n".join([*lines, f"Style {zlib.crc32(repr(list(_style(figure))).encode()):08x}"])


def _contents(ax: Axes) -> Iterator[str]:
    for name, axis in (("x", ax.xaxis), ("y", ax.yaxis)):
        low, high = (_number(limit, _unit(axis)) for limit in axis.get_view_interval())
        label = _quoted(axis.get_label_text())
        ticks = _quoted(*_tick_labels(axis))
        yield f"{name}{label} from {low} to {high}, {axis.get_scale()}, ticks{ticks}"
    if legend := ax.get_legend():
        corner = ax.transAxes.inverted().transform(legend.get_window_extent().min)
        at = " ".join(_number(place, 0.01) for place in corner)
        entries = _quoted(*(text.get_text() for text in legend.get_texts()))
        yield f"Legend{_quoted(legend.get_title().get_text())} at {at}:{entries}"
    for artist in (*ax.images, *ax.collections, *ax.patches, *ax.lines):
        label = str(artist.get_label())  # one with _ is Matplotlib's own, for what has none
        name = type(artist).__name__ + _quoted("" if label.startswith("_") else label)
        yield ", ".join([name, *_drawn(artist, ax)])
    for text in ax.texts:
        places = [*text.get_position(), *(text.xy if isinstance(text, Annotation) else ())]
        yield f"Text{_quoted(text.get_text())} at {' '.join(map(_number, places))}"


def _tick_labels(axis: Axis) -> Iterator[str]:
    for tick in axis.get_major_ticks():
        for label in (tick.label1, tick.label2):
            if in_view(axis, tick) and label.get_visible():
                yield label.get_text().replace(r"\mathdefault", "")


def in_view(axis: Axis, tick: Tick) -> bool:
    """Whether a tick stands between the ends of its axis, or so close to one of them that the last
    bits of both decide.
    """
    return bool(abs(_along(axis, np.array([tick.get_loc()]))[0] - 0.5) < 0.5 + 1e-6)


def _along(axis: Axis, values: np.ndarray) -> np.ndarray:
    """How far along an axis, in its own scale, values stand: 0 at its lower end, 1 at the upper."""
    scale = axis.get_transform()
    low, high = scale.transform(np.sort(axis.get_view_interval()))
    along: np.ndarray = (scale.transform(np.asarray(values, dtype=float)) - low) / (high - low)
    return along


def _drawn(artist: Any, ax: Axes) -> Iterator[str]:
    """The look and the data of an image, a collection, a patch or a line."""
    values, seen = _mapped(artist), []
    if values is None:
        yield " ".join(dict.fromkeys(_hex_colors(artist)))
    else:
        low, high = artist.get_clim()
        unit = _unit_between(low, high)
        yield f"{artist.get_cmap().name} from {_number(low, unit)} to {_number(high, unit)}"
        yield f"{' by '.join(map(str, values.shape))} values {_numbers(values.ravel(), unit)}"
        seen.append(np.ma.filled(artist.norm(np.ma.masked_invalid(values)), np.nan).ravel())
    if isinstance(artist, Line2D):
        yield f"line {artist.get_linestyle()}, marker {artist.get_marker()}"
    if isinstance(artist, PathCollection):
        sizes = artist.get_sizes()
        yield f"sizes {_numbers(sizes)}"
        seen.append(np.sqrt(sizes / max([1.0, *sizes])))
    if not isinstance(artist, AxesImage):
        x, y = _points(artist).T
        yield f"{len(x)} points"
        yield f"x {_numbers(x, _unit(ax.xaxis))}"
        yield f"y {_numbers(y, _unit(ax.yaxis))}"
        seen += [_along(ax.xaxis, x), _along(ax.yaxis, y)]
    if any(len(numbers) > _FEW for numbers in seen):
        yield f"digest {_digest(seen)}"


def _digest(seen: Sequence[np.ndarray]) -> str:
    """Two sums of all that is seen of an artist, in lengths of an axis, each number times a weight
    of its place between 1 and 2; of the sums, in units of what can be seen, the last three digits.

    Rounding the numbers one by one would let the last bits of those decide that stand on a border
    between two roundings, as halves do. A sum with irrational weights stands on none, but by a
    chance as small as the last bits are.
    """
    numbers = np.clip(np.nan_to_num(np.concatenate(seen), nan=-2.0), -2.0, 3.0)
    weights = 1.0 + np.outer(_STEPS, np.arange(1, len(numbers) + 1)) % 1.0
    return " ".join(f"{round(total / _VISIBLE) % 1000:03}" for total in weights @ numbers)


def _mapped(artist: Any) -> np.ndarray | None:
    """The numbers that an image or a collection shows by colours."""
    values = artist.get_array() if hasattr(artist, "get_array") else None
    return None if values is None else np.ma.filled(values.astype(float), np.nan)


def _hex_colors(artist: Any) -> Iterator[str]:
    """Of a line its colour, of anything else that of its faces, or its edges where it has none."""
    if isinstance(artist, Line2D):
        yield to_hex(artist.get_color())
    else:
        faces = to_rgba_array(artist.get_facecolor())
        for color in faces if len(faces) else to_rgba_array(artist.get_edgecolor()):
            yield to_hex(color, keep_alpha=True)


def _points(artist: Any) -> np.ndarray:
    """The places of every point of a line, a collection or a patch, (points, 2)."""
    if isinstance(artist, Line2D):
        return np.asarray(artist.get_path().vertices)
    if isinstance(artist, Patch):
        return artist.get_patch_transform().transform(artist.get_path().vertices)
    if isinstance(artist, PathCollection):
        return np.ma.filled(artist.get_offsets(), np.nan)
    offsets = np.ma.filled(artist.get_offsets(), np.nan)  # of a quiver where its arrows begin
    outlines = [path.vertices for path in artist.get_paths()]
    return np.concatenate([*outlines, offsets] if offsets.any() else outlines)


def _style(figure: Figure) -> Iterator[str]:
    """What else is seen: sizes, fonts and colours of every tick, grid line, frame and text."""
    axes = [axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)]
    beyond = {
        part
        for axis in axes
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
        if not in_view(axis, tick)
        for part in tick.findobj()
    }
    for artist in figure.findobj():
        if artist in beyond:
            continue
        names = _STYLE if _mapped(artist) is not None else _STYLE + _COLORS
        yield type(artist).__name__
        for name in names:
            if hasattr(artist, f"get_{name}"):
                value = getattr(artist, f"get_{name}")()
                yield f"{name} {value.tolist() if isinstance(value, np.ndarray) else value}"


def _numbers(values: np.ndarray, unit: float = 0.0) -> str:
    """A few numbers one by one; of more four of them, the least, the largest and the mean."""

    def text(number: float) -> str:
        return _number(number, unit) if math.isfinite(number) else "gap"

    last, seen = len(values) - 1, values[np.isfinite(values)]
    if last < _FEW or not len(seen):
        return " ".join(map(text, values))
    some = " … ".join(text(values[last * i // 3]) for i in range(4))
    least, largest, mean = map(text, (seen.min(), seen.max(), seen.mean()))
    return f"{some} (least {least}, largest {largest}, mean {mean})"


def _number(value: float, unit: float = 0.0) -> str:
    """Three significant digits, and none below ``unit``.

    Where a number is rounded up or down must not be decided by its last bit, so it is moved a
    little off the borders, such as 0.125, that exact numbers like to stand on.
    """
    if unit:
        value = round(value / unit + 0.03) * unit
    return f"{float(f'{value * 1.00003:.3g}') + 0.0:g}"  # -0.0 becomes 0.0


def _unit(axis: Axis) -> float:
    """The smallest difference worth a digit: of a linear axis that of its view's length, of a
    logarithmic one no fixed difference.
    """
    return _unit_between(*axis.get_view_interval()) if axis.get_scale() == "linear" else 0.0


def _unit_between(low: float, high: float) -> float:
    span = 1.00003 * abs(high - low)
    return float(10.0 ** (math.floor(math.log10(span)) - 2)) if span else 0.0


def _quoted(*texts: str) -> str:
    """Each text in quotes with a space before it; nothing for one that is empty."""
    return "".join(f" '{' '.join(text.split())}'" for text in texts if text)
