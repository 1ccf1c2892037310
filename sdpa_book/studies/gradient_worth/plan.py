"""What the study of a gradient's worth declares before a run is made: of which models it is
measured, and when. ``plan.toml`` says what is asked and measured. The study takes about a quarter
of an hour on one core.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path

from sdpa_book.studies.making import load_tables
from sdpa_book.studies.tasks import TASKS
from sdpa_book.studies.training.plan import Cell, Run
from sdpa_lib._checks import check_count, unknown_name

DECLARED = Path(__file__).with_name("plan.toml")
"""The questions of the book's study."""
TAKES = "about a quarter of an hour"


@dataclass(frozen=True)
class Question:
    """Models whose gradients are measured: each task with each d_k and scaling.

    Attributes:
        name: what it is called.
        question: in words.
        d_k: of the models.
        tasks: names in ``TASKS``.
        scalings: what is compared.
        rates: the power of 10 of each scaling's learning rate; with none the start is measured.
        looks: the steps at which models in training are measured.
        seeds: how many of each kind.
    """

    name: str
    question: str
    d_k: tuple[int, ...]
    tasks: tuple[str, ...] = ("recall 8", "recall 32", "digits")
    scalings: tuple[str, ...] = ("none", "sqrt_d_k", "d_k")
    rates: tuple[float, ...] = ()
    looks: tuple[int, ...] = ()
    seeds: int = 10

    def __post_init__(self) -> None:
        for task in self.tasks:
            if task not in TASKS:
                raise unknown_name("tasks", task, TASKS)
        if self.rates and len(self.rates) != len(self.scalings):
            raise ValueError(f"rates must be one for each of {self.scalings}, got {self.rates}")
        check_count("seeds", self.seeds, minimum=2)

    def models(self) -> list[tuple[str, list[Run]]]:
        """What is measured: what each group of runs, one a seed, is stored as, and the runs."""
        rates = self.rates or (0.0,) * len(self.scalings)
        pairs = zip(self.scalings, rates, strict=True)
        return [
            (
                f"{task}, d_k {d_k}, {scaling}",
                [Run(Cell(task, d_k), scaling, rate, seed) for seed in range(self.seeds)],
            )
            for task, d_k, (scaling, rate) in product(self.tasks, self.d_k, list(pairs))
        ]


def load_plan(path: Path = DECLARED) -> dict[str, Question]:
    """The questions of a study by name, in the order in which they are answered.

    Example:
        >>> load_plan()["start"].seeds
        10
    """
    return load_tables(
        path, (Question,), lambda name, own: Question(name=name, **own), given=("name",)
    )
