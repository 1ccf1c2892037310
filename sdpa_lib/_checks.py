"""Argument checks shared by the modules: each names the argument, what came and what was expected.

Checks look at types, shapes and parameters. Only ``check_finite`` looks at values; only functions
that measure or plot call it.
"""

from __future__ import annotations

import difflib
import math
import numbers
import reprlib
from collections.abc import Iterable

import torch
from torch import Tensor

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 60
_SHORT.maxtuple = _SHORT.maxlist = _SHORT.maxdict = 12


def repr_of(value: object) -> str:
    """``value`` as an error shows it: its repr, of which the middle is left out if it is long."""
    return _SHORT.repr(value)


def type_of(value: object) -> str:
    """The name of a value's type as an error shows it: NumPy's, whose ``bool`` is not Python's,
    with its module.
    """
    kind = type(value)
    return f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__


COMPUTED_IN = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
"""The dtypes in which PyTorch computes: of an eighth precision it only stores numbers."""


def check_tensor(name: str, value: object, *, min_dim: int = 1, shape: str = "") -> Tensor:
    """Return ``value`` if it is a floating-point tensor of at least ``min_dim`` dimensions."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type_of(value)}")
    if value.is_nested:
        raise TypeError(f"{name} must be a dense tensor, got a nested one")
    if not value.is_floating_point():
        raise TypeError(f"{name} must have a floating-point dtype, got {value.dtype}")
    if value.dtype not in COMPUTED_IN:
        *others, last = (str(dtype) for dtype in COMPUTED_IN)
        raise TypeError(
            f"{name} must have dtype {', '.join(others)} or {last}, got {value.dtype}, in which "
            "PyTorch only stores numbers"
        )
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
        raise TypeError(f"{name} must be an int, got {type_of(value)}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value}")
    return value


def check_number(
    name: str, value: object, *, above: float = -math.inf, minimum: float = -math.inf
) -> float:
    """Return ``value`` as a finite float greater than ``above`` and at least ``minimum``."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number, got {type_of(value)}")
    # Compared, not given to math.isfinite: torch.compile may have a symbol for the number.
    if not -math.inf < value < math.inf or value <= above or value < minimum:
        bound = f" greater than {above:g}" if above > -math.inf else ""
        bound = f" of at least {minimum:g}" if minimum > -math.inf else bound
        raise ValueError(f"{name} must be a finite number{bound}, got {value}")
    return float(value)


def as_number(name: str, value: object) -> float:
    """A finite number that may also come as NumPy's or as a tensor without dimensions, as PyTorch
    takes it.
    """
    if not isinstance(value, (int, float)):
        if isinstance(value, Tensor) and value.dim() == 0 and not value.requires_grad:
            value = value.item()
        elif isinstance(value, numbers.Real):
            value = float(value)
    return check_number(name, value)


def check_query_key(query: Tensor, key: Tensor) -> None:
    """Refuse queries and keys of which no dot products can be taken."""
    check_tensor("query", query, min_dim=2, shape="(..., L, d_k)")
    check_tensor("key", key, min_dim=2, shape="(..., S, d_k)")
    if query.dtype != key.dtype:
        raise TypeError(
            f"query and key must have the same dtype, got {query.dtype} and {key.dtype}"
        )
    if query.device != key.device:
        raise ValueError(
            f"query and key must be on the same device, got {query.device} and {key.device}"
        )
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            f"query and key must share their last dimension d_k, got {tuple(query.shape)} and "
            f"{tuple(key.shape)}"
        )


def check_value(key: Tensor, value: Tensor) -> None:
    """Refuse values that do not go with these keys."""
    check_tensor("value", value, min_dim=2, shape="(..., S, Ev)")
    if value.dtype != key.dtype:
        raise TypeError(f"value must have the dtype of key, {key.dtype}, got {value.dtype}")
    if value.device != key.device:
        raise ValueError(f"value must be on the device of key, {key.device}, got {value.device}")
    if value.shape[-2] != key.shape[-2]:
        raise ValueError(
            f"value must hold one row per key, S = {key.shape[-2]}, got {tuple(value.shape)}"
        )


def scales_itself(module: object, scaling: float | None) -> bool:
    """Whether a module of Hugging Face Transformers that passes ``scaling`` to its attention has
    scaled its queries before.
    """
    config = getattr(module, "config", None)
    own = getattr(module, "scaling", None)
    by_position = (
        (getattr(module, "attn_temperature_tuning", False) and not module.use_rope)  # type: ignore[attr-defined]
        or (getattr(config, "rope_parameters", None) or {}).get("llama_4_scaling_beta")
        or getattr(config, "log_scaling_n_floor", None)
    )
    differs = own is not None and scaling is not None
    return bool(by_position or (differs and (isinstance(own, Tensor) or own != scaling)))


def fit_at_a_glance(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether they are what is usually given: tensors of no other class, of one dtype, device and
    batch. Then :func:`check_query_key` and :func:`check_value` have nothing to say, which take
    longer than this.
    """
    if not type(query) is type(key) is type(value) is Tensor:
        return False
    if query.is_nested or key.is_nested or value.is_nested:  # they have no shape to look at
        return False
    if not query.dim() == key.dim() == value.dim() >= 2:
        return False
    *of_query, _, d_k = query.shape
    *of_key, n_keys, width = key.shape
    *of_value, rows, _ = value.shape
    return (
        query.dtype == key.dtype == value.dtype
        and query.dtype in COMPUTED_IN
        and query.device == key.device == value.device
        and of_query == of_key == of_value
        and d_k == width
        and n_keys == rows
    )


def unknown_name(
    argument: str, name: object, known: Iterable[str], meant: str | None = None
) -> ValueError:
    """The error for a name that is not in a registry, with the nearest names suggested, or the one
    that is ``meant``.
    """
    names = list(known)
    # difflib would read all of a long name, and no known name is near to one
    near = [meant] if meant else difflib.get_close_matches(str(name)[:200], names, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    return ValueError(
        f"{argument} {repr_of(name)} is not known.{hint} Known names: {', '.join(names)}"
    )
