"""Exercises of the chapter "What becomes of scores in training?"."""

import torch

from sdpa_book.exercises.exercise import PER_CENT, Exercise

_KEYS = (
    torch.tensor([[3.0, 1.0], [3.0, -1.0]], dtype=torch.float64),
    torch.tensor([[1.0, 0.0], [0.0, 2.0], [2.0, 1.0]], dtype=torch.float64),
)
_ROWS = (
    (
        torch.tensor([4.0, 1.0, 0.0, 2.0], dtype=torch.float64),
        torch.tensor([9.5, 6.0, 5.5, 7.0], dtype=torch.float64),
    ),
    (
        torch.tensor([-1.0, 3.0, 0.5], dtype=torch.float64),
        torch.tensor([2.0, -6.0, 1.0], dtype=torch.float64),
    ),
)
_SHAPES = (
    torch.tensor([3.0, 1.0, 0.0, 2.0], dtype=torch.float64),
    torch.tensor([-4.0, 1.0, 0.5], dtype=torch.float64),
)


def _stretched(row: torch.Tensor, spread: float) -> torch.Tensor:
    weights = (row * spread / row.std(correction=0)).softmax(-1)
    return 1 / weights.square().sum()


EXERCISES: dict[str, Exercise] = {
    "shared": Exercise(
        answer=lambda k: k.mean(0).square().sum() / k.square().sum(-1).mean(),
        cases=tuple((k,) for k in _KEYS),
        mistakes={
            PER_CENT: lambda k: 100 * k.mean(0).square().sum() / k.square().sum(-1).mean(),
            "This is the part that the keys do not share; the shared part is 1 minus "
            "it.": lambda k: 1 - k.mean(0).square().sum() / k.square().sum(-1).mean(),
            "This divides by the square of the mean length, not by the mean of the "
            "squares.": lambda k: k.mean(0).square().sum() / k.norm(dim=-1).mean().square(),
            "This takes the mean over the components too, but what the keys share is a "
            "vector.": lambda k: k.mean().square() / k.square().mean(),
        },
    ),
    "matched": Exercise(
        answer=lambda own, other: (
            ((own - own.mean()) * (other - other.mean())).sum()
            / (other - other.mean()).square().sum()
        ),
        cases=_ROWS,
        mistakes={
            "Softmax does not see what a row's scores have in common, so take the means "
            "off.": lambda own, other: (own * other).sum() / other.square().sum(),
            "This is the other way round: it is the factor that brings the model's own scores to "
            "the new ones.": lambda own, other: (
                ((own - own.mean()) * (other - other.mean())).sum()
                / (own - own.mean()).square().sum()
            ),
            "The ratio of the two spreads has no sign, and it does not depend on whether the rows "
            "agree.": lambda own, other: own.std() / other.std(),
        },
    ),
    "stretched": Exercise(
        answer=_stretched,
        cases=tuple((row, spread) for row, spread in zip(_SHAPES, (2.0, 0.5), strict=True)),
        mistakes={
            "This is the sum of the squared weights; the effective keys are 1 over it.": (
                lambda row, spread: 1 / _stretched(row, spread)
            ),
            "Divide by the row's own standard deviation first, because the row is to have this "
            "spread and not to become that many times as wide.": lambda row, spread: (
                1 / (row * spread).softmax(-1).square().sum()
            ),
            "The spread is that of the row's own n scores, so divide by n and not by n - 1.": (
                lambda row, spread: 1 / (row * spread / row.std()).softmax(-1).square().sum()
            ),
        },
    ),
}
