"""Whom the characters of a passage look at, in every head, as a decoder learns."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

import sdpa_lib as sdpa
from sdpa_book.drawing import plotting
from sdpa_book.explorables import rounded
from sdpa_book.studies.heads.plan import DecoderRun
from sdpa_book.studies.heads.read import LONGER, load_results, load_vectors

ALT = (
    "Sixteen heads, dots, by the spread of their scores and by how many characters each looks at "
    "from the space after width; and a band, where nine in ten rows of random scores lie. "
    "Untrained, they have spreads near 1 and look at 12 to 31 characters, one above the band and "
    "one below. After 2,400 training steps most lie in it at spreads of 1 to 6 and 1 to 14 "
    "characters; three lie above it and one below. A line joins two of nearly the same spread, "
    "6.2, which look at 8.7 and 3.0."
)

HEADS = DecoderRun("sqrt_d_k")
SHOWN, FROM = (2, 1), 41
"""The layer and head with which the figure begins, and the character that looks, the space after
“width”, from which about as many heads leave chance as on average; the chapter tells of them.
"""

FIRST = 7
"""The first character of an average: shorter rows say nothing of a spread."""

SHARES = torch.tensor([0.05, 0.95], dtype=torch.float64)
"""The shares of normal rows between which a row is as by chance."""

SPREADS = torch.logspace(-1.5, 3, 14, base=2, dtype=torch.float64)
"""Where a band of normal rows is drawn through."""


def standard(rows: Tensor) -> Tensor:
    """Rows with mean 0 and standard deviation 1."""
    return (rows - rows.mean(-1, keepdim=True)) / rows.std(-1, correction=0, keepdim=True)


def by_chance(keys: int, spreads: Tensor) -> Tensor:
    """Effective keys of normal rows at the shares of `SHARES`, a row for each spread."""
    rows = standard(sdpa.sample(10_000, keys, seed=0, device="cpu").double())
    own = torch.stack([sdpa.effective_keys((s * rows).softmax(-1)) for s in spreads])
    return own.quantile(SHARES, -1).T


def look(scores: Tensor, at: int) -> tuple[Tensor, Tensor, Tensor]:
    """From a character each head's spread of scores, at how many characters it looks, and at how
    many it would by chance, at the shares of `SHARES`; of a moment's scores.
    """
    rows = scores[..., at, : at + 1].flatten(0, -2).double()
    spreads = rows.std(-1, correction=0)
    return spreads, sdpa.effective_keys(rows.softmax(-1)), by_chance(at + 1, spreads)


def measure(scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The same from each character of an average, one after the other."""
    found = [look(scores, at) for at in range(FIRST, scores.shape[-1])]
    spreads, keys, chance = map(torch.stack, zip(*found, strict=True))
    return spreads, keys, chance


def outside(keys: Tensor, chance: Tensor) -> Tensor:
    """Where a head looks at more characters than by chance, and where at fewer."""
    return torch.stack((keys > chance[..., -1], keys < chance[..., 0]))


def moments() -> list[int]:
    """After how many training steps the scores were kept."""
    return load_results(LONGER).kept[f"{HEADS.name}, line"]


def data() -> dict[str, Any]:
    """A passage up to the character that looks; of each moment in the training of a decoder, head
    by head, the weights that it gives, its spread of scores, at how many characters it looks, and
    between which numbers it would by chance; and the same of chance for `SPREADS`.
    """
    query, key = load_vectors(HEADS, "line", LONGER)
    scores = sdpa.attention_scores(query, key)
    layers, heads = scores.shape[1:3]
    weights = scores[..., FROM, : FROM + 1].flatten(1, 2).double().softmax(-1)
    found = [[*map(torch.Tensor.tolist, look(moment, FROM))] for moment in scores]
    return {
        "text": load_results(LONGER).passages["line"][: FROM + 1],
        "moments": moments(),
        "layers": layers,
        "heads": heads,
        "head": SHOWN[0] * heads + SHOWN[1],
        "weights": [[[rounded(w) for w in head] for head in moment] for moment in weights.tolist()],
        "found": [
            [
                [rounded(x, 5) for x in (spread, keys, *ends)]
                for spread, keys, ends in zip(*moment, strict=True)
            ]
            for moment in found
        ],
        "beyond": rounded(SHARES[0].item()),
        "spreads": SPREADS.tolist(),
        "band": [[rounded(x) for x in ends] for ends in by_chance(FROM + 1, SPREADS).tolist()],
    }


def draw() -> None:
    """Before and after training, how far each head's scores spread and at how many characters it
    looks, with a band for nine in ten normal rows, and two trained heads of nearly equal spread
    joined.
    """
    query, key = (x[[0, -1]] for x in load_vectors(HEADS, "line", LONGER))
    scores = sdpa.attention_scores(query, key)
    found = [look(moment, FROM) for moment in scores]
    fine = torch.logspace(-2, 3.5, 50, base=2, dtype=torch.float64)
    band = by_chance(FROM + 1, fine).T
    titles = "untrained", f"after {moments()[-1]:,} training steps"
    _, axes = plotting.figure(columns=2, height=3.2, share_y=True)
    for ax, title, (spreads, keys, chance) in zip(axes, titles, found, strict=True):
        ax.fill_between(fine, *band, color=plotting.GRID, linewidth=0)
        wider, narrower = outside(keys, chance)
        inks = (
            (~(wider | narrower), plotting.INK),
            (wider, plotting.ROLES["value"]),
            (narrower, plotting.ROLES["key"]),
        )
        for some, color in inks:
            ax.plot(spreads[some], keys[some], "o", color=color, markersize=5.5)
        ax.text(9, 25, "more even", ha="right", color=plotting.ROLES["value"])
        ax.text(0.35, 1.1, "sharper", color=plotting.ROLES["key"])
        ax.set_title(title)
        ax.set(xscale="log", xlim=(0.3, 10), xlabel="spread of a head's scores")
        ax.set(yscale="log", ylim=(0.9, 40))
        for set_ticks, ticks in (
            (ax.set_xticks, (0.5, 1, 2, 5)),
            (ax.set_yticks, (1, 2, 5, 10, 20)),
        ):
            set_ticks(ticks, map(str, ticks))
        ax.minorticks_off()
    spreads, keys, _ = found[-1]
    shown = spreads.view(scores.shape[1:3])[SHOWN]
    pair = (spreads / shown).log().abs().argsort()[:2]
    axes[1].plot(spreads[pair], keys[pair], color=plotting.INK, linewidth=1.6)
    for spread, looks in zip(spreads[pair].tolist(), keys[pair].tolist(), strict=True):
        axes[1].text(1.1 * spread, looks, f"{looks:.1f}", va="center")
    axes[0].set_ylabel("characters that it looks at")
