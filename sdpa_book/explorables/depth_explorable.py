"""The first gradient of models with few blocks and with many."""

from __future__ import annotations

import statistics
from typing import Any

from sdpa_book.drawing import plotting
from sdpa_book.explorables import rounded
from sdpa_book.names import word_for
from sdpa_book.studies import depth as depths

ALT = (
    "The norm of the first gradient against 2 to 48 blocks, on logarithmic axes: the median of "
    "undivided models rises, the more steeply the wider the heads, and with the root that of "
    "models with heads of 256 stays below ten."
)

KINDS = {
    "pre": ("pre-norm, variance 1/inputs", "pre", "1/inputs"),
    "post": ("post-norm, variance 1/inputs", "post", "1/inputs"),
    "linear": ("pre-norm, started by nn.Linear", "pre", "nn.Linear"),
}
"""What a model is called, where its normalisations stand, and how its matrices start."""


def data() -> dict[str, Any]:
    """For each kind of model, rescaling, d_k and number of blocks the norm of the first gradient:
    the median, and all models in order.
    """
    measured = depths.load_depth()[1]

    def norms(scaling: str, norm: str, start: str) -> list[list[dict[str, Any]]]:
        of_widths = []
        for d_k in depths.DIMENSIONS:
            totals = [
                measured[depths.Depth(d_k, blocks, scaling, norm, start)].total
                for blocks in depths.LAYERS
            ]
            of_widths.append(
                [{"median": rounded(statistics.median(t)), "all": sorted(t)} for t in totals]
            )
        return of_widths

    labels = {name: word_for(name) for name in ("none", "sqrt_d_k")}
    return {
        "d_k": depths.DIMENSIONS,
        "blocks": depths.LAYERS,
        "labels": labels,
        "kinds": {
            name: {
                "label": label,
                "norms": {scaling: norms(scaling, norm, start) for scaling in labels},
            }
            for name, (label, norm, start) in KINDS.items()
        },
    }


def draw() -> None:
    """The norm of the first gradient by the number of blocks: models with heads of 256, their
    medians, and thin those of undivided ones with narrower heads.
    """
    _, ax = plotting.figure(height=3.4)
    told = data()
    of_kind = told["kinds"]["pre"]["norms"]
    blocks = told["blocks"]
    for name, line, mark in (("none", "-", "o"), ("sqrt_d_k", "--", "s")):
        color = plotting.style(name)["color"]
        for d_k, of_width in zip(told["d_k"], of_kind[name], strict=True):
            medians = [of_depth["median"] for of_depth in of_width]
            if d_k == told["d_k"][-1]:
                for x, of_depth in zip(blocks, of_width, strict=True):
                    models = of_depth["all"]
                    ax.plot([x] * len(models), models, ".", color=color, alpha=0.2)
                ax.plot(blocks, medians, line, marker=mark, color=color)
                end = told["labels"][name]
            elif name == "none":
                ax.plot(blocks, medians, line, linewidth=0.8, color=color)
                end = f"heads of {d_k}"
            else:
                continue  # the root's lie on each other
            at = (blocks[-1], medians[-1])
            beside = (10, -4 if name == "sqrt_d_k" else 0)  # below that of heads of 16
            ax.annotate(end, at, beside, textcoords="offset points", color=color, va="center")
    ax.set(xscale="log", yscale="log", xlabel="blocks", ylabel="norm of the first gradient")
    ax.set_xticks(blocks, map(str, blocks))
    ax.set_xlim(1.8, 110)
    ax.minorticks_off()
