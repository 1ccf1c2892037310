"""An output inside the triangle of its values."""

from __future__ import annotations

import torch

from sdpa_book.drawing import plotting

ALT = (
    "Three values in the plane, the triangle between them, and the output inside it, nearest "
    "to the first two."
)


def draw() -> None:
    """Three values, their triangle, and an output inside it."""
    _, ax = plotting.figure(height=3.6)
    values = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.4, -0.2]])
    output = torch.softmax(torch.tensor([1.25, 0.8, -0.2]), -1) @ values
    ax.fill(*values.T, color=plotting.ROLES["value"], alpha=0.15)
    ax.plot(*values.T, "o", color=plotting.ROLES["value"], label="values")
    ax.plot(*output, "s", color=plotting.ROLES["weights"], label="output")
    ax.legend()
