"""Whom the characters of a passage look at, in every head, as a decoder learns."""

from __future__ import annotations

import base64
from typing import Any

import torch
from matplotlib.colors import ListedColormap
from torch import Tensor

import sdpa_lib as sdpa
from sdpa_book.drawing import plotting
from sdpa_book.studies.heads.plan import DecoderRun
from sdpa_book.studies.heads.read import LONGER, load_results, load_vectors

ALT = (
    "Sixteen tiles, for four layers of four heads after 2,400 training steps; in each is how many "
    "characters its head looks at from the last bracket. Five are purple, more than by chance: 6, "
    "16 and 5 in layer 2, 6 and 11 in layer 3. Eleven are grey, as by chance, from 2 to 51. On "
    "average over 56 characters 1.4 are purple."
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


def by_chance(keys: int, spreads: Tensor) -> tuple[Tensor, Tensor]:
    """Effective keys of normal rows at the shares of `MIDDLE`, a row for each spread, and the share
    of normal rows that have more, in whole keys.
    """
    rows = standard(sdpa.sample(2000, keys, seed=0, device="cpu").double())
    own = torch.stack([sdpa.effective_keys((s * rows).softmax(-1)) for s in spreads])
    ends = own.quantile(MIDDLE, -1).T
    return ends, (own.round() > ends[:, 1:].round()).double().mean(-1)


def count(scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """By character that may look and head: how many characters it looks at, whether more than by
    chance, and how probable that is by chance; of a moment's scores.
    """
    found = []
    for at in range(FIRST, scores.shape[-1]):
        rows = scores[..., at, : at + 1].flatten(0, -2).double()
        keys = sdpa.effective_keys(rows.softmax(-1)).round()
        ends, past = by_chance(at + 1, rows.std(-1, correction=0))
        found.append((keys, keys > ends[:, 1].round(), past))
    keys, more, past = map(torch.stack, zip(*found, strict=True))
    return keys, more, past


def data() -> dict[str, Any]:
    """Which passage, and of which moments of a training a decoder's scores are there. `chance` is,
    by the character that looks, from `first` on, and by the spread, between which numbers nine in
    ten normal rows with as many keys have their effective ones; `alone`, how many heads would look
    at more by chance, on average over the characters.
    """
    stored = load_results(LONGER)
    query, key = load_vectors(HEADS, "line", LONGER)
    scores = sdpa.attention_scores(query, key)
    rows = [scores[..., at, : at + 1] for at in range(FIRST, key.shape[-2])]
    widest = max(row.std(-1, correction=0).max().item() for row in rows)
    spreads = torch.arange(0, widest + GAP, GAP)
    chance = [by_chance(row.shape[-1], spreads)[0] for row in rows]
    alone = count(scores[-1])[2].sum(-1).mean().item()

    return {
        "first": FIRST,
        "head": SHOWN[0] * key.shape[2] + SHOWN[1],
        "gap": GAP,
        "alone": round(alone, 1),
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
    """How many characters the heads look at from the last one, and which more than by chance."""
    steps = load_results(LONGER).kept[f"{HEADS.name}, line"][-1]
    query, key = (x[-1] for x in load_vectors(HEADS, "line", LONGER))
    all_keys, all_more, _ = count(sdpa.attention_scores(query, key))
    keys, more = (x[-1].reshape(query.shape[:2]) for x in (all_keys, all_more))
    purple = plotting.ROLES["weights"]
    _, ax = plotting.figure(height=2.8)
    looks = ListedColormap([plotting.GRID, purple])
    ax.pcolormesh(more, cmap=looks, edgecolor="white", linewidth=4)
    for layer, head in torch.cartesian_prod(*map(torch.arange, keys.shape)):
        letters = "white" if more[layer, head] else plotting.INK
        look = {"ha": "center", "va": "center", "size": 12, "weight": "bold", "color": letters}
        ax.text(head + 0.5, layer + 0.5, f"{keys[layer, head]:.0f}", **look)
    ax.text(0, -0.6, f"more than by chance: {more.sum()}", color=purple, weight="bold")
    ax.text(
        4, -0.6, f"as by chance: {(~more).sum()}", ha="right", color=plotting.MUTED, weight="bold"
    )
    mean = all_more.sum(-1).double().mean()
    ax.set_xlabel(
        f"after {steps:,} training steps, from the last “(”;\n"
        f"on average over {len(all_more)} characters, {mean:.1f} are purple"
    )
    ax.set_xticks(torch.arange(4) + 0.5, [f"head {i + 1}" for i in range(4)])
    ax.set_yticks(torch.arange(4) + 0.5, [f"layer {i + 1}" for i in range(4)])
    ax.tick_params(length=0, labelcolor=plotting.INK, labeltop=True, labelbottom=False)
    ax.invert_yaxis()
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
