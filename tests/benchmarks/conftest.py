"""Every benchmark on inputs so small that all of them take a second or two."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import torch

from benchmarks import costs, watching
from benchmarks.costs import attention, caches, limits, memory, others, short, simulation
from benchmarks.reports import Parts, Report
from benchmarks.timing import Contestant
from benchmarks.watching import equality, shares, speed, training
from benchmarks.watching import memory as watching_memory

SHAPE = (2, 2, 16, 8)
MASKS = {"mask of a batch": (SHAPE, (2, 1, 16, 16)), "padding mask": (SHAPE, (2, 1, 1, 16))}
CASES = attention.cases(layer=SHAPE, masks=MASKS, cache=SHAPE, long=SHAPE)

COSTS: Parts = {
    "limits": lambda budget: limits.measure(n_bytes=2**10, width=8),
    "attention": partial(attention.measure, of=CASES),
    "caches": partial(caches.measure, caches={"2 heads": SHAPE}),
    "short": partial(short.measure, shapes=[SHAPE, (1, 2, 8, 8)]),
    "others": partial(others.measure, shape=SHAPE),
    "memory": lambda budget: memory.measure((1, 1, 64, 64), MASKS, [64], [8]),
    "simulation": partial(simulation.measure, dimensions=[4, 2**22], n_pairs=64),
}
WATCHING: Parts = {
    "memory": lambda budget: watching_memory.measure((1, 2, 64, 8)),
    "equality": lambda budget: equality.measure(SHAPE),
    "speed": partial(speed.measure, shapes=[SHAPE, (1, 2, 8, 8)]),
    "shares": partial(shares.measure, rows=4, n=16),
    "training": partial(
        training.measure, sizes=training.Sizes(layers=1, heads=2, width=8, tokens=16)
    ),
}


class ThisProcess:
    """Instead of a process for each measurement, which takes a while to start."""

    def __enter__(self) -> "ThisProcess":
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def apply(self, function: Callable[..., object], arguments: tuple[object, ...]) -> object:
        return function(*arguments)


def any_memory(run: Contestant, small: Contestant) -> int:
    """Makes both calls, and says that they need something."""
    small()
    run()
    return 4096


@pytest.fixture(scope="session")
def reports() -> Iterator[dict[str, Report]]:
    """Both, of the tiny benchmarks, in this process and without what compiles C++ or asks Linux."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (memory, watching_memory):
            patch.setattr(module, "processes", ThisProcess)
            patch.setattr(module, "extra_memory", any_memory)
        patch.setattr(torch, "compile", partial(torch.compile, backend="eager"))
        yield {
            "costs": costs.REPORT._replace(
                parts=COSTS, measure=partial(costs.measure, parts=COSTS)
            ),
            "watching": watching.REPORT._replace(
                parts=WATCHING, measure=partial(watching.measure, parts=WATCHING)
            ),
        }


@pytest.fixture(scope="session")
def results(reports: dict[str, Report]) -> dict[str, dict[str, Any]]:
    """What both find, by report."""
    return {name: report.measure(report.parts, 0.0) for name, report in reports.items()}
