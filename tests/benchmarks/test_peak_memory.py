"""The memory that is measured, each time in a new process: here some may be left to reuse."""

from collections.abc import Iterator
from multiprocessing.pool import Pool
from pathlib import Path

import pytest

from benchmarks.costs import memory
from benchmarks.machine import on_gpu
from benchmarks.peak_memory import processes

pytestmark = pytest.mark.skipif(
    on_gpu() or not Path("/proc/self/clear_refs").exists(), reason="counts as Linux does on a CPU"
)


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with processes() as pool:
        yield pool


@pytest.mark.parametrize("d_k", [2**11, 2**12])
def test_it_is_what_a_call_holds_at_its_peak(d_k: int, pool: Pool) -> None:
    pairs = 2 * memory.N_PAIRS * d_k * 8
    needed = pool.apply(memory.sampler_memory, ("NumPy", d_k))
    assert needed == pytest.approx(pairs, rel=0.1)


def test_a_table_of_weights_needs_more_than_none(pool: Pool) -> None:
    n = 2048
    table, fused = (
        pool.apply(memory.attention_memory, (name, n, False)) for name in ("textbook", "torch")
    )
    assert table > 4 * n * n > 4 * fused
