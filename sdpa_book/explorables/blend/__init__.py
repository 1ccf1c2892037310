"""An output inside the triangle of its values."""

from __future__ import annotations

import torch

from sdpa_book.drawing import plotting

ALT = (
    "Three values in the plane, the triangle between them, and the output inside it, nearest "
    "to the first two: it is 53 % of the first, 34 % of the second and 13 % of the third."
)


def draw() -> None:
    """Three values, their weights, their triangle, and the output inside it."""
    _, ax = plotting.figure(height=4.2)
    values = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.4, -0.2]])
    weights = torch.softmax(torch.tensor([1.25, 0.8, -0.2]), -1)
    output = weights @ values
    green = plotting.ROLES["value"]
    ax.fill(*values.T, color=green, alpha=0.15)
    ax.plot(*values.T, "o", color=green, ms=11)
    ax.plot(*output, "o", color=plotting.INK, ms=8)
    ax.text(0.57, 0.3, "output $o$", ha="right", va="center")
    for j, (x, y) in enumerate(((0.95, 0.08), (0.14, 0.87), (0.34, -0.31))):
        ax.text(x, y, f"$v_{j + 1}$: {100 * weights[j]:.0f} %", color=green)
    ax.set(xlim=(-0.2, 1.2), ylim=(-0.4, 1), aspect="equal")
