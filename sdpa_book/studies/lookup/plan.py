"""What the study of the lookup layer declares before a run is made: at which learning rates and on
which sizes of batch the layer is trained, undivided and with the root. ``plan.toml`` holds its
questions. The study takes ten minutes on one core.

**What is measured**: the steps of Adam to half of a layer's loss at the start, and to a loss of
0.3, both on queries on which no layer is trained. Every batch is fresh. A figure is the mean over
eight seeds, 3 to 10, with its standard error, and nothing is left out. A run stops when all eight
are below both levels, or after 480 steps; of a cell in which a layer is not there yet is stored how
many are not, and no mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path

from sdpa_book.studies.making import load_tables
from sdpa_lib._checks import check_count, check_number

DECLARED = Path(__file__).with_name("plan.toml")
"""The questions of the book's study."""
TAKES = "ten minutes"


@dataclass(frozen=True)
class Question:
    """Pairs of trainings, undivided and with the root: at each rate on each size of batch.

    Attributes:
        name: what it is called.
        question: in words.
        rates: of Adam.
        queries: in a batch.
        d_k: of the layers.
    """

    name: str
    question: str
    rates: tuple[float, ...]
    queries: tuple[int, ...]
    d_k: int = 64

    def __post_init__(self) -> None:
        for rate in self.rates:
            check_number("rates", rate, above=0.0)
        for count in self.queries:
            check_count("queries", count)
        check_count("d_k", self.d_k)

    @property
    def pairs(self) -> dict[str, tuple[int, int, float]]:
        """d_k, queries and rate of each pair, by what it is stored as.

        Example:
            >>> list(load_plan()["steps"].pairs)[1]
            '0.003, 256'
        """
        return {
            f"{rate}, {queries}": (self.d_k, queries, rate)
            for rate, queries in product(self.rates, self.queries)
        }


def load_plan(path: Path = DECLARED) -> dict[str, Question]:
    """The questions of a study by name, in the order in which they are answered.

    Example:
        >>> load_plan()["steps"].queries
        (32, 256, 2048)
    """
    return load_tables(
        path, (Question,), lambda name, own: Question(name=name, **own), given=("name",)
    )
