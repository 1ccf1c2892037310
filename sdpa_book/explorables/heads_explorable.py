"""At how many characters the heads of a trained decoder look, with scores of one spread."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

import sdpa_lib as sdpa
from sdpa_book.drawing import plotting
from sdpa_book.explorables import rounded
from sdpa_book.studies.heads.plan import DecoderRun
from sdpa_book.studies.heads.read import LONGER, load_results, load_vectors
from sdpa_lib.sampling import sample

ALT = (
    "The scores of a trained head, layer 3, head 2, from the space after width, and as many random "
    "scores, both with a spread of 3; a bar for each, as high as its weight. Seven of the head's "
    "scores lie between 1.15 and 1.3 standard deviations above their mean and have 0.07 to 0.11 of "
    "the weight each: it looks at 14.3 characters. The largest random score stands 2.2 deviations "
    "out and has half of the weight: random scores look at 3.2."
)

HEADS = DecoderRun("sqrt_d_k")
SHOWN, FROM = (2, 1), 41
"""The layer and head with which the figure begins, and the character that looks, the space after
“width”; the chapter tells of them.
"""

SPREAD = 3.0
"""The spread with which the figure begins; the chapter tells of it."""

SHARES = torch.tensor([0.05, 0.95], dtype=torch.float64)
"""The shares of normal rows between which a row is as by chance."""

SPREADS = torch.logspace(-1.5, 3, 14, base=2, dtype=torch.float64)
"""The spreads at which a random row is compared with others."""


def standard(rows: Tensor) -> Tensor:
    """Rows with mean 0 and standard deviation 1."""
    return (rows - rows.mean(-1, keepdim=True)) / rows.std(-1, correction=0, keepdim=True)


def normal(keys: int) -> Tensor:
    """Ten thousand rows of normal numbers, each with mean 0 and standard deviation 1."""
    return standard(sample(10_000, keys, seed=0, device="cpu").double())


def effective_keys(rows: Tensor, spreads: Tensor) -> Tensor:
    """At each of some spreads, of each of some rows with standard deviation 1."""
    return torch.stack([sdpa.effective_keys((s * rows).softmax(-1)) for s in spreads])


def by_chance(keys: int, spreads: Tensor) -> Tensor:
    """Effective keys of normal rows at the shares of `SHARES`, a row for each spread."""
    return effective_keys(normal(keys), spreads).quantile(SHARES, -1).T


def typical(keys: int) -> Tensor:
    """Of the normal rows that one whose effective keys are nearest to the median at all spreads."""
    rows = normal(keys)
    own = effective_keys(rows, SPREADS).log()
    return rows[(own - own.median(-1, keepdim=True).values).abs().amax(0).argmin()]


def data() -> dict[str, Any]:
    """A passage up to the character that looks; of each head of a trained decoder its standardised
    scores; at each of some spreads between which numbers of characters random rows look; and a
    typical random row.
    """
    stored = load_results(LONGER)
    query, key = (x[-1] for x in load_vectors(HEADS, "line", LONGER))
    scores = sdpa.attention_scores(query, key)[..., FROM, : FROM + 1].double()
    layers, heads = scores.shape[:2]
    spreads = torch.arange(15, 41, dtype=torch.float64) / 10

    def short(x: Tensor, digits: int = 4) -> Any:
        return [short(one, digits) for one in x] if x.dim() else rounded(x.item(), digits)

    return {
        "text": stored.passages["line"][: FROM + 1],
        "layers": layers,
        "heads": heads,
        "head": SHOWN[0] * heads + SHOWN[1],
        "scores": short(standard(scores.flatten(0, 1))),
        "spreads": {"least": spreads[0].item(), "step": 0.1, "shown": SPREAD},
        "chance": short(by_chance(FROM + 1, spreads), 5),
        "random": short(typical(FROM + 1)),
    }


def draw() -> None:
    """From the character that looks, the scores of a trained head in standard deviations from
    their mean, and random scores, a bar for each, as high as its weight at one spread.
    """
    query, key = (x[-1] for x in load_vectors(HEADS, "line", LONGER))
    row = sdpa.attention_scores(query, key)[SHOWN][FROM, : FROM + 1].double()
    rows = {
        f"layer {SHOWN[0] + 1}, head {SHOWN[1] + 1}": (standard(row), plotting.ROLES["weights"]),
        "random scores": (typical(FROM + 1), plotting.MUTED),
    }
    _, axes = plotting.figure(columns=2, height=2.8, share_y=True)
    for ax, (name, (scores, color)) in zip(axes, rows.items(), strict=True):
        weights = (SPREAD * scores).softmax(-1)
        ax.vlines(scores, 0, weights, color=color, linewidth=2)
        ax.plot(scores, weights, "o", color=color, markersize=3.5)
        ax.set_title(f"{name}: {sdpa.effective_keys(weights).item():.1f} characters")
        ax.set(xlim=(-2.4, 2.6), ylim=(0, 0.6), xlabel="standard deviations from the mean")
    axes[0].set_ylabel("weight")
