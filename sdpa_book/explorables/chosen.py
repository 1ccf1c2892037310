"""What a reader chooses for all figures of a page that share it: a width and a divisor."""

from __future__ import annotations

import sdpa_lib as sdpa

WIDTHS = (4, 8, 16, 32, 64, 128, 256)
"""Of the head, d_k."""
DIVISORS = ("none", "sqrt_d_k", "d_k")
"""By their names among the rescalings."""


def divisor(name: str, d_k: int) -> float:
    """One of ``DIVISORS`` at a width.

    Example:
        >>> [divisor(name, 64) for name in DIVISORS]
        [1.0, 8.0, 64.0]
    """
    c = sdpa.RESCALINGS[name].constant(d_k)
    assert c is not None, f"{name} depends on keys"
    return c
