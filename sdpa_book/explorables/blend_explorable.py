"""An output inside the triangle of its values."""

from __future__ import annotations

import torch

from sdpa_book.drawing import plotting

ALT = (
    "Three values in the plane, the triangle between them, and the output inside it, nearest "
    "to the first two: 53 % of the first, 34 % of the second and 13 % of the third. Arrows for "
    "these parts lead from the origin to the output, one after the other."
)


def draw() -> None:
    """Three values, their triangle, and an output inside it, as the sum of its parts."""
    _, ax = plotting.figure(height=4.2)
    values = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.4, -0.2]])
    weights = torch.softmax(torch.tensor([1.25, 0.8, -0.2]), -1)
    parts = weights[:, None] * values
    ends = parts.cumsum(0)
    green, purple = plotting.ROLES["value"], plotting.ROLES["weights"]
    ax.fill(*values.T, color=green, alpha=0.15)
    ax.plot(*values.T, "o", color=green, ms=11)
    for end, part in zip(ends.tolist(), parts.tolist(), strict=True):
        start = [x - by for x, by in zip(end, part, strict=True)]
        ax.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": purple, "lw": 2})
    ax.plot(0, 0, "o", color=plotting.INK, ms=5)
    ax.plot(*ends[-1], "o", color=plotting.INK, mfc="none", ms=13)
    for name, x, y, color in (
        ("$v_1$", 0.95, 0.1, green),
        ("$v_2$", 0.18, 0.88, green),
        ("$v_3$", 0.38, -0.31, green),
        ("output $o$", 0.64, 0.33, plotting.INK),
        ("$p_1v_1$", 0.18, -0.05, purple),
    ):
        ax.text(x, y, name, color=color)
    ax.set(xlim=(-0.2, 1.2), ylim=(-0.4, 1), aspect="equal")
