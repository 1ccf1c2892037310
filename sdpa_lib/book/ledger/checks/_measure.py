"""What the checks share: differences, means and medians with their errors."""

from __future__ import annotations

import math

from torch import Tensor

ROUNDING = 1e-7
"""Two ways to one number in float64 differ by less; what is below counts as 0, so that the ledger
reads the same everywhere.
"""


def difference(first: Tensor | float, second: Tensor | float) -> float:
    """The largest absolute difference; 0 where it is no more than rounding."""
    gap = first - second
    largest = gap.abs().max().item() if isinstance(gap, Tensor) else abs(gap)
    return largest if largest > ROUNDING else 0.0


def mean_and_error(values: Tensor) -> tuple[float, float]:
    """The mean of independent values and its standard error."""
    return values.mean().item(), values.std().item() / math.sqrt(len(values))


def median_and_error(values: Tensor) -> tuple[float, float]:
    """The median, and its standard error from the values one standard deviation of the rank to
    either side.
    """
    ordered = values.flatten().sort().values
    n = len(ordered)
    step = math.sqrt(n) / 2
    low, high = ordered[math.floor(n / 2 - step)], ordered[math.ceil(n / 2 + step)]
    return ordered[n // 2].item(), ((high - low) / 2).item()


def ratio(first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float]:
    """The ratio of two independent figures, each given with its standard error."""
    (a, a_error), (b, b_error) = first, second
    return a / b, abs(a / b) * math.hypot(a_error / a, b_error / b)
