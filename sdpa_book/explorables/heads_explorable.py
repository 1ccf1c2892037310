"""Whom the characters of a passage look at, in every head, as a decoder learns."""

from __future__ import annotations

import base64
from typing import Any

import torch
from torch import Tensor

import sdpa_lib as sdpa
from sdpa_book.drawing import plotting
from sdpa_book.studies.heads.plan import DecoderRun
from sdpa_book.studies.heads.read import LONGER, load_results, load_vectors

ALT = (
    "A column for each of 16 trained heads, on a logarithmic scale of characters: a grey bar where "
    "chance would put it and a mark where it is. Eleven marks, circles, lie on their bars, from 2 "
    "to 50 characters. Five, triangles, lie above theirs, at 5 to 16, where chance gives 1 to 13."
)

HEADS = DecoderRun("sqrt_d_k")
SHOWN = (2, 3)
"""The layer and head with which the figure begins."""

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


def by_chance(keys: int, spreads: Tensor) -> Tensor:
    """Effective keys of normal rows at the shares of `MIDDLE`, a row for each spread."""
    rows = standard(sdpa.sample(2000, keys, seed=0, device="cpu").double())
    return torch.stack(
        [sdpa.effective_keys((spread * rows).softmax(-1)).quantile(MIDDLE) for spread in spreads]
    )


def data() -> dict[str, Any]:
    """Which passage, and of which moments of a training a decoder's scores are there. `chance` is,
    by the character that looks, from `first` on, and by the spread, between which numbers nine in
    ten normal rows with as many keys have their effective ones.
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
        "head": SHOWN[0] * key.shape[2] + SHOWN[1],
        "gap": GAP,
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
    """How many characters the heads look at from the last one, and how many by chance."""
    query, key = (x[-1] for x in load_vectors(HEADS, "line", LONGER))
    rows = sdpa.attention_scores(query, key)[..., -1, :].double().flatten(0, 1)
    keys = sdpa.effective_keys(rows.softmax(-1))
    low, high = by_chance(rows.shape[-1], rows.std(-1, correction=0)).T
    order = ((keys / low).log() / (high / low).log()).argsort()
    keys, low, high = (x[order] for x in (keys, low, high))
    more = keys > high
    _, ax = plotting.figure(height=2.6)
    place = torch.arange(len(keys))
    ax.vlines(place, low, high, color=plotting.MUTED, alpha=0.45, linewidth=12)
    look = {"markeredgecolor": plotting.ROLES["weights"], "linestyle": "none"}
    for some, marker, fill in ((~more, "o", "white"), (more, "^", plotting.ROLES["weights"])):
        ax.plot(place[some], keys[some], marker, markerfacecolor=fill, markersize=7, **look)
    for some, name in ((~more, "as by chance"), (more, "more than by chance")):
        ax.text(place[some].double().mean(), 90, f"{some.sum()} {name}", ha="center")
    ax.set(yscale="log", ylim=(0.9, 75), ylabel="characters looked at")
    ax.set_yticks([1, 3, 10, 30], ["1", "3", "10", "30"])
    ax.set_xticks([])
