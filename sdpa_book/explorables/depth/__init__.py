"""The first gradient of models with few blocks and with many."""

from __future__ import annotations

import statistics
from typing import Any

from sdpa_book.drawing import plotting
from sdpa_book.explorables import rounded
from sdpa_book.studies import depth as depths
from sdpa_book.writing.names import word_for

ALT = (
    "The norm of the first gradient against 2 to 48 blocks, on logarithmic axes: the median of "
    "undivided models rises, the more steeply the wider the heads, and with the root that of "
    "models with heads of 256 stays below ten."
)


def data() -> dict[str, Any]:
    """For each rescaling, d_k and number of blocks the norm of the first gradient of pre-norm
    models: the median, and all of them in order.
    """
    measured = depths.load_depth()[1]

    def norms(scaling: str, d_k: int, blocks: int) -> dict[str, Any]:
        totals = measured[depths.Depth(d_k, blocks, scaling, "pre", "1/inputs")].total
        return {"median": rounded(statistics.median(totals)), "all": sorted(totals)}

    labels = {name: word_for(name) for name in ("none", "sqrt_d_k")}
    return {
        "d_k": depths.DIMENSIONS,
        "blocks": depths.LAYERS,
        "labels": labels,
        "norms": {
            scaling: [[norms(scaling, d, n) for n in depths.LAYERS] for d in depths.DIMENSIONS]
            for scaling in labels
        },
    }


def draw() -> None:
    """The norm of the first gradient by the number of blocks: models with heads of 256, their
    medians, and thin those of undivided ones with narrower heads.
    """
    _, ax = plotting.figure(height=3.4)
    study = data()
    of_kind = study["norms"]
    blocks = study["blocks"]
    for name, line, mark in (("none", "-", "o"), ("sqrt_d_k", "--", "s")):
        color = plotting.style(name)["color"]
        for d_k, of_width in zip(study["d_k"], of_kind[name], strict=True):
            medians = [of_depth["median"] for of_depth in of_width]
            if d_k == study["d_k"][-1]:
                for x, of_depth in zip(blocks, of_width, strict=True):
                    models = of_depth["all"]
                    ax.plot([x] * len(models), models, ".", color=color, alpha=0.2)
                ax.plot(blocks, medians, line, marker=mark, color=color)
                end = study["labels"][name]
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
