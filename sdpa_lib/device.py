"""Which device things are computed on, and in which dtype.

CUDA if there is a device, then Apple's MPS, then the CPU; the environment variable ``SDPA_DEVICE``
overrides the choice.
"""

from __future__ import annotations

import os
import textwrap

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor

from sdpa_lib._checks import repr_of

ENVIRONMENT_VARIABLE = "SDPA_DEVICE"


def get_device(device: str | torch.device | None = None) -> torch.device:
    """The device to compute on.

    Args:
        device: a device or its name (``"cpu"``, ``"cuda:0"``, ``"mps"``). ``None`` takes what the
            environment variable ``SDPA_DEVICE`` says, and without it CUDA, then MPS, then the CPU.

    Raises:
        ValueError: the name is no device, or this machine has no such device.

    Example:
        >>> get_device("cpu")
        device(type='cpu')
    """
    source = "device"
    if device is None:
        source = f"environment variable {ENVIRONMENT_VARIABLE}"
        device = os.environ.get(ENVIRONMENT_VARIABLE) or _devices()[0]
    try:
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError, TypeError, NotImplementedError) as error:
        raise ValueError(
            f"{source} must name a device of this machine ({', '.join(_devices())}), got "
            f"{repr_of(device)}: {textwrap.shorten(str(error), 300)}"  # it repeats the name
        ) from None
    return chosen


def get_dtype(device: str | torch.device | None = None) -> torch.dtype:
    """The dtype the book measures in: float64, or float32 on MPS, which has no float64.

    Double precision keeps the rounding of a few million additions below the digits that a chapter
    prints, so the same text comes out on every machine.

    Example:
        >>> get_dtype("cpu")
        torch.float64
    """
    return widest_dtype(get_device(device))


def widest_dtype(device: torch.device) -> torch.dtype:
    """float64, or float32 on MPS, which has no float64: what sums over many numbers are made in.

    Unlike :func:`get_dtype` it takes the device as it is, the one on which a tensor lies.

    Example:
        >>> widest_dtype(torch.device("mps"))
        torch.float32
    """
    return torch.float32 if device.type == "mps" else torch.float64


def computation_dtype(dtype: torch.dtype) -> torch.dtype:
    """float32 for the half precisions, and the dtype itself otherwise: what lengths, divisors and
    scores are computed in.

    Example:
        >>> computation_dtype(torch.bfloat16), computation_dtype(torch.float64)
        (torch.float32, torch.float64)
    """
    return torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype


def is_tracing(x: Tensor | None = None) -> bool:
    """Whether what is computed is not only for these values: a graph is being recorded, by
    ``torch.compile``, ``torch.export`` or ``torch.jit.trace``; or ``x`` is a fake tensor, without
    values, as in symbolic tracing.

    Example:
        >>> is_tracing()
        False
    """
    # What .item() gives of a fake tensor may be a symbol, which can't be compared.
    if isinstance(x, FakeTensor) or torch.compiler.is_compiling():
        return True
    return bool(torch.jit.is_tracing())  # type: ignore[attr-defined,no-untyped-call]


def peek_range(x: Tensor) -> tuple[float, float] | None:
    """The smallest and the largest number of a tensor where looking at them is free, on the CPU;
    ``None`` on other devices, where there is no number, and where there is no one value: where
    :func:`is_tracing`, under vmap, or in forward mode before PyTorch 2.13.

    Example:
        >>> peek_range(torch.tensor([3.0, 1.0, 2.0]))
        (1.0, 3.0)
    """
    if not x.is_cpu or x.numel() == 0 or is_tracing(x):
        return None
    try:
        smallest, largest = (x.detach() if x.requires_grad else x).aminmax()
        return smallest.item(), largest.item()
    except RuntimeError:
        return None


def _devices() -> list[str]:
    """What this machine has, the best first."""
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    return [*(name for name, is_there in there.items() if is_there), "cpu"]
