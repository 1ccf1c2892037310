"""Exercises of the chapter "Why do dot products grow with dimension?"."""

import math

from sdpa_lib.book.exercises._exercise import Exercise

EXERCISES: dict[str, Exercise] = {
    "score_std": Exercise(
        answer=lambda d_k: math.sqrt(d_k),
        cases=((2,), (8,), (64,)),
        mistakes={
            "This is the variance; the standard deviation is its root.": lambda d_k: d_k,
            "Terms that are added spread the sum further, however much they cancel.": lambda d_k: (
                1.0
            ),
            "This is the spread of the mean of the terms; a dot product is their "
            "sum.": lambda d_k: d_k**-0.5,
        },
    ),
    "widening": Exercise(
        answer=lambda small, large: math.sqrt(large / small),
        cases=((64, 128), (16, 256), (8, 512)),
        mistakes={
            "The variance grows by this factor; the typical size by its "
            "root.": lambda small, large: large / small,
            "The root of the difference is not a factor.": lambda small, large: math.sqrt(
                large - small
            ),
            "This is the factor the other way round.": lambda small, large: math.sqrt(
                small / large
            ),
            "Sizes are not what is compared: how much larger, not how much in "
            "all.": lambda small, large: math.sqrt(large),
        },
    ),
    "dot_of_constants": Exercise(
        answer=lambda c, d: c**2 * d,
        cases=((10, 2), (10, 5), (-3, 7), (0.5, 64)),
        mistakes={
            "Each term is a product of two components.": lambda c, d: c * d,
            "Equal terms do not cancel: no root.": lambda c, d: c**2 * math.sqrt(d),
            "The d terms are added, not multiplied.": lambda c, d: (c * d) ** 2,
        },
    ),
    "mean_in_stds": Exercise(
        answer=lambda d_k: 3 * math.sqrt(d_k / 7),
        cases=((1,), (16,), (64,)),
        mistakes={
            "The products do not have variance 1: take the second moment, 1/9, less the squared "
            "mean.": lambda d_k: math.sqrt(d_k) / 4,
            "This takes 1/9 for the variance of a product; the square of its mean is still to be "
            "taken off.": lambda d_k: 0.75 * math.sqrt(d_k),
            "The standard deviation of the sum grows like the root of d_k, not like "
            "d_k.": lambda d_k: 3 / math.sqrt(7),
            "The mean grows like d_k, and the standard deviation like its root.": lambda d_k: (
                3 * d_k / math.sqrt(7)
            ),
        },
    ),
}
