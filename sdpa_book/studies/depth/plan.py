"""What the study of depth declares before a run is made: in which models, and with how many seeds,
the gradient at the start of training is measured. ``plan.toml`` holds its questions. The study
takes about forty minutes on one core.

**What is measured**: one batch of the digits, one backward pass through a model that has just been
started, in double precision, so that its figures are the same on every processor. A model's figure
is the median over its seeds, and nothing is chosen or left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import NamedTuple

from sdpa_book.studies.making import load_tables
from sdpa_book.studies.tasks import TASKS
from sdpa_book.studies.training.plan import Cell
from sdpa_book.studies.transformer import BRANCHES, NORMS
from sdpa_lib._checks import check_count, unknown_name

DECLARED = Path(__file__).with_name("plan.toml")
"""The questions of the book's study."""
TAKES = "about forty minutes"

TASK = TASKS["digits"]

STARTS = ("1/inputs", "nn.Linear")
"""How matrices start that are measured, names in :data:`sdpa_book.initialisation.STARTS`."""


class Depth(NamedTuple):
    """A model whose first gradient is measured: d_k, its number of blocks, the scaling of its
    scores, where its normalisations stand, which of ``STARTS`` its matrices have, and which of
    ``BRANCHES`` multiplies what its branches add.
    """

    d_k: int
    n_layers: int
    scaling: str
    norm: str = "pre"
    start: str = "1/inputs"
    branch: str = "1"

    @property
    def in_study(self) -> Cell:
        """The study's cell with this model."""
        return Cell(
            "digits",
            self.d_k,
            n_layers=self.n_layers,
            norm=self.norm,
            start=self.start,
            branch=self.branch,
        )


@dataclass(frozen=True)
class Question:
    """Models whose first gradients are compared: each scaling with each d_k, depth and norm.

    Attributes:
        name: what it is called.
        question: in words.
        scalings, d_k, n_layers, norms: of the models.
        start: a name in ``STARTS``, how their matrices start.
        branch: a name in ``BRANCHES``, what multiplies what their branches add.
        seeds: how many models of each kind are measured.
    """

    name: str
    question: str
    scalings: tuple[str, ...]
    d_k: tuple[int, ...]
    n_layers: tuple[int, ...]
    norms: tuple[str, ...] = NORMS
    start: str = "1/inputs"
    branch: str = "1"
    seeds: int = 30

    def __post_init__(self) -> None:
        if self.start not in STARTS:
            raise unknown_name("start", self.start, STARTS)
        if self.branch not in BRANCHES:
            raise unknown_name("branch", self.branch, BRANCHES)
        for norm in self.norms:
            if norm not in NORMS:
                raise unknown_name("norms", norm, NORMS)
        check_count("seeds", self.seeds)
        for name in ("d_k", "n_layers"):
            for count in getattr(self, name):
                check_count(name, count)

    @property
    def models(self) -> list[Depth]:
        """What is measured."""
        kinds = product(self.norms, self.d_k, self.n_layers, self.scalings)
        return [
            Depth(d, n, scaling, norm, self.start, self.branch) for norm, d, n, scaling in kinds
        ]


def load_plan(path: Path = DECLARED) -> dict[str, Question]:
    """The questions of a study by name, in the order in which they are answered.

    Example:
        >>> load_plan()["every rescaling"].n_layers
        (24,)
    """
    return load_tables(
        path, (Question,), lambda name, own: Question(name=name, **own), given=("name",)
    )


def models(questions: Iterable[Question]) -> dict[Depth, int]:
    """What questions measure, each model once, with the number of its seeds."""
    return {model: question.seeds for question in questions for model in question.models}


DIMENSIONS = load_plan()["depth"].d_k
LAYERS = load_plan()["depth"].n_layers
"""Of the models of study B's first figure."""
