"""Pictures of a head: which characters a character looks at."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from torch import Tensor

from sdpa_book.drawing.plotting import MUTED, ROLES
from sdpa_lib._checks import check_finite

DARKEST = 0.55
"""How much of the weights' colour is behind a character that has all of the weight: on more,
letters are hard to read in the light theme or in the dark one. Less weight has as much less as its
square root, so that a tenth is still seen.
"""


def visible(text: str) -> str:
    """A text in which spaces and ends of lines are seen.

    Example:
        >>> visible("if x:\\n    y")
        'if·x:⏎····y'
    """
    return text.replace(" ", "·").replace("\n", "⏎")


def looked_at(ax: Axes, text: str, weights: Tensor, rows: Sequence[int]) -> None:
    """Draw a text once for each of some characters, line by line as it was written: the character
    with a triangle below it, and behind those before it a shade that grows with the square root
    of the weight that it gives them.

    Args:
        ax: where.
        text: of n characters.
        weights: (n, n), as softmax gives them.
        rows: whose weights, as places in the text.
    """
    if check_finite("weights", weights).shape != (len(text), len(text)):
        raise ValueError(
            f"weights must have shape (n, n) with n = {len(text)} characters, got "
            f"{tuple(weights.shape)}"
        )
    characters, width, top = visible(text), 0, 0.0
    for row in rows:
        # as much as can be seen: the last bits differ from machine to machine
        shades = [round(min(1.0, w), 2) for w in weights[row, : row + 1].tolist()]
        column = 0
        for place, shade in enumerate(shades):
            colour = to_rgba(ROLES["weights"], DARKEST * math.sqrt(shade))
            ax.bar(column, 0.9, 1.0, top - 0.45, color=[colour])
            ax.text(
                column,
                top,
                characters[place],
                ha="center",
                va="center",
                family="monospace",
                fontsize=11,
                color="black",
            )
            if place == row:
                ax.plot([column], [top - 0.65], "^", color=ROLES["query"], markersize=5)
            width, column = max(width, column), column + 1
            if text[place] == "\n":
                top, column = top - 1, 0
        top -= 1.7
    ax.set(xlim=(-1, width + 1), ylim=(top + 0.7, 0.6), xticks=[], yticks=[])
    ax.grid(False)
    ax.spines[:].set_color(MUTED)
    ax.spines[:].set_visible(False)
