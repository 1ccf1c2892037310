"""Exercises of the chapters "What does a wide head do to softmax?" and, the last, "What does
saturation do to learning?".
"""

import math

import torch

from sdpa_book.exercises.exercise import PER_CENT, Exercise

_ROWS = (
    (torch.tensor([0.7, 0.2, 0.1]).double(), torch.tensor([1.0, -2.0, 3.0]).double()),
    (torch.tensor([0.25] * 4).double(), torch.tensor([4.0, 0.0, 1.0, 0.0]).double()),
)

EXERCISES: dict[str, Exercise] = {
    "first_weight": Exercise(
        answer=lambda a, b: 1 / (1 + math.exp(b - a)),
        cases=((7, 3), (2, 1), (-1, 4), (0, 0)),
        mistakes={
            "This divides by the sum of the scores; softmax takes their exponentials "
            "first.": lambda a, b: a / (a + b),
            "This is the ratio of the two weights, not the first weight.": lambda a, b: math.exp(
                a - b
            ),
            "This is the weight of the other key.": lambda a, b: 1 / (1 + math.exp(a - b)),
            PER_CENT: lambda a, b: 100 / (1 + math.exp(b - a)),
        },
    ),
    "needed_gap": Exercise(
        answer=lambda n, w: math.log((n - 1) * w / (1 - w)),
        cases=((3, 0.99), (2, 0.5), (1000, 0.9), (1_000_000, 0.99)),
        mistakes={
            "This is right for one rival only; there are n - 1 of them.": lambda n, w: math.log(
                w / (1 - w)
            ),
            "The right key is one of the n: it has n - 1 rivals.": lambda n, w: math.log(
                n * w / (1 - w)
            ),
            "The rivals share the remaining 1 - w. Each has a (n - 1)th of it, and the gap is to "
            "each.": lambda n, w: math.log(w / ((1 - w) * (n - 1))),
            "This is the ratio of the weights; the gap is its logarithm.": lambda n, w: (
                (n - 1) * w / (1 - w)
            ),
            "These are powers of ten; softmax takes powers of e.": lambda n, w: math.log10(
                (n - 1) * w / (1 - w)
            ),
        },
    ),
    "backward": Exercise(
        answer=lambda p, u: p * (u - p @ u),
        cases=_ROWS,
        mistakes={
            "This leaves out that one weight grows at the cost of the others.": lambda p, u: p * u,
            "This has the diagonal of the Jacobian alone.": lambda p, u: p * (1 - p) * u,
            "The praise has to be multiplied by the key's own weight.": lambda p, u: u - p @ u,
            "What is subtracted is the mean of u with the weights p, not the plain "
            "mean.": lambda p, u: p * (u - u.mean()),
        },
    ),
    "largest_rate": Exercise(
        answer=0.1,
        mistakes={
            "At this rate the layer with the division ends lower. Go down with the rate.": 1.0,
            "At this rate the layer without the division does not learn at all.": 3.0,
            "There is one: compare the ends at the smallest rate once more.": 0.0,
        },
    ),
}
