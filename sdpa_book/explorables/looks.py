"""How rescalings and roles look in the explorables: as in the figures."""

from __future__ import annotations

import math
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.markers import MarkerStyle
from matplotlib.path import Path as Outline
from matplotlib.transforms import Affine2D

from sdpa_book.drawing import plotting, svg
from sdpa_book.writing.names import display_name

OPTIMISERS = {"SGD": plotting.SEQUENCE[1], "Adam": plotting.SEQUENCE[2]}
"""Their colours in article D's figures."""

COLOURS = plotting.ROLES | OPTIMISERS
"""By role."""


def on_both_grounds(color: str) -> list[str]:
    """A colour on the light ground and on the dark one, where it is what figures have there."""
    return [color, svg.in_the_dark(color)]


def of_letters(color: str) -> list[str]:
    """The same for letters, which need more contrast than lines."""
    return on_both_grounds(svg.for_letters(color))


def look(name: str) -> dict[str, Any]:
    """A rescaling's label, colours, those of letters, SVG dashes, and its marker as an SVG path
    around (0, 0).
    """
    style = plotting.style(name, marker=True)
    marker = MarkerStyle(style["marker"])
    return {
        "label": display_name(name),
        "colours": on_both_grounds(style["color"]),
        "letters": of_letters(style["color"]),
        "dashes": dashes(style["linestyle"]),
        "marker": outline(marker),
        "filled": marker.is_filled(),
    }


def dashes(line: str | tuple[float, tuple[float, ...]], width: float = 2.0) -> str:
    """A Matplotlib line style as an SVG dash array, at this width of the line."""
    if line == "-":
        return "none"
    patterns = {
        "--": mpl.rcParams["lines.dashed_pattern"],
        "-.": mpl.rcParams["lines.dashdot_pattern"],
        ":": mpl.rcParams["lines.dotted_pattern"],
    }
    pattern = patterns[line] if isinstance(line, str) else line[1]
    return " ".join(f"{width * length:g}" for length in pattern)


def outline(marker: MarkerStyle, area: float = 70.0) -> str:
    """A marker as an SVG path, y downwards: all that are filled cover the same area."""
    path = marker.get_path().transformed(marker.get_transform())
    size = 9.0
    if marker.is_filled():
        x, y = np.asarray(path.transformed(Affine2D().scale(100)).to_polygons()[0]).T / 100
        size = math.sqrt(area / abs(np.trapezoid(y, x)))
    letters = {
        Outline.MOVETO: "M",
        Outline.LINETO: "L",
        Outline.CURVE3: "Q",
        Outline.CURVE4: "C",
        Outline.CLOSEPOLY: "Z",
    }
    drawn = ""
    for points, code in path.iter_segments(simplify=False):
        places = np.round(points * np.tile([size, -size], len(points) // 2), 2) + 0.0
        letter = letters[code]
        drawn += letter if letter == "Z" else letter + " ".join(f"{x:g}" for x in places)
    return drawn
