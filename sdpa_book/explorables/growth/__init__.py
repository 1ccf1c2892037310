"""Sums of unrelated pairs, a term at a time, for few components and for more."""

from __future__ import annotations

import torch

from sdpa_book.drawing import plotting
from sdpa_lib.sampling import sample

ALT = (
    "Forty lines, which begin at 0 and add up the 256 terms of undivided dot products. They spread "
    "like a fan, and a dashed curve of plus and minus the root of the number of terms goes with "
    "them: 8 after 64 terms, and after 256, four times as far on, twice as much, 16."
)


def draw() -> None:
    """The sums of forty pairs, and as far as they are expected to spread."""
    _, ax = plotting.figure(height=3.2)
    q, k = (sample(40, 256, seed=0, stream=stream, device="cpu") for stream in (0, 1))
    terms = q * k
    sums = torch.nn.functional.pad(terms.cumsum(-1), (1, 0))
    color = plotting.style("none")["color"]
    ax.plot(sums.T, color=color, linewidth=0.8, alpha=0.5)
    ax.scatter([256] * 40, sums[:, -1], color=color, s=8, zorder=3)
    expected = torch.arange(257).sqrt()
    for side in (1, -1):
        ax.plot(side * expected, color=plotting.INK, linestyle="--", linewidth=1.2)
    ax.text(262, 16, "±√terms", va="center")
    ax.set_xticks([0, 16, 64, 256])
    ax.set(xlabel="terms added up", ylabel="sum", xlim=(0, 300), ylim=(-48, 48))
