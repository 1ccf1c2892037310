"""What is stored of the gradients' worth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from sdpa_book.writing.measured import Measured, mean_and_error

STORED = Path(__file__).parent / "results" / "worth.json"
"""The figures that come with the book."""

Figures = dict[str, list[Any]]
"""By name one entry for each seed: a number, or a list of them."""


def load_worth(path: Path = STORED) -> dict[str, Any]:
    """The stored figures: ``provenance``, and by question and model what ``run.py`` measures.

    Example:
        >>> worth = load_worth()["start"]["recall 32, d_k 64, none"]
        >>> len(worth["agreement"])
        10
    """
    stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return stored


def mean(figures: Figures, name: str, place: int | None = None) -> Measured:
    """The mean of a figure over seeds; of a list, of its entry at a place."""
    values = [value if place is None else value[place] for value in figures[name]]
    return mean_and_error(torch.tensor(values, dtype=torch.float64))


def shared(figures: Figures) -> Measured:
    """The length of what the gradients of all batches share: the root of their mean product.

    Example:
        >>> print(shared({"shared": [0.03, 0.05, 0.04, 0.04]}))
        0.200 ± 0.010
    """
    product = mean(figures, "shared")
    length = product.value**0.5
    return Measured(length, product.error / (2 * length))
