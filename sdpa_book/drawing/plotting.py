"""One visual language for every figure: sizes, colours, and the few kinds of picture the book
draws.

Figures have an opaque white ground. The colours keep a contrast of at least 3 to it, and also to
the site's dark ground after its colour inversion, and differ for readers with each kind of colour
blindness; line style and marker tell the same once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import torch
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from sdpa_book.drawing.svg import DescribedFigure
from sdpa_book.writing.names import plot_label
from sdpa_lib._checks import check_count, check_finite
from sdpa_lib.rescaling import RESCALINGS, AnyRescaling, get_rescaling

INK, MUTED, GRID = "#1f2430", "#5b6472", "#d9dde3"

ROLES = {"query": "#0b6fb3", "key": "#b3540b", "value": "#1a7f4b", "weights": "#7a3fa0"}
"""The colours of queries, keys, values and of scores and weights, as in the diagrams."""

SEQUENCE = ["#d3746b", "#a38500", "#8e1a4a", "#0b6fb3", "#2d159d", "#001c00"]
"""Colours for an ordered family: light to dark."""

DIMENSIONS = ["#939393", "#747474", "#565656", "#383838", "#1a1a1a"]
"""Shades of grey for growing d_k, light to dark: no colour of a rescaling or of a role."""


class Look(NamedTuple):
    """How figures draw a rescaling, so that each is known by three things at once.

    Attributes:
        color: ``"#rrggbb"``.
        line: ``"-"``, ``"--"``, ``"-."`` or ``":"``, or Matplotlib's (offset, dashes).
        marker: a letter of Matplotlib's.
    """

    color: str
    line: str | tuple[float, tuple[float, ...]]
    marker: str


LOOKS = {
    "none": Look("#d3746b", "-", "o"),
    "sqrt_d_k": Look("#0b6fb3", "-", "s"),
    "d_k": Look("#2d159d", "--", "^"),
    "k_total": Look("#8e1a4a", "-", "D"),
    "k_mean": Look("#8d8da8", "--", "v"),
    "k_rss": Look("#4a4400", "-.", "P"),
    "k_norm_4": Look("#9830ff", ":", "X"),
    "n_sqrt_d_k": Look("#a38500", "--", "*"),
    "d_k^1/3": Look("#610062", "-.", "<"),
    "d_k^2/3": Look("#001c00", ":", ">"),
}
"""By the name of the rescaling."""

SPARE = [
    Look(color, (0, (1, 2, 4, 2)), marker)
    for color, marker in zip(
        ("#ff00dd", "#220022", "#cc0033", "#0099ee", "#0000ff", "#aa0099"), "pHdh8.", strict=True
    )
]
"""What others get, those of ``RESCALINGS`` first and then in the order in which they are drawn:
apart, for all eyes, from each other and from all of ``LOOKS``.
"""

_GIVEN: dict[str, Look] = {}

_STYLE: Any = {
    "figure.dpi": 110,
    "savefig.dpi": 110,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "figure.constrained_layout.use": True,
    "font.size": 10,
    "axes.labelsize": 10,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": GRID,
    "lines.linewidth": 2.0,
    "lines.markersize": 6.0,
    "axes.prop_cycle": cycler(color=SEQUENCE),
}


def figure(
    rows: int = 1,
    columns: int = 1,
    *,
    height: float = 3.4,
    share_x: bool = False,
    share_y: bool = False,
) -> tuple[Figure, Any]:
    """A figure in the book's style, 7.8 inches wide: in a column of 700 px letters have 12 to 15.

    Args:
        rows, columns: panels, at least 1 each.
        height: of one row of panels, in inches.
        share_x, share_y: panels share that axis.

    Returns:
        The figure and its axes: one ``Axes``, or an array of them.

    Example:
        >>> fig, (left, right) = figure(columns=2)
        >>> plt.close(fig)
    """
    check_count("rows", rows)
    check_count("columns", columns)
    with mpl.rc_context(_STYLE):
        return plt.subplots(
            rows,
            columns,
            sharex=share_x,
            sharey=share_y,
            figsize=(7.8, height * rows),
            FigureClass=DescribedFigure,
        )


def style(rescaling: AnyRescaling, *, marker: bool = False) -> dict[str, Any]:
    r"""The keyword arguments that draw a rescaling's line in its own colour and style, with its
    label.

    One without a look of its own gets the next of ``SPARE``, and keeps it.

    Example:
        >>> style("sqrt_d_k")["color"]
        '#0b6fb3'
    """
    chosen = get_rescaling(rescaling)
    for name in (*RESCALINGS, chosen.name):  # the book's first: the same in every chapter
        if name not in LOOKS:
            _GIVEN.setdefault(name, SPARE[len(_GIVEN) % len(SPARE)])
    color, line, symbol = (LOOKS | _GIVEN)[chosen.name]
    drawn = {"color": color, "linestyle": line, "label": plot_label(chosen)}
    return drawn | ({"marker": symbol} if marker else {})


def density_curve(values: Tensor, points: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """A Gaussian kernel density estimate with the rule of thumb that R's ``density`` uses
    :cite:p:`silverman1986`.

    Args:
        values: any shape, finite, at least 2 different numbers.
        points: where to evaluate, evenly from 3 bandwidths below the least value to 3 above the
            largest.

    Returns:
        Positions and densities, (points,) each.

    Example:
        >>> x, y = density_curve(torch.tensor([0.0, 1.0, 2.0]))
        >>> bool(abs(y.sum() * (x[1] - x[0]) - 1) < 0.01)
        True
    """
    data = check_finite("values", values).detach().flatten().double().cpu().numpy()
    q25, q75 = np.percentile(data, [25, 75])
    std = data.std(ddof=1) if data.size > 1 else 0.0
    spread = min(std, (q75 - q25) / 1.34) or std
    if spread == 0.0:
        raise ValueError("values must hold at least two different numbers to estimate a density")
    bandwidth = 0.9 * spread * data.size ** (-0.2)
    x = np.linspace(
        data.min() - 3 * bandwidth,
        data.max() + 3 * bandwidth,
        check_count("points", points, minimum=2),
    )
    z = (x[:, None] - data[None, :]) / bandwidth
    return x, np.exp(-(z**2) / 2).sum(1) / (data.size * bandwidth * np.sqrt(2 * np.pi))


def density(ax: Axes, values: Tensor, **line: Any) -> None:
    """Draw the density estimate of ``values``; ``line`` goes to ``Axes.plot`` (``style(rescaling)``
    fits).
    """
    x, y = density_curve(values)
    (drawn,) = ax.plot(x, y, **line)
    ax.fill_between(x, y, color=drawn.get_color(), alpha=0.12, linewidth=0)
    ax.set_ylim(bottom=0)


def measured(
    ax: Axes,
    x: Sequence[float],
    y: Sequence[float],
    error: Sequence[float] | None = None,
    **line: Any,
) -> None:
    """Draw measurements as markers with bars of two standard errors; ``line`` goes to
    ``Axes.errorbar``.
    """
    for name, numbers in (("x", x), ("y", y), ("error", error)):
        if numbers is not None:
            check_finite(name, torch.as_tensor(numbers, dtype=torch.float64))
    bars = None if error is None else 2 * np.asarray(error, dtype=float)
    options: dict[str, Any] = {"marker": "o", "linestyle": "none", "capsize": 3} | line
    ax.errorbar(x, y, yerr=bars, **options)


def heatmap(
    ax: Axes,
    matrix: Tensor,
    *,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    digits: int = 2,
    diverging: bool = False,
) -> None:
    """Draw a matrix as coloured cells with their numbers in them.

    Args:
        ax: where.
        matrix: (rows, columns), finite.
        rows, columns: their names.
        digits: decimals shown in a cell.
        diverging: negative and positive numbers in different colours, white at 0.
    """
    if matrix.dim() != 2:
        raise ValueError(f"matrix must have shape (rows, columns), got {tuple(matrix.shape)}")
    cells = check_finite("matrix", matrix).detach().double().cpu().numpy()
    limit = float(np.abs(cells).max()) or 1.0
    low, colours = (-limit, "PuOr_r") if diverging else (min(0.0, float(cells.min())), "Purples")
    ax.imshow(cells, cmap=colours, vmin=low, vmax=limit)
    for (i, j), number in np.ndenumerate(cells):
        dark = abs(number) > 0.6 * limit
        rounded = round(number, digits) + 0.0  # -0.0 becomes 0.0
        ax.text(
            j, i, f"{rounded:.{digits}f}", ha="center", va="center", color="white" if dark else INK
        )
    ax.set_xticks(range(cells.shape[1]), list(columns) or [str(j) for j in range(cells.shape[1])])
    ax.set_yticks(range(cells.shape[0]), list(rows) or [str(i) for i in range(cells.shape[0])])
    ax.grid(False)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)


def style_of_stored(name: str, *, marker: bool = False) -> dict[str, Any]:
    """The same for a name that stands with stored results: what the library no longer has is
    muted, and called by that name.

    Example:
        >>> style_of_stored("of old")["label"]
        'of old'
    """
    if name in RESCALINGS:
        return style(name, marker=marker)
    plain = {"color": MUTED, "linestyle": "-", "label": name}
    return plain | ({"marker": "p"} if marker else {})
