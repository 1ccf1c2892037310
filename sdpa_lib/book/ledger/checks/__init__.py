"""The checks: small named functions, each of which recomputes one thing that sources say.

A public function of a module here is a check. It takes what the row gives and returns a
:class:`~sdpa_lib.book.ledger.Finding`. Every draw is made and computed on the CPU in float64, so
that the figures are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import isfunction

from sdpa_lib.book.ledger._verdict import Finding
from sdpa_lib.book.ledger.checks import (
    blending,
    growth,
    initialisation,
    saturation,
    shape_kept,
    shapes,
    softmaxes,
    training,
)

CHECKS: dict[str, Callable[..., Finding]] = {
    name: function
    for module in (
        shapes,
        growth,
        softmaxes,
        saturation,
        blending,
        initialisation,
        shape_kept,
        training,
    )
    for name, function in vars(module).items()
    if isfunction(function) and function.__module__ == module.__name__ and not name.startswith("_")
}
"""The checks by name, as ``claims.toml`` calls them."""
