"""How the first step, and the start, grow with d_k."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sdpa_book.drawing import plotting
from sdpa_book.explorables import looks, rounded
from sdpa_book.studies import optimiser_steps as steps

ALT = (
    "First scores, a step of gradient descent and a step of Adam, compared with those at 16 "
    "components, when the root divides: two lines are level, one dashed over the other, up to "
    "4,096 components, and that of Adam’s step rises to 16 times."
)


class Growth(NamedTuple):
    """Something that grows like a power of d_k.

    Attributes:
        short: its name beside a line.
        optimiser, stored: where ``steps.json`` has it.
        exponents: of d_k, which are linear in p, at p = 0 and 1.
    """

    short: str
    optimiser: str
    stored: str
    exponents: tuple[float, float]

    def measured(self) -> dict[str, list[float]]:
        """For each p the sizes over that in the narrowest head: means over the seeds."""
        sizes = {}
        for p, first_steps in steps.load_steps()["first steps"][self.optimiser].items():
            means = np.mean(first_steps[self.stored], axis=0)
            sizes[p] = [rounded(x) for x in (means / means[0]).tolist()]
        return sizes


def step_of(optimiser: str, short: str) -> Growth:
    """An optimiser's first step, by article D's theorem."""
    exponent = steps.OPTIMISERS[optimiser].step
    ends = exponent(0.0), exponent(1.0)
    return Growth(short, optimiser, "one step", ends)


GROWTHS = {
    "start": Growth("first scores", "SGD", "start", (0.5, -0.5)),
    "SGD": step_of("SGD", "gradient descent’s step"),
    "Adam": step_of("Adam", "Adam’s step"),
}


def data() -> dict[str, Any]:
    """The widths, and for each line its names, the theorem's exponents and what was measured."""
    names = ("short", "exponents")
    return {
        "d_k": steps.WIDTHS,
        "lines": {
            name: {part: getattr(growth, part) for part in names} | {"measured": growth.measured()}
            for name, growth in GROWTHS.items()
        },
    }


def draw() -> None:
    """The three sizes by d_k when the root divides: lines, one dashed over another, and dots."""
    _, ax = plotting.figure(height=3.4)
    colors = {"start": plotting.INK, **looks.OPTIMISERS}
    widths = np.array(steps.WIDTHS)
    ax.set(xscale="log", yscale="log", xlim=(14, 4700), ylim=(0.5, 24))
    ax.axhline(1, color=plotting.INK, linewidth=1)
    beside = ("first scores and", "gradient descent’s\nstep: level", "Adam’s step\n× 16")
    for (name, growth), words, level in zip(GROWTHS.items(), beside, (1.24, 0.85, 16), strict=True):
        over, color = name == "SGD", colors[name]
        look: dict[str, Any] = {"linestyle": (0, (4, 4))} if over else {}
        exponent = sum(growth.exponents) / 2
        ax.plot(widths, (widths / widths[0]) ** exponent, color=color, linewidth=3, **look)
        measured = growth.measured()["0.5"][1:]
        ax.plot(widths[1:], measured, "o", color=color, markersize=4 if over else 8)
        ax.text(widths[-1] * 1.2, level, words, va="center", color=color)
    ax.set_title("divided by the root: p = ½")
    ax.set_xlabel("components of the head, $d_k$")
    ax.set_ylabel(f"compared with a head of {widths[0]}")
    ax.set_xticks(widths, [f"{width:,}" for width in widths])
    ax.set_yticks([1, 4, 16], ["the same", "× 4", "× 16"])
    ax.minorticks_off()
