"""Exercises of the chapter "What does multiplying by V do?"."""

import math

from sdpa_book.exercises.exercise import Exercise

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
    "crossover": Exercise(
        answer=lambda rho: math.e * (1 - rho) / rho,
        cases=((0.02,), (0.01,), (0.005,)),
        mistakes={
            "This would be right for even weights, but the usual divisor leaves them a little "
            "sharper.": lambda rho: (1 - rho) / rho,
            "The part that is not shared has the variance 1 - rho, not 1.": lambda rho: (
                math.e / rho
            ),
            "This compares standard deviations; compare variances.": lambda rho: (
                math.e * (1 - rho) ** 2 / rho**2
            ),
        },
    ),
    "keeps_apart": Exercise(
        answer="none",
        mistakes={
            "The root averages over many tokens: print the cosines after one layer.": "sqrt_d_k",
            "Divided by d_k the weights are nearly even, so every token gets the same mean.": "d_k",
        },
    ),
}
