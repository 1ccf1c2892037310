"""What is stored of released models."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sdpa_lib._checks import unknown_name

STORED = Path(__file__).parent / "results" / "published.json"
"""The figures that come with the book."""

Costs = dict[str, tuple[float, float]]
"""By divisor the mean over passages, and its standard error."""


@dataclass(frozen=True)
class Reading:
    """What a model's heads do on a text.

    Attributes:
        figures: by name (layers, heads), float64, as
            :func:`~sdpa_book.studies.published.look.token_figures` gives them.
        errors: the standard errors of some, from passage to passage.
        watched: what :func:`sdpa_lib.watch <sdpa_lib.watching.watch>` saw, of all rows.
    """

    figures: dict[str, Tensor]
    errors: dict[str, Tensor]
    watched: dict[str, Tensor]


@dataclass(frozen=True)
class Swaps:
    """What other divisors make of a model: the rise of its loss, or the cosine of an embedding with
    what it was.

    Attributes:
        own: the model's loss, or the cosine of two neighbouring passages.
        as_it_is: of each divisor, and of ``uniform``, where every key has the same weight.
        matched: with one factor a head.
    """

    own: tuple[float, float]
    as_it_is: Costs
    matched: Costs


@dataclass(frozen=True)
class Model:
    """A released model.

    Attributes:
        checks: that it was loaded rightly.
        readings: by text and length, such as ``"prose, 256"``.
        starts: with fresh weights, by their standard deviation, such as ``"0.02"``.
        swaps: by text.
    """

    checks: dict[str, Any]
    readings: dict[str, Reading]
    starts: dict[str, Reading]
    swaps: dict[str, Swaps]


def load_published(path: Path = STORED) -> dict[str, Model]:
    """The stored models by name.

    Raises:
        FileNotFoundError: there is no such file.

    Example:
        >>> model = load_published()["smollm2"]
        >>> model.readings["prose, 256"].figures["sigma"].shape
        torch.Size([30, 9])
    """
    stored = json.loads(path.read_text(encoding="utf-8"))
    stored.pop("provenance")
    return {name: _model(pieces) for name, pieces in stored.items()}


def effective_keys(figures: dict[str, Tensor], *, rest: bool = False) -> tuple[Tensor, Tensor]:
    """Effective keys of each head, 1 over the mean sum of squared weights of its rows, and those of
    normal rows of the same spread.

    Args:
        figures: of a reading, or of chapter 10's own decoders at one moment.
        rest: without the first key.

    Example:
        >>> figures = {"squares": torch.tensor(0.5), "squares_normal": torch.tensor(0.25)}
        >>> effective_keys(figures)
        (tensor(2.), tensor(4.))
    """
    before = "rest_" if rest else ""
    if f"{before}squares" not in figures:
        raise unknown_name("figures", f"{before}squares", figures)
    return 1 / figures[f"{before}squares"], 1 / figures[f"{before}squares_normal"]


def _model(pieces: dict[str, Any]) -> Model:
    readings: dict[str, dict[str, Any]] = {"reading": {}, "start": {}, "swaps": {}}
    for name, piece in pieces.items():
        what, _, rest = name.partition(", ")
        if what == "swaps":
            as_it_is, matched = (
                {x: (v[0], v[1]) for x, v in piece[y].items()} for y in ("as it is", "matched")
            )
            readings[what][rest] = Swaps((piece["own"][0], piece["own"][1]), as_it_is, matched)
        elif what != "checks":
            parts = {
                part: {x: torch.tensor(v, dtype=torch.float64) for x, v in piece[part].items()}
                for part in ("figures", "errors", "watched")
            }
            readings["start" if what == "start" else "reading"][
                rest if what == "start" else name
            ] = Reading(**parts)
    return Model(pieces["checks"], readings["reading"], readings["start"], readings["swaps"])
