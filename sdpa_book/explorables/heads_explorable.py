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
    "A grid of sixteen numbers, for four layers of four heads after 2,400 training steps: how many "
    "times as many characters as random scores of the same spread a head looks at, from the i of "
    "print. Thirteen cells are grey, from a third to 1.7 times. Three are purple: 3.2 and 4.6 "
    "times in layer 2, 3.9 in layer 3."
)

HEADS = DecoderRun("sqrt_d_k")
SHOWN = (1, 3)
"""The layer and head with which the figure begins: training takes it far from chance."""

FIRST = 7
"""The first character that may look: shorter rows say nothing of a spread."""

LEVELS_PER_ROOT = 40
"""A score is kept as the root of its distance from its row's largest, in so many parts of 1: fine
where a weight is, coarse where none is.
"""

SHARES = torch.tensor([0.05, 0.5, 0.95], dtype=torch.float64)
"""Between the outer two of these shares of normal rows a row is as by chance."""


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


def outside(keys: Tensor, chance: Tensor) -> Tensor:
    """Where a head looks at more or at fewer characters than by chance."""
    return (keys < chance[..., 0]) | (keys > chance[..., -1])


def data() -> dict[str, Any]:
    """Which passage, and of which moments of a training a decoder's scores are there. `place` is
    the last of the characters that after training come nearest to the average one.
    """
    stored = load_results(LONGER)
    query, key = load_vectors(HEADS, "line", LONGER)
    layers, heads = query.shape[1:3]
    trained = outside(*measure(sdpa.attention_scores(query[-1], key[-1]))).sum(-1).double()
    far = (trained - trained.mean()).abs()
    return {
        "first": FIRST,
        "head": SHOWN[0] * heads + SHOWN[1],
        "place": FIRST + int((far == far.min()).nonzero().max()),
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
    leave the outer two, on average over the characters.
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
        leave = rounded(outside(keys, chance).double().sum(-1).mean().item())
        looks = torch.cat((keys[..., None], chance), -1).tolist()
        places = [[[rounded(x, 3) for x in head] for head in place] for place in looks]
        text = json.dumps([kept, places, leave], separators=(",", ":"))
        scripts[f"heads_{moment}"] = f'(window.explorableHeads??={{}})["{moment}"]={text};\n'
    return scripts


def draw() -> None:
    """After training, over chance's median, at how many characters each head looks."""
    query, key = (x[-1] for x in load_vectors(HEADS, "line", LONGER))
    told = data()
    at, steps = told["place"], told["moments"][-1]
    keys, chance = (x[at - FIRST] for x in measure(sdpa.attention_scores(query, key)))
    layers, heads = query.shape[:2]
    low, middle, high = chance.unbind(-1)
    ratio = (keys / middle).reshape(layers, heads)
    wider, narrower = (left.reshape(layers, heads) for left in (keys > high, keys < low))
    _, ax = plotting.figure(height=2.4)
    for layer, head in torch.cartesian_prod(torch.arange(layers), torch.arange(heads)).tolist():
        role = "weights" if wider[layer, head] else "key" if narrower[layer, head] else ""
        colour = plotting.ROLES.get(role, plotting.GRID)
        own = ratio[layer, head].item()
        ax.barh(layer, 0.94, 0.86, head - 0.47, color=colour, alpha=0.5)
        text = f"÷ {1 / own:.1f}" if own < 0.95 else f"× {own:.1f}"
        weight = "bold" if role else "normal"
        ax.text(head, layer, text, ha="center", va="center", fontweight=weight)
    ax.set(xlim=(-0.5, heads - 0.5), ylim=(layers - 0.5, -0.5), xticks=[], yticks=range(layers))
    ax.set_yticklabels([f"layer {i + 1}" for i in range(layers)])
    ax.set_xlabel(f"from “{told['text'][at]}” in “print”, after {steps:,} steps")
    ax.tick_params("y", length=0, labelcolor=plotting.INK)
    ax.grid(visible=False)
    for side in ax.spines.values():
        side.set_visible(False)
