"""What is stored of the steps, and by which power of the width it grows."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from sdpa_book.writing.measured import Measured

STORED = Path(__file__).parent / "results" / "steps.json"
"""The figures that come with the book."""


def load_steps(path: Path = STORED) -> dict[str, Any]:
    """The stored figures: ``provenance``, and by optimiser and power ``moves``, ``first steps``,
    ``rates``, ``rates from zero`` and ``many tokens``, the tables of ``plan.toml``, as ``run.py``
    gives them.

    Example:
        >>> load_steps()["provenance"]["settings"]["steps"]
        100
    """
    stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return stored


def exponent(widths: Sequence[int], values: Sequence[Sequence[float]]) -> Measured:
    """The power of the width by which something grows: the slope of its logarithm, by least
    squares, and the standard error of the mean over seeds.

    Args:
        widths: at least 2.
        values: for each of 2 or more seeds one number greater than 0 for each width.

    Example:
        >>> exponent((1, 10), [(1.0, 100.0), (1.0, 10.0)])
        Measured(value=1.5, error=0.5)
    """
    log_width = torch.tensor(widths, dtype=torch.float64).log()
    log_value = torch.tensor(values, dtype=torch.float64).log()
    centred = log_width - log_width.mean()
    slopes = log_value @ centred / centred.square().sum()
    return Measured(slopes.mean().item(), slopes.std().item() / math.sqrt(len(slopes)))
