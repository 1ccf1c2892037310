"""Dot products as walks, one random product after another, and how far from 0 they end."""

from __future__ import annotations

import torch

from sdpa_book.drawing import plotting
from sdpa_book.writing.names import plot_label
from sdpa_lib.sampling import sample

ALT = (
    "Left: twelve lines begin at 0 and wander up and down, a random step at a time, for 64 steps. "
    "A shaded fan of plus and minus the root of the number of steps goes with them, and ends at "
    "plus and minus 8. Right: bells of where 20,000 walks end. Undivided the bell of 256 steps "
    "is twice as wide as that of 64, and that of 4 steps a quarter as wide; divided by the root of "
    "the number of steps all three have the same width, 1."
)
WIDTHS = (4, 64, 256)


def ends(d_k: int) -> torch.Tensor:
    """Where 20,000 walks end: their dot products."""
    q, k = (sample(20_000, d_k, seed=0, stream=stream, device="cpu") for stream in (0, 1))
    return (q * k).sum(-1)


def draw() -> None:
    """Walks with the fan of what is expected, and bells of ends, undivided and divided."""
    _, (walks, *bells) = plotting.figure(columns=3, height=2.6)
    q, k = (sample(12, 64, seed=0, stream=stream, device="cpu") for stream in (0, 1))
    sums = torch.nn.functional.pad((q * k).cumsum(-1), (1, 0))
    steps = torch.arange(65)
    color = plotting.style("none")["color"]
    walks.fill_between(steps, -steps.sqrt(), steps.sqrt(), color=color, alpha=0.18, linewidth=0)
    walks.plot(sums.T, color=color, linewidth=0.9)
    walks.set(title="sums, step by step", xlabel="steps", ylim=(-30, 30), xticks=(0, 32, 64))
    for ax, name in zip(bells, ("none", "sqrt_d_k"), strict=True):
        for d_k, dashes in zip(WIDTHS, (":", "-", "--"), strict=True):
            c, reach = (1, 40) if name == "none" else (d_k**0.5, 4)
            counts, edges = torch.histogram(ends(d_k).float() / c, 48, range=(-reach, reach))
            ax.plot(
                (edges[1:] + edges[:-1]) / 2,
                counts / counts.max(),
                color=plotting.style(name)["color"],
                linestyle=dashes,
                label=f"{d_k} steps",
            )
        ax.set(title=f"ends, {plot_label(name)}", xlabel="dot product", yticks=(), ylim=(0, 1.7))
    bells[0].legend(loc="upper center", frameon=False)
