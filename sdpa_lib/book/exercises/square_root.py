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
    "correlated_divisor": Exercise(
        answer=lambda d_k, rho: math.sqrt(d_k * (1 + (d_k - 1) * rho**2)),
        cases=((64, 0.2), (4, 0.0), (16, 1.0), (1024, 0.1)),
        mistakes={
            "This is right for uncorrelated components only.": lambda d_k, rho: math.sqrt(d_k),
            "The query and the key each contribute a factor rho.": lambda d_k, rho: math.sqrt(
                d_k * (1 + (d_k - 1) * rho)
            ),
            "This is the variance of the score; divide by its root.": lambda d_k, rho: (
                d_k * (1 + (d_k - 1) * rho**2)
            ),
            "There are d_k (d_k - 1) pairs of different components, not d_k pairs.": (
                lambda d_k, rho: math.sqrt(d_k * (1 + rho**2))
            ),
            "Of the d_k * d_k pairs, d_k are a component with itself: only d_k - 1 other "
            "components correlate.": lambda d_k, rho: math.sqrt(d_k * (1 + d_k * rho**2)),
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
