"""Whom the characters of a passage look at, in every head, as a decoder learns."""

from __future__ import annotations

import base64
from functools import cache
from typing import Any

import torch
from torch import Tensor

import sdpa_lib as sdpa
from sdpa_book.drawing import plotting
from sdpa_book.drawing.attended_text import looked_at
from sdpa_book.explorables import rounded
from sdpa_book.studies.heads.plan import DecoderRun
from sdpa_book.studies.heads.read import LONGER, load_results, load_vectors

ALT = (
    "A passage of code twice, in which the background of a character is the darker the more weight "
    "the last bracket gives it. In a trained head several characters before it are dark, at the "
    "ends of lines and in the last word; by chance, with random scores, two are."
)

HEADS = DecoderRun("sqrt_d_k")
SHOWN = (1, 0)
"""The layer and head of the picture, with which the figure begins."""

FIRST = 7
"""The first character that may look: shorter rows say nothing of a spread."""

LEVELS_PER_ROOT = 24
"""A score is kept as the root of its distance from its row's largest, in so many parts of 1: fine
where a weight is, coarse where none is.
"""

GAP = 0.25
"""From one spread of normal rows to the next: between, their keys are interpolated."""

MIDDLE = torch.tensor([0.05, 0.95], dtype=torch.float64)
"""Between these shares of normal rows a row is as by chance."""


def standard(rows: Tensor) -> Tensor:
    """Rows with mean 0 and standard deviation 1."""
    return (rows - rows.mean(-1, keepdim=True)) / rows.std(-1, correction=0, keepdim=True)


@cache
def typical(keys: int) -> Tensor:
    """Of many draws of normal scores that from which rows, wherever they end and whatever their
    spread, have about as many effective keys as normal rows have in the mean.
    """
    draws = sdpa.sample(2000, keys, seed=0, device="cpu").double()
    off = torch.zeros(len(draws), dtype=torch.float64)
    for end in range(FIRST + 1, keys + 1):
        for spread in (1, 2, 4, 6):
            squares = (spread * standard(draws[:, :end])).softmax(-1).square().sum(-1)
            off += (squares / squares.mean()).log().abs()
    return draws[off.argmin()]


def by_chance(keys: int, spreads: Tensor) -> Tensor:
    """Effective keys of normal rows at the shares of `MIDDLE`, a row for each spread."""
    rows = standard(sdpa.sample(2000, keys, seed=0, device="cpu").double())
    return torch.stack(
        [sdpa.effective_keys((spread * rows).softmax(-1)).quantile(MIDDLE) for spread in spreads]
    )


def data() -> dict[str, Any]:
    """Which passage, and of which moments of a training a decoder's scores are there. `chance` is,
    by the character that looks, from `first` on, and by the spread, between which numbers nine in
    ten normal rows with as many keys have their effective ones; `drawn` are random scores of a
    typical row.
    """
    stored = load_results(LONGER)
    query, key = load_vectors(HEADS, "line", LONGER)
    scores = sdpa.attention_scores(query, key)
    rows = [scores[..., at, : at + 1] for at in range(FIRST, key.shape[-2])]
    widest = max(row.std(-1, correction=0).max().item() for row in rows)
    spreads = torch.arange(0, widest + GAP, GAP)
    chance = [by_chance(row.shape[-1], spreads) for row in rows]

    return {
        "first": FIRST,
        "gap": GAP,
        "drawn": [rounded(z) for z in typical(key.shape[-2]).tolist()],
        "chance": [[[float(f"{x:.3g}") for x in ends] for ends in one.tolist()] for one in chance],
        "text": stored.passages["line"],
        "moments": stored.kept[f"{HEADS.name}, line"],
        "layers": key.shape[1],
        "heads": key.shape[2],
        "unit": LEVELS_PER_ROOT,
    }


def scripts() -> dict[str, str]:
    """By name a classic script with a moment's scores: all rows of all heads, each up to its own
    character, a byte a score.
    """
    query, key = load_vectors(HEADS, "line", LONGER)
    scores = sdpa.attention_scores(query, key, is_causal=True)
    seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    below = scores.amax(-1, keepdim=True) - scores
    levels = (below.sqrt() * LEVELS_PER_ROOT).round().clamp(max=255).to(torch.uint8)
    scripts = {}
    for moment, of_moment in zip(data()["moments"], levels, strict=True):
        kept = base64.b64encode(of_moment[..., seen].numpy().tobytes()).decode()
        scripts[f"heads_{moment}"] = f'(window.explorableHeads??={{}})["{moment}"]="{kept}";\n'
    return scripts


def draw() -> None:
    """Whom the last character looks at in one head, and whom by chance."""
    query, key = (x[-1, *SHOWN] for x in load_vectors(HEADS, "line", LONGER))
    row = sdpa.attention_scores(query, key)[-1].double()
    random = row.std(correction=0) * standard(typical(len(row)))
    _, axes = plotting.figure(columns=2, height=1.5)
    names = "a trained head looks at", "by chance: at"
    for ax, name, scores in zip(axes, names, (row, random), strict=True):
        weights = scores.softmax(-1)
        looked_at(ax, data()["text"], weights.expand(len(row), -1), (len(row) - 1,))
        ax.set_title(f"{name} {sdpa.effective_keys(weights):.0f} characters")
