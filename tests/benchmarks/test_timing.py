"""Who is timed, how often, and what the ratios say; by a clock that the contestants move."""

import statistics
from collections.abc import Callable, Iterable

import pytest
import torch

from benchmarks import machine
from benchmarks.timing import FEWEST, TORCH, compare, compare_by_threads, seconds, timing


class Clock:
    def __init__(self) -> None:
        self.now = 0.0
        self.calls: list[str] = []

    def __call__(self) -> float:
        return self.now

    def contestant(self, name: str, durations: Iterable[float]) -> Callable[[], None]:
        remaining = iter(durations)

        def run() -> None:
            self.calls.append(name)
            self.now += next(remaining)

        return run


def of_five(*durations: float) -> list[float]:
    """The first call is not counted."""
    return [1000.0, *durations]


def test_seconds_are_those_of_the_clock() -> None:
    clock = Clock()
    assert seconds(clock.contestant("a", [2.5]), clock) == 2.5


def test_a_comparison_is_of_the_runs_of_the_same_round() -> None:
    clock = Clock()
    contestants = {
        "base": clock.contestant("base", of_five(1, 2, 4, 8, 16)),
        "twice": clock.contestant("twice", of_five(2, 4, 8, 16, 32)),
        "uneven": clock.contestant("uneven", of_five(16, 8, 4, 2, 1)),
    }
    comparison = compare(contestants, "base", 0.0, clock)
    assert list(comparison) == ["base", "twice", "uneven"]
    twice, uneven = comparison["twice"], comparison["uneven"]
    assert (twice["ratio_low"], twice["ratio"], twice["ratio_high"]) == (2.0, 2.0, 2.0)
    assert (twice["seconds"], twice["more"], twice["rounds"]) == (8.0, 4.0, FEWEST)
    ratios = statistics.quantiles([16.0, 4.0, 1.0, 0.25, 0.0625], n=4)
    assert [uneven["ratio_low"], uneven["ratio"], uneven["ratio_high"]] == ratios
    more = statistics.quantiles([15.0, 6.0, 0.0, -6.0, -15.0], n=4)
    assert [uneven["more_low"], uneven["more"], uneven["more_high"]] == more
    assert comparison["base"]["ratio"] == 1.0
    assert comparison["base"]["more"] == 0.0


def test_rounds_go_on_for_the_budget() -> None:
    clock = Clock()
    names = ("a", "b")
    contestants = {name: clock.contestant(name, [1.0] * 100) for name in names}
    comparison = compare(contestants, "a", 17.0, clock)
    assert comparison["b"]["rounds"] == 9  # a round takes two seconds
    assert sorted(clock.calls) == ["a"] * 10 + ["b"] * 10  # with one that is not counted


def test_nobody_is_always_first() -> None:
    clock = Clock()
    contestants = {name: clock.contestant(name, [1.0] * 100) for name in ("a", "b", "c")}
    compare(contestants, "a", 100.0, clock)
    assert set(clock.calls[3::3]) == {"a", "b", "c"}


def test_quartiles_need_the_same_number_of_runs() -> None:
    with pytest.raises(ValueError, match="shorter"):
        timing([1.0, 2.0, 3.0], [1.0, 2.0])


def test_each_number_of_threads_has_its_comparison() -> None:
    before = torch.get_num_threads()
    met = []

    def run() -> None:
        met.append((torch.get_num_threads(), torch.is_grad_enabled()))

    comparisons = compare_by_threads(lambda: {TORCH: run}, 0.0, [1, 2])
    assert list(comparisons) == ["1", "2"]
    assert met == [(1, False)] * (FEWEST + 1) + [(2, False)] * (FEWEST + 1)
    assert torch.get_num_threads() == before


def test_the_number_of_threads_comes_back_after_an_error() -> None:
    before = torch.get_num_threads()
    with pytest.raises(ZeroDivisionError), machine.threads(before + 1):
        raise ZeroDivisionError
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(("every", "counts"), [(1, [1]), (2, [1, 2]), (16, [1, 2, 16])])
def test_a_cpu_is_measured_with_one_two_and_all_threads(
    every: int, counts: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "on_gpu", lambda: False)
    monkeypatch.setattr(torch, "get_num_threads", lambda: every)
    assert machine.thread_counts() == counts
    monkeypatch.setattr(machine, "on_gpu", lambda: True)
    assert machine.thread_counts() == [every]
