"""Exercises of the chapter "Why is the variance exactly d_k?"."""

import math

from sdpa_book.exercises.exercise import Exercise

EXERCISES: dict[str, Exercise] = {
    "product_variance": Exercise(
        answer=lambda mx, vx, my, vy: vx * vy + mx**2 * vy + my**2 * vx,
        cases=((0.0, 1.0, 0.0, 1.0), (2.0, 1.0, -1.0, 9.0), (0.5, 4.0, 3.0, 0.25)),
        mistakes={
            "This is right for zero means only.": lambda mx, vx, my, vy: vx * vy,
            "Each mean goes with the other factor's variance.": lambda mx, vx, my, vy: (
                vx * vy + mx**2 * vx + my**2 * vy
            ),
            "This is E[X²Y²]; the square of E[XY] is still to be "
            "subtracted.": lambda mx, vx, my, vy: (vx + mx**2) * (vy + my**2),
            "The means enter squared.": lambda mx, vx, my, vy: (
                vx * vy + abs(mx) * vy + abs(my) * vx
            ),
        },
    ),
    "hidden_means": Exercise(
        answer=lambda all_scores, within_row: (
            math.sqrt(within_row - 1),
            math.sqrt(all_scores - within_row),
        ),
        cases=((3.0, 2.0), (1.5, 1.25), (6.0, 5.0), (2.0, 1.0)),
        mistakes={
            "These are the squares of the means.": lambda total, row: (row - 1, total - row),
            "The other way round: a mean of the keys adds the same number to a whole row, so "
            "softmax does not see it.": lambda total, row: (
                math.sqrt(total - row),
                math.sqrt(row - 1),
            ),
            "The variance of all scores together holds the squares of both means; subtract what "
            "the rows have already.": lambda total, row: (math.sqrt(row - 1), math.sqrt(total - 1)),
            "A head without means has the variance 1 already; subtract it first.": (
                lambda total, row: (math.sqrt(row), math.sqrt(total - row))
            ),
            "All scores together show both means, but a row shows only one of them.": (
                lambda total, row: (math.sqrt((total - 1) / 2),) * 2
            ),
        },
    ),
    "tied_projections": Exercise(
        answer=lambda d_k, d_model: 1 + d_k / d_model,
        cases=((64, 512), (256, 512), (512, 512), (64, 128)),
        tolerance=0.03,  # an answer may be measured
        mistakes={
            "The tokens are independent, but since their queries and keys come out of one matrix, "
            "both are long in the same directions. Measure it.": lambda d_k, d_model: 1.0,
            "This is what is added to the variance of separate projections, which is "
            "1.": lambda d_k, d_model: d_k / d_model,
            "In a wider head queries and keys have more in common.": lambda d_k, d_model: (
                1 + d_model / d_k
            ),
            "That holds for a square projection only.": lambda d_k, d_model: 2.0,
            "This is the standard deviation; the question asks for the variance.": (
                lambda d_k, d_model: math.sqrt(1 + d_k / d_model)
            ),
            "This is the variance of the raw score; divide it by d_k.": lambda d_k, d_model: (
                d_k * (1 + d_k / d_model)
            ),
        },
    ),
}
