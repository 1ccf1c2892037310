"""Pictures of a head: which characters a character looks at."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from torch import Tensor

from sdpa_lib._checks import check_finite
from sdpa_lib.book.plotting import INK, MUTED, ROLES


def visible(text: str) -> str:
    """A text in which spaces and ends of lines are seen.

    Example:
        >>> visible("if x:\\n    y")
        'if·x:⏎····y'
    """
    return text.replace(" ", "·").replace("\n", "⏎")


def looked_at(ax: Axes, text: str, weights: Tensor, rows: Sequence[int], size: float = 7.0) -> None:
    """Draw a line of text for each of some characters: the character in a frame, and behind those
    before it a ground that is the darker the more weight it gives them.

    Args:
        ax: where.
        text: of n characters.
        weights: (n, n), as softmax gives them.
        rows: whose weights, as places in the text.
        size: of the characters, in points.
    """
    if check_finite("weights", weights).shape != (len(text), len(text)):
        raise ValueError(
            f"weights must have shape (n, n) with n = {len(text)} characters, got "
            f"{tuple(weights.shape)}"
        )
    characters = visible(text)
    for line, row in enumerate(rows):
        # as much as can be seen: the last bits differ from machine to machine
        shades = [round(min(1.0, w), 2) for w in weights[row, : row + 1].tolist()]
        colours = [to_rgba(ROLES["weights"], shade) for shade in shades]
        places = list(range(row + 1))
        ax.bar(places, [0.9] * len(places), 1.0, [-line - 0.45] * len(places), color=colours)
        for place in places:
            dark = shades[place] > 0.6
            ax.text(
                place,
                -line,
                characters[place],
                ha="center",
                va="center",
                family="monospace",
                fontsize=size,
                color="white" if dark else INK,
            )
        ax.plot([row], [-line - 0.5], "^", color=ROLES["query"], markersize=4)
    ax.set(xlim=(-1, len(text)), ylim=(-len(rows) + 0.4, 0.6), xticks=[], yticks=[])
    ax.grid(False)
    ax.spines[:].set_color(MUTED)
    ax.spines[:].set_visible(False)
