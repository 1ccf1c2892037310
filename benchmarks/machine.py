"""The machine that is measured: its device, its threads, and what it is called."""

from __future__ import annotations

import functools
import math
import os
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from sdpa_lib.device import get_device


@functools.cache
def device() -> torch.device:
    """Where everything is computed; asked for late, so that to import this starts no GPU."""
    return get_device()


def on_gpu() -> bool:
    """Whether that is a GPU, where a call returns before it is done."""
    return device().type == "cuda"


def working_dtype() -> torch.dtype:
    """What is usual on the device."""
    return torch.bfloat16 if on_gpu() else torch.float32


def dtype_name(dtype: torch.dtype) -> str:
    """As results and tables have it.

    Example:
        >>> dtype_name(torch.bfloat16)
        'bfloat16'
    """
    return str(dtype).removeprefix("torch.")


def thread_counts() -> list[int]:
    """The numbers of threads to compare with: one, two and all of a CPU; the last is all."""
    every = torch.get_num_threads()
    return [every] if on_gpu() else sorted({1, min(2, every), every})


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Computes with this number of threads, and afterwards with as many as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def in_words(count: int | str) -> str:
    """A number of threads.

    Example:
        >>> in_words(1), in_words("2")
        ('1 thread', '2 threads')
    """
    return f"{count} thread{'s' if int(count) > 1 else ''}"


def device_name() -> str:
    """The GPU's name, or the processor's with the number of its threads."""
    if on_gpu():
        return torch.cuda.get_device_name(device())
    cpu = Path("/proc/cpuinfo")
    model = re.search(r"model name\s*: (.*)", cpu.read_text("utf-8")) if cpu.exists() else None
    name = (
        re.sub(r"\((R|TM)\)", "", model[1]).strip()
        if model
        else platform.processor() or platform.machine()
    )
    return f"{name}, {in_words(torch.get_num_threads())}"


def description() -> dict[str, object]:
    """What results begin with: what they were measured on, and how busy it was."""
    return {
        "device": device_name(),
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else math.nan,
    }
