"""Exercises of the chapter "What goes wrong when softmax saturates?"."""

import math

import torch

from sdpa_lib.book.exercises._exercise import Exercise

_WEIGHTS = (
    torch.tensor([0.7, 0.2, 0.1], dtype=torch.float64),
    torch.tensor([0.25] * 4, dtype=torch.float64),
)

EXERCISES: dict[str, Exercise] = {
    "first_weight": Exercise(
        answer=lambda a, b: 1 / (1 + math.exp(b - a)),
        cases=((7, 3), (2, 1), (-1, 4), (0, 0)),
        mistakes={
            "This divides by the sum of the scores; softmax takes their exponentials "
            "first.": lambda a, b: a / (a + b) if a + b else 0.5,
            "This is the ratio of the two weights, not the first weight.": lambda a, b: math.exp(
                a - b
            ),
            "This is the weight of the other key.": lambda a, b: 1 / (1 + math.exp(a - b)),
        },
    ),
    "jacobian": Exercise(
        answer=lambda p: torch.diag(p) - torch.outer(p, p),
        cases=tuple((p,) for p in _WEIGHTS),
        mistakes={
            "This leaves out that one weight grows at the cost of the others.": lambda p: (
                torch.diag(p)
            ),
            "This has the diagonal right; the other entries are not zero: the weights sum to "
            "1.": lambda p: torch.diag(p * (1 - p)),
            "The sign of the second term is turned round: rows must sum to 0.": lambda p: (
                torch.diag(p) + torch.outer(p, p)
            ),
            "p @ p is a number; an outer product is a matrix.": lambda p: torch.diag(p) - p @ p,
        },
    ),
    "gap": Exercise(
        answer=math.log(198),
        tolerance=2e-3,
        mistakes={
            "This is right for one rival; there are two.": math.log(99),
            "This is S1's gap; it gives 0.9999.": 10.0,
            "The two rivals share the remaining 0.01: each has half of it, and the gap is to "
            "each.": math.log(0.99 / 0.02),
        },
    ),
    "first_saturated": Exercise(
        answer=16,
        mistakes={
            "At this dimension the mean largest weight is still below 0.6.": 8,
            "A smaller dimension is enough already.": 32,
            "Real heads are this large, and were saturated long before.": 64,
        },
    ),
}
