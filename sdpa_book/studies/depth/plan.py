"""What the study of depth declares before a run is made: in which models, and with how many seeds,
the gradient at the start of training is measured. ``plan.toml`` holds its questions. The study
takes about an hour and a quarter on one core.

**What is measured**: one batch of the digits, one backward pass through a model that has just been
started, in double precision, so that its figures are the same on every processor. A model's figure
is the median over its seeds, and nothing is chosen or left out.

**A language model's shape**, declared when all of that was known: decoders of width 256 with four
heads that read 64 bytes of Python's standard library and guess the next at each, on a batch of four
passages. They are measured at the start, and after 250 and 1,000 steps of training on
:data:`TEXTS` later batches, with Adam at 10^-3 for all, a warm-up of 30 steps and gradients
shortened to a norm of 1. A pilot of 60 steps with another seed took that rate: with it the loss of
undivided models fell as with 10^-3.5 or faster.

Asked is, by the median and its spread: what reaches the first block's input over what leaves the
top, undivided over the root's, and how it grows with the depth; and what of it is left where
undecided queries pass nothing on through their scores, and where the decided do not. *It stands* at
a start if from 2 blocks to 24 the undivided median grows at least twice as much as the root's, and
undecided queries *carry* it if without them less than half of an undivided median above 2 is left,
while without the decided more than half is. Every model is trained for as long as it says; one
whose loss is no number is reported as that. If time is short, tables are left out from the end.
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
TAKES = "about an hour and a quarter"

TASK = TASKS["digits"]

SHAPES = ("digits", "decoder")
"""The models that are measured: the training study's on the digits, and a language model's shape,
:func:`~sdpa_book.studies.depth.decoder.decoder`."""
TEXTS = 5
"""On how many batches a trained model is measured, each a figure of its own."""

STARTS = ("1/inputs", "nn.Linear")
"""How matrices start that are measured, of :data:`sdpa_book.calculations.initialisation.STARTS`."""


class Depth(NamedTuple):
    """A model whose first gradient is measured: d_k, its number of blocks, the scaling of its
    scores, where its normalisations stand, which of ``STARTS`` its matrices have, which of
    ``BRANCHES`` multiplies what its branches add, which of ``SHAPES`` it has, and for how many
    steps it was trained before.
    """

    d_k: int
    n_layers: int
    scaling: str
    norm: str = "pre"
    start: str = "1/inputs"
    branch: str = "1"
    shape: str = "digits"
    steps: int = 0

    @property
    def batches(self) -> int:
        """On how many batches each seed is measured."""
        return TEXTS if self.steps else 1

    @property
    def in_study(self) -> Cell:
        """The training study's cell with this model of the digits."""
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
        shape: a name in ``SHAPES``.
        steps: after how many steps of training; only decoders are trained.
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
    shape: str = "digits"
    steps: int = 0

    def __post_init__(self) -> None:
        if self.start not in STARTS:
            raise unknown_name("start", self.start, STARTS)
        if self.branch not in BRANCHES:
            raise unknown_name("branch", self.branch, BRANCHES)
        for norm in self.norms:
            if norm not in NORMS:
                raise unknown_name("norms", norm, NORMS)
        if self.shape not in SHAPES:
            raise unknown_name("shape", self.shape, SHAPES)
        check_count("seeds", self.seeds)
        if check_count("steps", self.steps, minimum=0) and self.shape != "decoder":
            raise ValueError(
                f"steps must be 0 for shape {self.shape!r}: only decoders are trained, got "
                f"{self.steps}"
            )
        for name in ("d_k", "n_layers"):
            for count in getattr(self, name):
                check_count(name, count)

    @property
    def models(self) -> list[Depth]:
        """What is measured."""
        kinds = product(self.norms, self.d_k, self.n_layers, self.scalings)
        also = self.start, self.branch, self.shape, self.steps
        return [Depth(d, n, scaling, norm, *also) for norm, d, n, scaling in kinds]


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
"""Of the models of article B's first figure."""
