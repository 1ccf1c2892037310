"""The checks: small named functions, each of which recomputes one thing that sources say.

A public function of a module here is a check. It takes what the row gives and returns a
:class:`~sdpa_book.ledger.Finding`. Every draw is made and computed on the CPU in float64, so
that the figures are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import isfunction
from types import ModuleType

from sdpa_book.ledger.checks import (
    blending_checks,
    depth_checks,
    growth_checks,
    initialisation_checks,
    saturation_checks,
    shape_kept_checks,
    shapes_checks,
    softmaxes_checks,
    training_checks,
)
from sdpa_book.ledger.verdict import Finding


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
    shapes_checks,
    growth_checks,
    softmaxes_checks,
    saturation_checks,
    blending_checks,
    initialisation_checks,
    shape_kept_checks,
    depth_checks,
    training_checks,
)
"""The checks by name, as ``claims.toml`` calls them."""
