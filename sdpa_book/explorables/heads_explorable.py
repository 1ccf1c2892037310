"""Whom the characters of a passage look at, in every head, as a decoder learns."""

from __future__ import annotations

import base64
import json
from typing import Any

import torch
from torch import Tensor

import sdpa_lib as sdpa
from sdpa_book.drawing import plotting
from sdpa_book.explorables import rounded
from sdpa_book.studies.heads.plan import DecoderRun
from sdpa_book.studies.heads.read import LONGER, load_results, load_vectors

ALT = (
    "Sixteen heads in four layers, after 2,400 training steps: a dot, at how many characters each "
    "looks from the last bracket, and a bar, what nine in ten rows of random scores of its spread "
    "do. Eleven dots lie in their bars, most of them at fewer than 10 characters. Three of layer 2 "
    "and two of layer 3, brown, lie to the right of theirs, at 5 to 16 characters."
)

HEADS = DecoderRun("sqrt_d_k")
SHOWN = (2, 3)
"""The layer and head with which the figure begins, and which the chapter tells of."""

FIRST = 7
"""The first character that may look: shorter rows say nothing of a spread."""

LEVELS_PER_ROOT = 40
"""A score is kept as the root of its distance from its row's largest, in so many parts of 1: fine
where a weight is, coarse where none is.
"""

SHARES = torch.tensor([0.05, 0.95], dtype=torch.float64)
"""The shares of normal rows between which a row is as by chance."""


def standard(rows: Tensor) -> Tensor:
    """Rows with mean 0 and standard deviation 1."""
    return (rows - rows.mean(-1, keepdim=True)) / rows.std(-1, correction=0, keepdim=True)


def by_chance(keys: int, spreads: Tensor) -> Tensor:
    """Effective keys of normal rows at the shares of `SHARES`, a row for each spread."""
    rows = standard(sdpa.sample(2000, keys, seed=0, device="cpu").double())
    own = torch.stack([sdpa.effective_keys((s * rows).softmax(-1)) for s in spreads])
    return own.quantile(SHARES, -1).T


def measure(scores: Tensor) -> tuple[Tensor, Tensor]:
    """By character that may look and head: at how many characters it looks, and at how many it
    would by chance, at the shares of `SHARES`; of a moment's scores.
    """
    found = []
    for at in range(FIRST, scores.shape[-1]):
        rows = scores[..., at, : at + 1].flatten(0, -2).double()
        keys = sdpa.effective_keys(rows.softmax(-1))
        found.append((keys, by_chance(at + 1, rows.std(-1, correction=0))))
    keys, chance = map(torch.stack, zip(*found, strict=True))
    return keys, chance


def inside(keys: Tensor, chance: Tensor) -> Tensor:
    """Where a head looks at as many characters as by chance."""
    return (chance[..., 0] <= keys) & (keys <= chance[..., -1])


def data() -> dict[str, Any]:
    """Which passage, of which moments of a training a decoder's scores are there, and which share
    of rows a bar holds.
    """
    stored = load_results(LONGER)
    layers, heads = load_vectors(HEADS, "line", LONGER)[0].shape[1:3]
    return {
        "first": FIRST,
        "head": SHOWN[0] * heads + SHOWN[1],
        "inside": rounded(SHARES.diff().item()),
        "text": stored.passages["line"],
        "moments": stored.kept[f"{HEADS.name}, line"],
        "layers": layers,
        "heads": heads,
        "unit": LEVELS_PER_ROOT,
    }


def scripts() -> dict[str, str]:
    """By name a classic script for a moment: the scores of all rows of all heads, each row up to
    its own character, a byte a score; and by the character that looks, from `FIRST` on, and the
    head, at how many it looks, and would by chance, at the shares of `SHARES`; and how many heads
    do as by chance, on average over the characters.
    """
    query, key = load_vectors(HEADS, "line", LONGER)
    scores = sdpa.attention_scores(query, key, is_causal=True)
    seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    below = scores.amax(-1, keepdim=True) - scores
    levels = (below.sqrt() * LEVELS_PER_ROOT).round().clamp(max=255).to(torch.uint8)
    scripts = {}
    for moment, own, of_moment in zip(data()["moments"], scores, levels, strict=True):
        kept = base64.b64encode(of_moment[..., seen].numpy().tobytes()).decode()
        keys, chance = measure(own)
        stay = inside(keys, chance).double().sum(-1).mean().item()
        looks = torch.cat((keys[..., None], chance), -1).tolist()
        places = [[[rounded(x, 3) for x in head] for head in place] for place in looks]
        text = json.dumps([kept, places, rounded(stay)], separators=(",", ":"))
        scripts[f"heads_{moment}"] = f'(window.explorableHeads??={{}})["{moment}"]={text};\n'
    return scripts


def draw() -> None:
    """After training, at how many characters each head looks, and nine in ten normal rows."""
    query, key = (x[-1] for x in load_vectors(HEADS, "line", LONGER))
    told = data()
    keys, chance = (x[-1] for x in measure(sdpa.attention_scores(query, key)))
    layers, heads = query.shape[:2]
    _, ax = plotting.figure(height=3.4)
    stays = inside(keys, chance)
    for i, (own, (low, high)) in enumerate(zip(keys.tolist(), chance.tolist(), strict=True)):
        level = i + 0.5 * (i // heads)
        ax.plot((low, high), (level, level), color=plotting.GRID, linewidth=5)
        color = plotting.INK if stays[i] else plotting.ROLES["key"]
        ax.plot(own, level, "o", color=color, markersize=6, zorder=3)
    ticks = [1, 2, 5, 10, 20, 50]
    ax.set(xscale="log", xlim=(0.95, len(told["text"])))
    ax.set_xticks(ticks, map(str, ticks))
    ax.minorticks_off()
    middle = (heads - 1) / 2
    names = [f"layer {i + 1}" for i in range(layers)]
    ax.set_yticks([middle + i * (heads + 0.5) for i in range(layers)], names)
    ax.invert_yaxis()
    ax.tick_params("y", length=0, labelcolor=plotting.INK)
    ax.grid(visible=False, axis="y")
    asked = "looks at so many characters from the last bracket"
    ax.set_xlabel(f"{asked}, after {told['moments'][-1]:,} steps")
