"""What the crossing of divisor, start and warm-up declares before a run is made. ``plan.toml`` says
what is asked and measured; a part of it is a number of the training study's comparisons, made by
that study's rule and code. The study takes about an hour and a half on one core.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sdpa_book.calculations.initialisation import STARTS
from sdpa_book.studies.making import load_tables
from sdpa_book.studies.training.plan import Cell, Comparison

DECLARED = Path(__file__).with_name("plan.toml")
"""The parts of the book's study."""
TAKES = "about an hour and a half"


@dataclass(frozen=True)
class Part:
    """Divisors that are compared under several starts, with one warm-up.

    Attributes:
        name: what it is called.
        question: in words.
        task, d_k, warm_up: of all its cells.
        starts: names in :data:`~sdpa_book.calculations.initialisation.STARTS`.
        scalings: the divisors.
        one_rate: the power of 10 at which all are trained as well.
    """

    name: str
    question: str
    task: str
    d_k: int
    warm_up: int
    starts: tuple[str, ...] = tuple(STARTS)
    scalings: tuple[str, ...] = ("none", "sqrt_d_k", "d_k")
    one_rate: float = -2.0

    def comparisons(self) -> Iterator[Comparison]:
        """What is made: for each start at the rates that are chosen, and at the one."""
        for start in self.starts:
            cell = Cell(
                self.task,
                self.d_k,
                start=start,
                warm_up=self.warm_up,
                every=5,
                stay=100,
                budget=1000,
            )
            for rates in ((-2.5, -2.0, -1.5), (self.one_rate,)):
                at = f", 10^{self.one_rate:g}" if len(rates) == 1 else ""
                yield Comparison(
                    name=f"{self.name}, {start}{at}",
                    question=self.question,
                    cell=cell,
                    scalings=self.scalings,
                    rates=rates,
                    reporting=5,
                )


def load_plan(path: Path = DECLARED) -> dict[str, Comparison]:
    """The comparisons by name, in the order in which they are made.

    Example:
        >>> load_plan()["heads of 64, warm-up 20, xavier"].cell.start
        'xavier'
    """
    parts = load_tables(path, (Part,), lambda name, own: Part(name=name, **own), given=("name",))
    return {c.name: c for part in parts.values() for c in part.comparisons()}
