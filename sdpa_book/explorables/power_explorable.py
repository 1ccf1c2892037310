"""How the first step, and the start, grow with d_k."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from matplotlib.transforms import offset_copy

from sdpa_book.drawing import plotting
from sdpa_book.explorables import looks, rounded
from sdpa_book.studies import optimiser_steps as steps

ALT = (
    "Size of first scores, of a step of gradient descent and of a step of Adam, over those "
    "at 16 components, when the root divides: the first two stay at 1 up to 4,096 components, the "
    "third rises to about 16."
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
        found = {}
        for p, made in steps.load_steps()["first steps"][self.optimiser].items():
            means = np.mean(made[self.stored], axis=0)
            found[p] = [rounded(x) for x in (means / means[0]).tolist()]
        return found


def step_of(optimiser: str, short: str) -> Growth:
    """An optimiser's first step, by study D's theorem."""
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
    """The three sizes by d_k when the root divides: lines, side by side where level, and dots."""
    fig, ax = plotting.figure(height=3.4)
    colors = {"start": plotting.INK, **looks.OPTIMISERS}
    widths = np.array(steps.WIDTHS)
    ax.set(xscale="log", yscale="log", xlim=(14, 4700), ylim=(0.5, 24))
    for (name, growth), side, level in zip(
        GROWTHS.items(), (-1.5, 1.5, 0), (0.72, 1.25, 16), strict=True
    ):
        look = {"color": colors[name]}
        look["transform"] = offset_copy(ax.transData, fig, y=side, units="points")
        ax.plot(widths, (widths / widths[0]) ** (sum(growth.exponents) / 2), **look)
        ax.plot(widths[1:], growth.measured()["0.5"][1:], "o", **look)
        ax.text(widths[-1] * 1.2, level, growth.short, va="center", color=colors[name])
    ax.set_xlabel("components of the head, $d_k$")
    ax.set_ylabel(f"compared with a head of {widths[0]}")
    ax.set_xticks(widths, [f"{width:,}" for width in widths])
    ax.set_yticks([1, 4, 16], ["the same", "× 4", "× 16"])
    ax.minorticks_off()
