"""Which runs a study consists of: its questions, as a file of comparisons, and the rule by which
learning rates are chosen.

The rule. Seeds from ``CHOOSING`` on choose, and report nothing. Each rate of a comparison is tried
with all of them; the best is the one with the smallest sum of times to learn, where a censored run
counts with the step at which it was censored, and among rates at which nothing learned the one with
the lowest loss at the end. As long as the best stands at an edge of what was tried, one more rate
beyond is. The best rate then gets the seeds that report.

Rates are tried from the middle outwards, and a run is given up once its rate cannot win any more:
when it alone has taken as many steps as all runs of the best rate so far together. The rate chosen
is the same as without this.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from sdpa_book.studies.training.model import check_scaling
from sdpa_book.studies.training.study import Cell, Record, Run
from sdpa_book.studies.training.tasks import CHOOSING, TASKS
from sdpa_lib._checks import check_count, unknown_name

DECLARED = Path(__file__).parent / "study.toml"
"""The comparisons of the book's study."""


@dataclass(frozen=True)
class Comparison:
    """One question of a study: scalings that are compared in a cell.

    Attributes:
        name: what it is called.
        question: in words.
        cell: what all its runs share.
        scalings: what is compared.
        contrasts: the scalings whose time to learn is tested against that of ``against``; the
            others, and comparisons without contrasts, are looked at without a test.
        against: the usual one.
        rates: the powers of 10 that are tried as learning rates, ascending and equally spaced; a
            single one is taken as it is.
        limits: the powers beyond which no sweep goes.
        choosing: how many seeds choose a rate, for each fold of the task.
        reporting: how many seeds report.
    """

    name: str
    question: str
    cell: Cell
    scalings: tuple[str, ...]
    contrasts: tuple[str, ...] = ()
    against: str = "sqrt_d_k"
    rates: tuple[float, ...] = (-4.0, -3.5, -3.0, -2.5, -2.0, -1.5, -1.0)
    limits: tuple[float, float] = (-5.0, 0.5)
    choosing: int = 2
    reporting: int = 10

    def __post_init__(self) -> None:
        for scaling in self.scalings:
            check_scaling(scaling)
        for scaling in (*self.contrasts, *([self.against] if self.contrasts else [])):
            if scaling not in self.scalings:
                raise unknown_name("contrasts", scaling, self.scalings)
        if not self.rates or list(self.rates) != sorted(set(self.rates)):
            raise ValueError(f"rates must be one or more, ascending, got {self.rates}")
        check_count("choosing", self.choosing)
        check_count("reporting", self.reporting)


class Job(NamedTuple):
    """A run that is to be made, and the step at which it is given up."""

    run: Run
    until: int


def load_comparisons(path: Path = DECLARED) -> dict[str, Comparison]:
    """The comparisons of a study by name, in the order in which they are made.

    Each table of the file names the fields of its :class:`Comparison` and of that one's
    :class:`~sdpa_book.studies.training.study.Cell`; what it leaves out has the default.

    Raises:
        ValueError: a field or a name is not known.

    Example:
        >>> load_comparisons()["recall, d_k 64"].cell.d_k
        64
    """
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    return {name: _comparison(name, table) for name, table in tables.items()}


def _comparison(name: str, table: Mapping[str, Any]) -> Comparison:
    of_cell = {f.name for f in fields(Cell)}
    known = of_cell | {f.name for f in fields(Comparison)} - {"name", "cell"}
    for key in table:
        if key not in known:
            raise unknown_name(f"a field of [{name}]", key, known)
    cell = Cell(**{key: value for key, value in table.items() if key in of_cell})
    own: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in table.items()
        if key not in of_cell
    }
    return Comparison(name=name, cell=cell, **own)


Rates = dict[float, dict[int, Record]]
"""The records of one scaling in a cell, by rate and seed."""


def by_scaling(records: Iterable[Record], cell: Cell) -> dict[str, Rates]:
    """A cell's records by scaling, rate and seed, rates ascending."""
    table: dict[str, Rates] = {}
    for record in records:
        if (run := record.run).cell == cell:
            table.setdefault(run.scaling, {}).setdefault(run.rate, {})[run.seed] = record
    return {name: dict(sorted(rates.items())) for name, rates in table.items()}


def plan(records: Iterable[Record], comparisons: Iterable[Comparison]) -> list[Job]:
    """The runs that can be made next, given those made: none when the study is complete."""
    made: dict[tuple[Cell, str], Rates] = {}
    for record in records:
        run = record.run
        made.setdefault((run.cell, run.scaling), {}).setdefault(run.rate, {})[run.seed] = record
    jobs: dict[Run, Job] = {}
    for comparison in comparisons:
        for scaling in comparison.scalings:
            for fold in range(TASKS[comparison.cell.task].n_folds):
                rates = made.get((comparison.cell, scaling), {})
                for rate, seed, until in _next(comparison, rates, fold):
                    run = Run(comparison.cell, scaling, rate, seed)
                    jobs.setdefault(run, Job(run, until))
    return list(jobs.values())


def best_rate(comparison: Comparison, rates: Rates, fold: int = 0) -> float | None:
    """The rate that the rule chooses for a fold, and ``None`` while the sweep is not complete."""
    complete, waiting = _sweep(comparison, rates, fold)
    return None if waiting else _best(complete)


def _next(comparison: Comparison, rates: Rates, fold: int) -> list[tuple[float, int, int]]:
    """The (rate, seed, until) that one scaling needs next for a fold."""
    complete, waiting = _sweep(comparison, rates, fold)
    if waiting:
        return waiting
    best, n_folds = _best(complete), TASKS[comparison.cell.task].n_folds
    return [
        (best, seed, comparison.cell.budget)
        for seed in range(comparison.reporting)
        if seed % n_folds == fold and seed not in rates.get(best, {})
    ]


def _sweep(
    comparison: Comparison, rates: Rates, fold: int
) -> tuple[dict[float, list[Record]], list[tuple[float, int, int]]]:
    """The choosing runs by rate, of the rates that have them all, and the (rate, seed, until) that
    are needed next.
    """
    budget, choosing = comparison.cell.budget, _choosing(comparison, fold)
    middle = sum(comparison.rates) / len(comparison.rates)
    to_try = sorted(comparison.rates, key=lambda rate: (abs(rate - middle), rate))
    complete: dict[float, list[Record]] = {}
    while to_try:
        rate = to_try.pop(0)
        made, until = rates.get(rate, {}), _until(complete, budget)
        if waiting := [(rate, seed, until) for seed in choosing if seed not in made]:
            return complete, waiting
        complete[rate] = [made[seed] for seed in choosing]
        if not to_try:
            beyond = _beyond(comparison, _best(complete), sorted(complete))
            to_try = [] if beyond is None else [beyond]
    return complete, []


def _choosing(comparison: Comparison, fold: int) -> list[int]:
    n_folds = TASKS[comparison.cell.task].n_folds
    return [CHOOSING + fold + n_folds * i for i in range(comparison.choosing)]


def _best(complete: Mapping[float, Sequence[Record]]) -> float:
    """The best of the rates that have all their runs."""

    def key(rate: float) -> tuple[float, float, float]:
        runs = complete[rate]
        # a censored run took longer than one that learned at the same step
        times = sum(r.time + (r.learned_at is None) for r in runs)
        return times, sum(r.loss for r in runs), rate

    return min(complete, key=key)


def _until(complete: Mapping[float, Sequence[Record]], budget: int) -> int:
    """When a further run is given up."""
    if not complete:
        return budget
    return min(budget, sum(record.time for record in complete[_best(complete)]))


def _beyond(comparison: Comparison, best: float, tried: Sequence[float]) -> float | None:
    """The rate to try next where the best stands at an edge; a single rate is given, not chosen."""
    if len(comparison.rates) == 1:
        return None
    step = comparison.rates[1] - comparison.rates[0]
    low, high = comparison.limits
    further = best - step if best == tried[0] else best + step if best == tried[-1] else None
    return further if further is not None and low <= further <= high else None
