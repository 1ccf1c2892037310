"""Exercises of the chapter "Do the gradients really vanish?"."""

import math

from sdpa_book.exercises.exercise import Exercise

BEST_X = 1.5434
"""The solution of x tanh(x/2) = 1."""

EXERCISES: dict[str, Exercise] = {
    "best_divisor": Exercise(
        answer=lambda gap: gap / BEST_X,
        cases=((8.0,), (1.0,), (20.0,)),
        tolerance=5e-3,
        mistakes={
            "That is where p(1 - p)/c is largest if p stays as it is: p depends on c as well. Put "
            "x = Δ/c.": lambda gap: gap,
            "Near: the condition is x tanh(x/2) = 1, not x tanh(x) = 1.": lambda gap: gap / 1.1997,
            "That is x. The divisor is Δ/x.": lambda gap: BEST_X,
            "The other way round: x = Δ/c.": lambda gap: gap * BEST_X,
        },
    ),
    "integral": Exercise(
        answer=lambda m: math.gamma(m) ** 2 / math.gamma(2 * m) / 2,
        cases=((1,), (2,), (3,), (0.5,)),
        mistakes={
            "This is the integral over all x: gaps are positive, and p runs from 1/2 to 1.": (
                lambda m: math.gamma(m) ** 2 / math.gamma(2 * m)
            ),
            "dx is not dp: it is dp/(p(1 - p)), which takes one power away.": lambda m: (
                math.gamma(m + 1) ** 2 / math.gamma(2 * m + 2) / 2
            ),
            "Right for m = 1 and 2, which two numbers can't prove. Try m = 3.": lambda m: (
                0.5 / 6 ** (m - 1)
            ),
        },
    ),
    "richest_tenth": Exercise(
        answer=0.05,
        mistakes={
            "So small a divisor leaves fewer than one query in ten undecided.": 0.0125,
            "A smaller one is better still: more than one query in ten is undecided even then, "
            "and 1/r is larger.": 0.1,
            "That is near the best place of the median.": 0.2,
            "Most queries are undecided there, and 1/r is small.": 0.4,
        },
    ),
}
