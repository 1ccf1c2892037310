"""Whom the characters of a passage look at, in every head, as a decoder learns."""

from __future__ import annotations

import base64
from typing import Any

import torch

import sdpa_lib as sdpa
from sdpa_book.drawing import plotting
from sdpa_book.drawing.attended_text import looked_at
from sdpa_book.studies.heads.measure import normal_rows
from sdpa_book.studies.heads.plan import DecoderRun
from sdpa_book.studies.heads.read import LONGER, load_results, load_vectors

ALT = (
    "A passage of code, in which the background of a character is the darker the more weight it "
    "gets from the last bracket, and the largest weights as bars: several share the weight, where "
    "in normal rows, drawn as steps, one has two thirds of it."
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

GAP = 0.125
"""From one spread of normal rows to the next: between, their keys are interpolated."""


def data() -> dict[str, Any]:
    """Which passage, and of which moments of a training a decoder's scores are there. `normal` is,
    by the character that looks, from `first` on, and by the spread, what normal rows with as many
    keys have of effective ones.
    """
    stored = load_results(LONGER)
    query, key = load_vectors(HEADS, "line", LONGER)
    scores = sdpa.attention_scores(query, key)
    rows = [scores[..., at, : at + 1] for at in range(FIRST, key.shape[-2])]
    widest = max(row.std(-1, correction=0).max().item() for row in rows)
    spreads = torch.arange(0, widest + GAP, GAP)
    _, squares, _ = normal_rows(spreads, torch.tensor([[row.shape[-1]] for row in rows]))

    return {
        "first": FIRST,
        "gap": GAP,
        "normal": [[float(f"{x:.3g}") for x in of_row] for of_row in (1 / squares).tolist()],
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
    """Whom the last character looks at in one head, and its weights beside those of normal rows."""
    query, key = (x[-1, *SHOWN] for x in load_vectors(HEADS, "line", LONGER))
    row = sdpa.attention_scores(query, key)[-1].double()
    normal = sdpa.sample(2000, len(row), seed=0, device="cpu").double()
    normal = (normal - normal.mean(-1, keepdim=True)) / normal.std(-1, correction=0, keepdim=True)
    weights, of_normal = (
        scores.softmax(-1).sort(-1, descending=True).values[..., :20]
        for scores in (row, normal * row.std(correction=0))
    )
    _, (text, bars) = plotting.figure(rows=2, height=2.0)
    looked_at(text, data()["text"], sdpa.attention_weights(query, key, is_causal=True), (62,))
    layer, head = SHOWN
    text.set_title(f"layer {layer + 1}, head {head + 1}")
    ranks = range(1, 21)
    bars.bar(ranks, weights.numpy(), color=plotting.ROLES["weights"])
    bars.step(ranks, of_normal.mean(0).numpy(), where="mid", color=plotting.INK, linewidth=1.4)
    bars.text(1.7, 0.6, "normal rows")
    bars.text(5.2, 0.12, "its weights", color=plotting.ROLES["weights"])
    bars.set(xlabel="keys, the largest weight first", ylabel="weight", xlim=(0.3, 20.7))
    bars.set_xticks([1, 5, 10, 15, 20])
