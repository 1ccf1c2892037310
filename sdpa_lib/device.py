"""Which device and dtype the book computes on.

CUDA if there is a device, then Apple's MPS, then the CPU; the environment variable ``SDPA_DEVICE``
overrides the choice.
"""

from __future__ import annotations

import os

import torch

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
        device = os.environ.get(ENVIRONMENT_VARIABLE) or _best_device()
    try:
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError, TypeError, NotImplementedError) as error:
        raise ValueError(
            f"{source} must name a device of this machine (cpu, cuda, mps), got {device!r}: {error}"
        ) from error
    return chosen


def get_dtype(device: str | torch.device | None = None) -> torch.dtype:
    """The dtype the book measures in: float64, or float32 on MPS, which has no float64.

    Double precision keeps the rounding of a few million additions below the digits that a chapter
    prints, so the same text comes out on every machine.

    Example:
        >>> get_dtype("cpu")
        torch.float64
    """
    return torch.float32 if get_device(device).type == "mps" else torch.float64


def _best_device() -> str:
    if torch.cuda.is_available():
        return "cuda"
    if torch.backends.mps.is_available():
        return "mps"
    return "cpu"
