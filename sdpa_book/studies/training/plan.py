"""What the training study declares before a run is made: which model on which task, what is
measured, and by which rule learning rates are chosen. ``plan.toml`` holds its questions. The study
takes about eleven hours on one core.

**Time to learn**: the first step, of those at which a model is measured, from which on it answers
``LEARNED`` of the held-out questions for ``STAY`` steps in a row. A run that has not learned within
its budget is censored there: it did not learn *by then*, and more is not known of it.

**Blow-up**: after the learning rate has warmed up, a training loss of more than ``LOSS_BOUND``
times that of guessing, a gradient whose norm is above ``GRADIENT_BOUND``, or a loss that is no
number. It is looked for at every step, and counted apart from the time to learn: a run may blow up
and learn.

**The rule.** Seeds from ``CHOOSING`` on choose, and report nothing. Each rate of a comparison is
tried with all of them; the best is the one with the smallest sum of times to learn, where a
censored run counts with the step at which it was censored, and among rates at which nothing learned
the one with the lowest loss at the end. As long as the best stands at an edge of what was tried,
one more rate beyond is. The best rate then gets the seeds that report.

Rates are tried from the middle outwards, and a run is given up once its rate cannot win any more:
when it alone has taken as many steps as all runs of the best rate so far together. The rate chosen
is the same as without this.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from sdpa_book.calculations.initialisation import STARTS
from sdpa_book.studies.making import load_tables
from sdpa_book.studies.tasks import CHOOSING, TASKS, Task
from sdpa_book.studies.transformer import BRANCHES, NORMS
from sdpa_lib._checks import check_count, unknown_name

DECLARED = Path(__file__).with_name("plan.toml")
"""The comparisons of the book's study."""
TAKES = "about eleven hours"

LEARNED = 0.9
"""The share of held-out questions that a model answers once it has learned."""
STAY = 200
"""For how many steps it has to stay there, unless a cell says otherwise."""
EVERY = 20
"""Steps from one measurement to the next, unless a cell says otherwise."""
WARM_UP = 20
"""Steps over which the learning rate rises from zero, unless a cell says otherwise."""
LOSS_BOUND = 2.0
"""A training loss of so many times that of guessing is a blow-up."""
GRADIENT_BOUND = 1000.0
"""A gradient of a larger norm is a blow-up."""

OPTIMISERS = ("adam", "sgd", "momentum")


@dataclass(frozen=True)
class Cell:
    """What all runs share that are compared with each other.

    Attributes:
        task: a name in ``TASKS``.
        d_k, d_model, n_heads, n_layers, norm, branch: of the model.
        optimiser: ``"adam"``, ``"sgd"``, or ``"momentum"``, which is SGD with a momentum of 0.9.
        clip: gradients of a larger norm are shortened to it; ``None`` leaves them.
        other_rate: the learning rate, as a power of 10, of all parameters but W_Q and W_K, whose
            own is then the run's; ``None`` gives the run's to all.
        start: a name in :data:`~sdpa_book.calculations.initialisation.STARTS`, how matrices start.
        warm_up: steps over which the learning rate rises from zero; 0 makes the first a whole one.
        every: steps from one measurement to the next, a divisor of ``EVERY``.
        stay: for how many steps a model has to stay there that has learned.
        budget: steps until a run that has not learned is given up.
        whole: a run that reports goes on to its budget after it has learned.
        batch: sequences in a training batch; ``None`` takes the task's number.
    """

    task: str
    d_k: int
    d_model: int = 64
    n_heads: int = 2
    n_layers: int = 2
    norm: str = "pre"
    branch: str = "1"
    optimiser: str = "adam"
    clip: float | None = None
    other_rate: float | None = None
    start: str = "1/inputs"
    warm_up: int = WARM_UP
    every: int = EVERY
    stay: int = STAY
    budget: int = 4000
    whole: bool = False
    batch: int | None = None

    def __post_init__(self) -> None:
        if self.task not in TASKS:
            raise unknown_name("task", self.task, TASKS)
        if self.optimiser not in OPTIMISERS:
            raise unknown_name("optimiser", self.optimiser, OPTIMISERS)
        if self.norm not in NORMS:
            raise unknown_name("norm", self.norm, NORMS)
        if self.start not in STARTS:
            raise unknown_name("start", self.start, STARTS)
        check_count("warm_up", self.warm_up, minimum=0)
        if self.batch is not None:
            check_count("batch", self.batch)
        check_count("stay", self.stay)
        if EVERY % check_count("every", self.every):
            raise ValueError(f"every must divide {EVERY}, got {self.every}")
        if self.branch not in BRANCHES:
            raise unknown_name("branch", self.branch, BRANCHES)

    @property
    def trained_on(self) -> Task:
        """The task, in batches of the cell's size."""
        task = TASKS[self.task]
        if self.batch is None:
            return task
        return replace(task, batch_size=self.batch)  # type: ignore[type-var]  # all are dataclasses


class Run(NamedTuple):
    """One training: a cell, a scaling, a learning rate 10^rate and a seed."""

    cell: Cell
    scaling: str
    rate: float
    seed: int

    @property
    def chooses(self) -> bool:
        """Whether the run helps to choose a learning rate, and reports nothing."""
        return self.seed >= CHOOSING


@dataclass(frozen=True)
class Record:
    """What a run gave.

    Attributes:
        learned_at: the time to learn, and ``None`` where the run is censored.
        censored_at: up to which step it would have counted: the budget, or for a run that chooses
            less, when the rate could not win any more.
        steps: how many were made.
        loss, accuracy: at the last measurement, on what is held out.
        worst_loss: the largest training loss after the warm-up, over that of guessing.
        worst_gradient: the largest norm of the whole gradient after the warm-up.
        finite: no loss was infinite or not a number.
        curves: of a run that reports, one number for each step of ``curve_steps``: ``loss`` and
            ``accuracy`` on what is held out; ``entropy`` of a row of weights as a fraction of ln n
            and ``score_std``, the standard deviation of a row of scores, each averaged over rows,
            heads and layers; ``gradient`` and ``gradient_qk``, the norm of the gradient of all
            parameters and of W_Q and W_K alone.
        tested: accuracy on other lengths, by length and, where it was exchanged after training, by
            rescaling.
        device: what it ran on.
        torch: PyTorch's version there: a cluster may have another than the machine that stores;
            empty where the line of versions before the run is all that says it.
        seconds: how long it took.
    """

    run: Run
    learned_at: int | None
    censored_at: int
    steps: int
    loss: float
    accuracy: float
    worst_loss: float
    worst_gradient: float
    finite: bool
    curves: dict[str, list[float]] = field(default_factory=dict)
    tested: dict[str, float] = field(default_factory=dict)
    device: str = field(default="", compare=False)
    torch: str = field(default="", compare=False)
    seconds: float = field(default=0.0, compare=False)

    @property
    def blew_up(self) -> bool:
        """The one flag for a run that exploded, whatever became of it afterwards."""
        return (
            not self.finite or self.worst_loss > LOSS_BOUND or self.worst_gradient > GRADIENT_BOUND
        )

    @property
    def time(self) -> int:
        """The time to learn, or the step until which it is known to be longer."""
        return self.censored_at if self.learned_at is None else self.learned_at


def curve_steps(budget: int) -> Iterator[int]:
    """The steps at which the curves of a run have a point: the first dozen measurements, then about
    six to a doubling.

    Example:
        >>> list(curve_steps(200))
        [0, 20, 40, 60, 80, 100, 120, 140, 160, 180, 200]
        >>> len(list(curve_steps(4000)))
        32
    """
    step = 0
    while step <= budget:
        yield step
        step += EVERY * max(1, step // (6 * EVERY))


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


def load_plan(path: Path = DECLARED) -> dict[str, Comparison]:
    """The comparisons of a study by name, in the order in which they are made.

    Each table of the file names the fields of its :class:`Comparison` and of that one's
    :class:`Cell`; what it leaves out has the default. Scalings are looked up when they are trained:
    what was stored under a name that the library no longer has can still be read.

    Raises:
        ValueError: a field or a name is not known.

    Example:
        >>> load_plan()["recall, d_k 64"].cell.d_k
        64
    """

    def build(name: str, of_cell: dict[str, Any], own: dict[str, Any]) -> Comparison:
        return Comparison(name=name, cell=Cell(**of_cell), **own)

    return load_tables(path, (Cell, Comparison), build, given=("name", "cell"))


Rates = dict[float, dict[int, Record]]
"""The records of one scaling in a cell, by rate and seed."""


def by_scaling(records: Iterable[Record], cell: Cell) -> dict[str, Rates]:
    """A cell's records by scaling, rate and seed, rates ascending."""
    table: dict[str, Rates] = {}
    for record in records:
        if (run := record.run).cell == cell:
            table.setdefault(run.scaling, {}).setdefault(run.rate, {})[run.seed] = record
    return {name: dict(sorted(rates.items())) for name, rates in table.items()}


def next_jobs(records: Iterable[Record], comparisons: Iterable[Comparison]) -> list[Job]:
    """The runs that can be made next, given those made: none when the study is complete."""
    by_cell: dict[tuple[Cell, str], Rates] = {}
    for record in records:
        run = record.run
        by_cell.setdefault((run.cell, run.scaling), {}).setdefault(run.rate, {})[run.seed] = record
    jobs: dict[Run, Job] = {}
    for comparison in comparisons:
        for scaling in comparison.scalings:
            for fold in range(TASKS[comparison.cell.task].n_folds):
                rates = by_cell.get((comparison.cell, scaling), {})
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
        by_seed, until = rates.get(rate, {}), _until(complete, budget)
        if waiting := [(rate, seed, until) for seed in choosing if seed not in by_seed]:
            return complete, waiting
        complete[rate] = [by_seed[seed] for seed in choosing]
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
