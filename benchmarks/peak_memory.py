"""The memory that a call needs at its peak, each measured in a process of its own."""

from __future__ import annotations

import multiprocessing
import re
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.pool import Pool
from pathlib import Path

import torch

from benchmarks.machine import on_gpu
from benchmarks.timing import Contestant


@contextmanager
def processes() -> Iterator[Pool]:
    """Runs each call in a process of its own, forked from one that has calculated nothing: no
    memory that an earlier call left. A GPU's memory is counted by PyTorch, and one process is
    enough.
    """
    context = multiprocessing.get_context("spawn" if on_gpu() else "forkserver")
    context.set_forkserver_preload(["benchmarks.costs", "benchmarks.watching"])
    with context.Pool(1, maxtasksperchild=None if on_gpu() else 1) as pool:
        yield pool


def extra_memory(run: Contestant, small: Contestant) -> float:
    """Bytes that a call needs at its peak beyond what is there before it."""
    small()  # threads and code pages are there from now on
    if on_gpu():
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        run()
        return torch.cuda.max_memory_allocated() - before
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the high water starts anew
    before = resident("VmRSS")
    output = run()
    after = resident("VmHWM")
    del output
    return after - before


def resident(field: str) -> int:
    """Bytes of this process that lie in memory, as Linux counts them."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    size = re.search(rf"{field}:\s*(\d+) kB", status)
    assert size is not None
    return int(size[1]) * 1024
