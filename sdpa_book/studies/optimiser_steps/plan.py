"""What the study of optimiser steps declares before a run is made: how far a step of training moves
the scores, under five optimisers and several powers of ``d_k``. ``plan.toml`` holds its questions.
The study takes about an hour on one core.

**What is measured**: the spread of the scores at the start, how far the partners' scores rise in
one step and in ``STEPS``, and the learning rate of lowest loss. Each figure is stored for every
seed.

**Stopping**: a training takes ``STEPS`` steps, or ends where its loss is no number, and then it is
the worst. The best rate is looked for on a grid of half decades, which goes on until it reaches a
decade beyond the best on either side, and then on eighths around it.

**Away from the limit**, declared when all of that was known, and small steps of many tokens in the
notes as well: one step at a thousandth of ``Kind.rate``, so that the change is of first order, of
problems with other numbers of tokens and other widths of the model. Stored are how far the
partners' scores rise, and how far all scores move, as root mean squares, beside the theorem's
leading term. Asked is, of gradient descent and Adam, from which width on all scores move by at most
1.1 times that term, and whether this width follows the number of tokens, the width of the model, or
the smaller of the two; and of all three like which power of the width they move from 16 to 256.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from torch.optim import Optimizer

from sdpa_book.studies.making import load_tables
from sdpa_lib._checks import check_count, check_number, unknown_name

DECLARED = Path(__file__).with_name("plan.toml")
"""The questions of the book's study."""
TAKES = "about an hour"

N_TOKENS, D_MODEL = 16, 32
SMOOTHING = 0.1
STEPS = 100
FINE = 8  # learning rates a decade


class Kind(NamedTuple):
    """An optimiser.

    Attributes:
        make: from the parameters and the learning rate.
        rate: the learning rate with which steps are compared.
        step: the power of d_k by which the first step grows, given p.
    """

    make: Callable[[list[Tensor], float], Optimizer]
    rate: float
    step: Callable[[float], float]


OPTIMISERS: dict[str, Kind] = {
    "SGD": Kind(lambda w, rate: torch.optim.SGD(w, rate), 0.1, lambda p: 1 - 2 * p),
    "momentum": Kind(
        lambda w, rate: torch.optim.SGD(w, rate, momentum=0.9), 0.01, lambda p: 1 - 2 * p
    ),
    "Adam": Kind(lambda w, rate: torch.optim.Adam(w, rate), 1e-3, lambda p: 1 - p),
    "Adafactor": Kind(
        # the paper's first epsilon: PyTorch's own is larger than the square of a small gradient
        lambda w, rate: torch.optim.Adafactor(w, rate, eps=(1e-30, 1e-3)),
        5e-3,
        lambda p: 1 - p,
    ),
    "Muon": Kind(
        lambda w, rate: torch.optim.Muon(w, rate, weight_decay=0.0), 3e-3, lambda p: 1 - p
    ),
}
"""By name. Muon is PyTorch's from 2.9 on, with its default factor of the matrix's shape."""


SMALL = 1e-3
"""By what a rate is multiplied where a step is to be small."""

MEASURES = ("moves", "first steps", "rates", "rates from zero", "many tokens")
"""What can be asked: how far scores move in one step and in many; in one alone; which learning rate
is best; which, where the fresh head's own scores are subtracted throughout; and how far a small
step moves all scores of problems of other shapes.
"""


@dataclass(frozen=True)
class Question:
    """What is measured of which optimisers.

    Attributes:
        name: in ``MEASURES``.
        question: in words.
        optimisers: names in ``OPTIMISERS``.
        powers: the scores are divided by d_k to these.
        widths: the values of d_k.
        seeds: how many problems.
        shapes: of "many tokens" alone, the problems' numbers of tokens and widths of the model.
    """

    name: str
    question: str
    optimisers: tuple[str, ...]
    powers: tuple[float, ...]
    widths: tuple[int, ...]
    seeds: int
    shapes: tuple[tuple[int, int], ...] = ()

    @property
    def shape_names(self) -> tuple[str, ...]:
        """What the shapes are called in results."""
        return tuple(f"{n_tokens} tokens of {d_model}" for n_tokens, d_model in self.shapes)

    def __post_init__(self) -> None:
        if self.name not in MEASURES:
            raise unknown_name("table", self.name, MEASURES)
        for optimiser in self.optimisers:
            if optimiser not in OPTIMISERS:
                raise unknown_name("optimisers", optimiser, OPTIMISERS)
        for power in self.powers:
            check_number("powers", power)
        for d_k in self.widths:
            check_count("widths", d_k)
        check_count("seeds", self.seeds)
        if bool(self.shapes) != (self.name == "many tokens"):
            raise ValueError(
                f"shapes must be given for 'many tokens' and for no other table, got "
                f"{self.shapes} for {self.name!r}"
            )
        for n_tokens, d_model in self.shapes:
            check_count("tokens of a shape", n_tokens)
            check_count("model width of a shape", d_model)


def load_plan(path: Path = DECLARED) -> dict[str, Question]:
    """The questions of a study by name, in the order in which they are answered.

    Example:
        >>> load_plan()["rates"].seeds
        3
    """
    return load_tables(
        path, (Question,), lambda name, own: Question(name=name, **own), given=("name",)
    )


WIDTHS, POWERS = load_plan()["moves"].widths, load_plan()["moves"].powers
RATE_WIDTHS, FIRST_POWERS = load_plan()["rates"].widths, load_plan()["first steps"].powers
MANY_WIDTHS, SHAPES = load_plan()["many tokens"].widths, load_plan()["many tokens"].shape_names
"""What article D and its figures show."""
