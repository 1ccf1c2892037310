"""How the first step, and the start, grow with d_k."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sdpa_book.drawing import plotting
from sdpa_book.explorables import looks, rounded
from sdpa_book.studies import optimiser_steps as steps

ALT = (
    "Size of the first scores, of a step of gradient descent and of a step of Adam, over those "
    "at 16 components, when the root divides: the first two stay at 1 up to 4,096 components, "
    "the third rises to about 16."
)


class Growth(NamedTuple):
    """Something that grows like a power of d_k.

    Attributes:
        label, short, kept: its name, the one beside a line, and the one within a sentence.
        optimiser, stored: where ``steps.json`` has it.
        exponent: of d_k, given p.
    """

    label: str
    short: str
    kept: str
    optimiser: str
    stored: str
    exponent: Callable[[float], float]


GROWTHS = {
    "start": Growth(
        "spread of the scores at the start",
        "fresh scores",
        "the spread of fresh scores",
        "SGD",
        "start",
        lambda p: 0.5 - p,
    ),
    "SGD": Growth(
        "one step of gradient descent",
        "descent step",
        "gradient descent’s step",
        "SGD",
        "one step",
        steps.OPTIMISERS["SGD"].step,
    ),
    "Adam": Growth(
        "one step of Adam",
        "Adam step",
        "Adam’s step",
        "Adam",
        "one step",
        steps.OPTIMISERS["Adam"].step,
    ),
}


def data() -> dict[str, Any]:
    """The exponents of study D's theorem, which are linear in p, at p = 0 and 1, and for each
    p what was measured, over its size in the narrowest head: means over the seeds.
    """
    first_steps = steps.load_steps()["first steps"]
    lines = {}
    for name, (label, short, kept, optimiser, stored, exponent) in GROWTHS.items():
        measured = {}
        for p, made in first_steps[optimiser].items():
            means = np.mean(made[stored], axis=0)
            measured[p] = [rounded(x) for x in (means / means[0]).tolist()]
        lines[name] = {
            "label": label,
            "short": short,
            "kept": kept,
            "exponents": [exponent(0.0), exponent(1.0)],
            "measured": measured,
        }
    first, last = (int(math.log2(steps.WIDTHS[end])) for end in (0, -1))
    return {
        "d_k": [2**e for e in range(first, last + 1)],
        "measured_at": steps.WIDTHS,
        "lines": lines,
    }


def draw(p: float = 0.5) -> None:
    """The start's and the step's size by d_k when the root divides: lines and measured points."""
    _, ax = plotting.figure(height=3.4)
    told = data()
    colors = {"start": plotting.INK, **looks.OPTIMISERS}
    widths = np.array(told["measured_at"])
    for (name, line), dashes, mark in zip(
        told["lines"].items(), (":", "-", "--"), "so^", strict=True
    ):
        exponent = GROWTHS[name].exponent(p)
        look = {"color": colors[name], "linestyle": dashes}
        ax.plot(widths, (widths / widths[0]) ** exponent, **look)
        ax.plot(widths, line["measured"][f"{p:g}"], mark, color=colors[name], label=line["label"])
    ax.set(xscale="log", yscale="log", xlabel="$d_k$", ylabel=f"over that at {widths[0]}")
    ax.legend(fontsize=9)
