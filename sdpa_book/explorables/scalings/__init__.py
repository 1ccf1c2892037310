"""What four divisors do to one query's weights when its keys are made longer."""

from __future__ import annotations

from typing import Any

from torch import Tensor

import sdpa_lib as sdpa
from sdpa_book.drawing import plotting
from sdpa_book.explorables import rounded
from sdpa_book.writing.names import display_name
from sdpa_lib.sampling import sample_qkv

COMPARED = {
    "none": (display_name("none"), "÷ 1"),
    "sqrt_d_k": ("root of the width", "÷ √d_k"),
    "k_mean": ("mean key length", "÷ k_{mean}"),
    "k_total": ("total key length", "÷ k_{total}"),
}
"""The divisors that chapter 8 is about, in words and in symbols; its tables have the others."""

ALT = (
    "Four panels of eight bars, one query's weights on keys three times as long, with dashed "
    "outlines of what they were. Undivided and divided by the root, the first bar stands above its "
    "outline and all others below theirs: 1.0 and 1.8 of 8 keys. Divided by the mean length and by "
    "the total length, all bars fill their outlines: 3.9 and 7.8 of 8 keys."
)


def query_and_keys() -> tuple[Tensor, Tensor]:
    """One query and eight keys of 64 components, that with the largest score first."""
    queries, keys, _ = sample_qkv(500, 32, 64, seed=7)
    query, keys = queries[54:55], keys[:8]
    return query, keys[(query @ keys.T)[0].argsort(descending=True)]


def data() -> dict[str, Any]:
    """The scores, undivided, and for each divisor its size and whether it grows with the keys."""
    query, keys = query_and_keys()
    divisors = {}
    for name, (words, symbol) in COMPARED.items():
        size, longer = (float(sdpa.RESCALINGS[name](a * keys)) for a in (1, 2))
        known = {"words": words, "symbol": symbol, "size": rounded(size)}
        divisors[name] = known | {"grows": longer > 1.5 * size}
    scores = (query @ keys.T)[0].tolist()
    return {"scores": [rounded(score) for score in scores], "divisors": divisors}


def draw() -> None:
    """The weights on keys three times as long, and dashed outlines of what they were."""
    query, keys = query_and_keys()
    _, axes = plotting.figure(2, 2, height=2.4, share_y=True)
    for ax, name in zip(axes.flat, COMPARED, strict=True):
        style = plotting.style(name)
        before, p = (sdpa.attention_weights(query, a * keys, rescaling=name)[0] for a in (1, 3))
        ax.bar(range(1, 9), p.round(decimals=3).tolist(), color=style["color"])
        outline = {"fill": False, "edgecolor": plotting.INK, "linestyle": "--"}
        ax.bar(range(1, 9), before.round(decimals=3).tolist(), **outline)
        was, now = (sdpa.effective_keys(weights).item() for weights in (before, p))
        effective = f"{now:.1f}" if f"{was:.1f}" == f"{now:.1f}" else f"{was:.1f} → {now:.1f}"
        ax.set_title(style["label"])
        ax.set_xlabel(f"{effective} of 8 keys")
        ax.set(ylim=(0, 1.08), xticks=[], yticks=[0, 0.5, 1])
    axes[0, 0].set_ylabel("weight")
    axes[0, 0].text(2, 0.6, "bars: keys × 3\ndashed: × 1")
