"""Exercises of the chapter "Why exactly the square root?"."""

import math

from sdpa_book.exercises.exercise import Exercise

EXERCISES: dict[str, Exercise] = {
    "power": Exercise(
        answer=1 / 4,
        mistakes={
            "That is the power with which the variance grows: it is 1 - 2p.": 1 / 2,
            "The variance grows with d_k, so the divisor was too small: p lies below 1/2.": 3 / 4,
            "Without the division the variance would be d_k itself.": 0,
            "Mind the sign: the scores were divided by this power, not multiplied.": -1 / 4,
        },
    ),
    "general_divisor": Exercise(
        answer=lambda d_k, std_q, std_k: std_q * std_k * math.sqrt(d_k),
        cases=((4, 1.0, 1.0), (16, 2.0, 1.0), (64, 2.0, 3.0), (9, 0.5, 0.1)),
        mistakes={
            "This ignores the scales: it is right for standard deviations of 1 "
            "only.": lambda d_k, std_q, std_k: math.sqrt(d_k),
            "This is the variance of the score; divide by its root.": lambda d_k, std_q, std_k: (
                d_k * (std_q * std_k) ** 2
            ),
            "The root belongs to d_k alone, because the standard deviations are roots "
            "already.": lambda d_k, std_q, std_k: math.sqrt(d_k * std_q * std_k),
            "Standard deviations of a product multiply; they do not "
            "add.": lambda d_k, std_q, std_k: (std_q + std_k) * math.sqrt(d_k),
            "Here d_k lost its root: the terms partly cancel.": lambda d_k, std_q, std_k: (
                std_q * std_k * d_k
            ),
        },
    ),
    "largest_variance": Exercise(
        answer=lambda d_k: d_k,
        cases=((4,), (64,), (1024,)),
        mistakes={
            "That is so if the components of one of the two have equal variances. Let all of the "
            "variance lie in one component of each.": lambda d_k: 1,
            "This is the variance before the division by the root.": lambda d_k: d_k**2,
            "This is the standard deviation; the question asks for the variance.": math.sqrt,
            "A query with all of its variance in one component is half of it. Do the same with the "
            "key.": lambda d_k: 2,
        },
    ),
    "found": Exercise(
        answer=256,
        mistakes={
            "At this size the largest of the other keys still wins most of the time.": 128,
            "At this size the right key wins for a small part of the queries.": 64,
            "A smaller power of two is enough already.": 512,
        },
    ),
}
