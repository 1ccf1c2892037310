"""Argument checks shared by the modules: each names the argument, what came and what was expected.

Checks look at types, shapes and parameters. Only ``check_finite`` looks at values; only functions that measure or plot call it.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable

import torch
from torch import Tensor


def check_tensor(name: str, value: object, *, min_dim: int = 1, shape: str = "") -> Tensor:
    """Return ``value`` if it is a floating-point tensor of at least ``min_dim`` dimensions."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(value).__name__}")
    if not value.is_floating_point():
        raise TypeError(f"{name} must have a floating-point dtype, got {value.dtype}")
    if value.dim() < min_dim:
        expected = shape or f"at least {min_dim} dimensions"
        raise ValueError(f"{name} must have shape {expected}, got {tuple(value.shape)}")
    return value


def check_finite(name: str, value: Tensor) -> Tensor:
    """Return ``value`` if it is not empty and holds neither NaN nor infinity."""
    if value.numel() == 0:
        raise ValueError(f"{name} must hold at least one value, got shape {tuple(value.shape)}")
    if not bool(torch.isfinite(value).all()):
        raise ValueError(f"{name} must be finite, got NaN or infinity")
    return value


def check_count(name: str, value: object, *, minimum: int = 1) -> int:
    """Return ``value`` if it is a whole number of at least ``minimum``."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an int, got {type(value).__name__}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value}")
    return value


def check_number(name: str, value: object, *, above: float = -math.inf, minimum: float = -math.inf) -> float:
    """Return ``value`` as a finite float greater than ``above`` and at least ``minimum``."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number, got {type(value).__name__}")
    if not math.isfinite(value) or value <= above or value < minimum:
        bound = f" greater than {above:g}" if above > -math.inf else ""
        bound = f" of at least {minimum:g}" if minimum > -math.inf else bound
        raise ValueError(f"{name} must be a finite number{bound}, got {value}")
    return float(value)


def unknown_name(argument: str, name: object, known: Iterable[str]) -> ValueError:
    """The error for a name that is not in a registry, with the nearest names suggested."""
    names = list(known)
    near = difflib.get_close_matches(str(name), names, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    return ValueError(f"{argument} {name!r} is not known.{hint} Known names: {', '.join(names)}")
