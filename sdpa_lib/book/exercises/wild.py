"""Exercises of the chapter "Scalings in the wild"."""

import math

from sdpa_lib.book.exercises._exercise import Exercise

EXERCISES: dict[str, Exercise] = {
    "normalised_step": Exercise(
        answer=lambda p: 0.5 - p,
        cases=((0.0,), (0.5,), (1.0,)),
        mistakes={
            "That is gradient descent; here the gradient's own size is divided away.": lambda p: (
                1 - 2 * p
            ),
            "That is Adam, which divides every entry by its own size; the norm of the whole "
            "matrix grows with the number of its entries.": lambda p: 1 - p,
            "The update is divided by d_k^p once more, when the score is.": lambda p: 0.5,
        },
    ),
    "divisor": Exercise(
        answer=lambda m, d: math.sqrt(m * d),
        cases=((3, 64), (2, 128)),
        mistakes={
            "That is the variance of the sum; divide by its root.": lambda m, d: m * d,
            "Variances add, standard deviations don't.": lambda m, d: m * math.sqrt(d),
            "This is the divisor of a single term.": lambda m, d: math.sqrt(d),
        },
    ),
    "factor_on_scores": Exercise(
        answer=lambda r: (0.1 * math.log(r) + 1) ** 2,
        cases=((4,), (32,)),
        mistakes={
            "Queries and keys both carry the factor.": lambda r: 0.1 * math.log(r) + 1,
            "Their product is the square, not twice the factor.": lambda r: (
                2 * (0.1 * math.log(r) + 1)
            ),
            "The logarithm is the natural one.": lambda r: (0.1 * math.log10(r) + 1) ** 2,
        },
    ),
    "largest_score": Exercise(
        answer=lambda d: math.sqrt(d),
        cases=((64,), (128,)),
        mistakes={
            "That is the dot product; it is still divided by the root.": lambda d: d,
            "Mean square 1 is not length 1: each vector has length √d.": lambda d: 1 / math.sqrt(d),
            "The cosine is at most 1, and it is multiplied by the lengths.": lambda d: 1.0,
        },
    ),
    "correlation": Exercise(
        answer=(math.log(8192) + 0.5) / math.sqrt(128),
        tolerance=0.02,
        mistakes={
            "The other keys together weigh n e^{1/2}: the half is missing.": math.log(8192)
            / math.sqrt(128)
            - 0.02,
            "The score of the match is ρ√d, not ρd.": (math.log(8192) + 0.5) / 128,
        },
    ),
}
