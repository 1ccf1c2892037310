"""What is no difference: two ways to one number agree but for rounding."""

from __future__ import annotations

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
