"""The terms of softmax while keys are read, a block at a time."""

from __future__ import annotations

import torch

from sdpa_book.drawing import plotting

ALT = (
    "Bars for the terms of the keys that were read, four at the left and six at the right: a "
    "larger score has come, and the bars of all earlier keys have shrunk by one factor."
)


def draw() -> None:
    """The terms of the keys that were read, before and after a block with a larger score."""
    _, axes = plotting.figure(columns=2, height=2.6, share_y=True)
    scores = torch.tensor([1, 0.2, 2, 0.5, -0.5, 3.4])
    for read, ax in zip((4, 6), axes, strict=True):
        seen = scores[:read]
        ax.bar(range(1, read + 1), (seen - seen.max()).exp(), color=plotting.ROLES["weights"])
        ax.set(xlim=(0.4, 8.6), title=f"{read} keys read, m = {seen.max():.1f}", xlabel="key")
        ax.set_xticks(range(1, 9))
    axes[0].set_ylabel("$e^{z - m}$")
