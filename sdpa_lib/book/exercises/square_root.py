"""Exercises of the chapter "Why exactly the square root?"."""

import math

from sdpa_lib.book.exercises._exercise import Exercise

EXERCISES: dict[str, Exercise] = {
    "divisor": Exercise(
        answer=lambda d_k: math.sqrt(d_k),
        cases=((2,), (8,), (64,), (512,)),
        mistakes={
            "This divides by d_k itself: the variance of the scaled score becomes 1/d_k, not "
            "1.": lambda d_k: d_k,
            "This does not divide at all: the variance stays d_k.": lambda d_k: 1.0,
            "This is the factor to multiply by; the question asks for the divisor.": lambda d_k: (
                d_k**-0.5
            ),
        },
    ),
    "exponent_of_std": Exercise(
        answer=lambda p: 0.5 - p,
        cases=((0.0,), (1 / 3,), (0.5,), (1.0,)),
        mistakes={
            "This is the exponent of the variance; the standard deviation is its root.": lambda p: (
                1 - 2 * p
            ),
            "The sign is turned round: a larger divisor gives a smaller spread.": lambda p: p - 0.5,
            "This forgets that the undivided score has a spread that grows with d_k, "
            "too.": lambda p: -p,
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
            "The root belongs to d_k alone: the standard deviations are roots "
            "already.": lambda d_k, std_q, std_k: math.sqrt(d_k * std_q * std_k),
            "Standard deviations of a product multiply; they do not "
            "add.": lambda d_k, std_q, std_k: (std_q + std_k) * math.sqrt(d_k),
            "Here d_k lost its root: the terms partly cancel.": lambda d_k, std_q, std_k: (
                std_q * std_k * d_k
            ),
        },
    ),
    "correlated": Exercise(
        answer=64,
        mistakes={
            "This uses the correlation without squaring it: both the query and the key contribute "
            "one factor.": 16,
            "At this size the variance is not yet above 3.": 32,
            "A smaller power of two is enough already.": 128,
        },
    ),
}
