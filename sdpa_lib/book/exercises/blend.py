"""Exercises of the chapter "What does multiplying by V do?"."""

import math

import torch

from sdpa_lib.book.exercises._exercise import Exercise

_SCORES = torch.tensor([[1.0, 0.0, -1.0], [0.5, 2.0, 0.0], [0.0, 0.0, 0.3]], dtype=torch.float64)
_VALUES = torch.tensor([[1.0, 2.0, 3.0], [0.0, -1.0, 4.0], [2.0, 0.5, 0.0]], dtype=torch.float64)
_EVEN = torch.full((4,), 0.25, dtype=torch.float64)
_SHARP = torch.tensor([0.7, 0.2, 0.1], dtype=torch.float64)

EXERCISES: dict[str, Exercise] = {
    "attend": Exercise(
        answer=lambda scores, values: torch.softmax(scores, dim=-1) @ values,
        cases=((_SCORES, _VALUES), (2 * _SCORES, _VALUES[:, :2])),
        mistakes={
            "Softmax ran down the columns: each query's weights, a row, must sum to "
            "1.": lambda scores, values: torch.softmax(scores, dim=0) @ values,
            "The scores went in without softmax: these are not averages.": lambda scores, values: (
                scores @ values
            ),
            "The weights are transposed: row i must hold what query i gives to each "
            "key.": lambda scores, values: torch.softmax(scores, dim=-1).mT @ values,
        },
    ),
    "blend_std": Exercise(
        answer=lambda p: p.square().sum().sqrt(),
        cases=((_EVEN,), (_SHARP,)),
        mistakes={
            "This is the variance; the standard deviation is its root.": lambda p: p.square().sum(),
            "This is right for even weights only.": lambda p: len(p) ** -0.5,
            "The weights sum to 1 always; their squares do not.": lambda p: p.sum().sqrt(),
            "This takes the mean over the keys where a sum belongs.": lambda p: (
                p.square().mean().sqrt()
            ),
        },
    ),
    "blend_variance": Exercise(
        answer=lambda p, rho: rho + (1 - rho) * p.square().sum(),
        cases=((_EVEN, 0.0), (_SHARP, 0.3), (_SHARP, 1.0)),
        mistakes={
            "This leaves out what the values share; it is right for rho = 0.": lambda p, rho: (
                p.square().sum()
            ),
            "This keeps only the part that the values do not share.": lambda p, rho: (
                (1 - rho) * p.square().sum()
            ),
            "The shared part must not shrink with the weights: at rho = 1 every value is the "
            "same.": lambda p, rho: (1 + rho) * p.square().sum(),
        },
    ),
    "output_gain": Exercise(
        answer=lambda n: math.sqrt(n / math.e),
        cases=((16,), (256,), (1000,)),
        mistakes={
            "This would be right for even weights; the usual divisor leaves them a little "
            "sharper.": lambda n: math.sqrt(n),
            "This is the scale of the output itself: the factor that mends it is its "
            "inverse.": lambda n: math.sqrt(math.e / n),
            "This corrects the variance where the standard deviation is to be "
            "corrected.": lambda n: n / math.e,
        },
    ),
}
