"""Exercises of the chapter "What does multiplying by V do?"."""

import math

import torch
from torch import Tensor

from sdpa_book.exercises.exercise import Exercise

_SHARP = torch.tensor([0.7, 0.2, 0.1], dtype=torch.float64)
_VALUES = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.4, -0.2]], dtype=torch.float64)
_OTHERS = torch.tensor([[-1.0, 0.0], [2.0, 1.0], [0.5, -3.0]], dtype=torch.float64)
_MIXED = torch.tensor([0.2, 0.5, 0.3], dtype=torch.float64)


def _weights_of(values: Tensor, output: Tensor) -> Tensor:
    """The barycentric coordinates of a point."""
    with_ones = torch.cat([values, torch.ones_like(values[:, :1])], dim=1)
    solved: Tensor = torch.linalg.solve(with_ones.T, torch.cat([output, output.new_ones(1)]))
    return solved


EXERCISES: dict[str, Exercise] = {
    "wrong_row": Exercise(
        answer=3,
        mistakes={
            "This is the output worked out by hand: weights of 0.53, 0.34 and 0.13 give it.": 1,
            "At the height 0.6 the triangle reaches from 0.24 to 0.4, and this point lies "
            "between.": 2,
            "At the height 0 the triangle reaches from 0.36 to 0.73, and this point lies "
            "between.": 4,
        },
    ),
    "weights_of": Exercise(
        answer=_weights_of,
        cases=(
            (_VALUES, _SHARP @ _VALUES),
            (_OTHERS, _MIXED @ _OTHERS),
            (_OTHERS, _OTHERS.mean(0)),
        ),
        mistakes={
            "These weights give the right output, and do not sum to 1: that is an equation, "
            "too.": lambda values, output: torch.linalg.pinv(values.T) @ output,
            "These are weights for the wrong product: the output is weights @ values, a "
            "combination of rows.": lambda values, output: torch.softmax(values @ output, dim=-1),
            "Nearer values do get more weight, but how much follows from the equations "
            "alone.": lambda values, output: torch.softmax(-(values - output).norm(dim=-1), dim=-1),
        },
    ),
    "crossover": Exercise(
        answer=lambda rho: math.e * (1 - rho) / rho,
        cases=((0.02,), (0.01,), (0.005,)),
        mistakes={
            "This would be right for even weights; the usual divisor leaves them a little "
            "sharper.": lambda rho: (1 - rho) / rho,
            "The part that is not shared has the variance 1 - rho, not 1.": lambda rho: (
                math.e / rho
            ),
            "Compare variances: this compares standard deviations.": lambda rho: (
                math.e * (1 - rho) ** 2 / rho**2
            ),
        },
    ),
    "keeps_apart": Exercise(
        answer="none",
        mistakes={
            "The root averages over many tokens: print the cosines after one layer.": "sqrt_d_k",
            "Divided by d_k the weights are nearly even, and every token gets the same "
            "mean.": "d_k",
        },
    ),
}
