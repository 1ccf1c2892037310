"""The checks: small named functions, each of which recomputes one thing that sources say.

A public function of a module here is a check. It takes what the row gives and returns a
:class:`~sdpa_lib.book.ledger.Finding`. Every draw is made and computed on the CPU in float64, so
that the figures are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import isfunction
from types import ModuleType

from sdpa_lib.book.ledger._verdict import Finding
from sdpa_lib.book.ledger.checks import (
    blending,
    depth,
    growth,
    initialisation,
    saturation,
    shape_kept,
    shapes,
    softmaxes,
    training,
)


def by_name(*modules: ModuleType) -> dict[str, Callable[..., Finding]]:
    """The checks of some modules by name.

    Raises:
        ValueError: two modules have a check of one name.
    """
    checks: dict[str, Callable[..., Finding]] = {}
    for module in modules:
        for name, function in vars(module).items():
            here = isfunction(function) and function.__module__ == module.__name__
            if not here or name.startswith("_"):
                continue
            if name in checks:
                raise ValueError(
                    f"checks must have names of their own, got {name} in {checks[name].__module__} "
                    f"and {module.__name__}"
                )
            checks[name] = function
    return checks


CHECKS = by_name(
    shapes,
    growth,
    softmaxes,
    saturation,
    blending,
    initialisation,
    shape_kept,
    depth,
    training,
)
"""The checks by name, as ``claims.toml`` calls them."""
