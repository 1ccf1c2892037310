"""Exercises of the chapter "Why exactly the square root?"."""

import math

from sdpa_lib.exercises._exercise import Exercise

EXERCISES: dict[str, Exercise] = {
    "divisor": Exercise(
        answer=lambda d_k: math.sqrt(d_k),
        cases=((2,), (8,), (64,), (512,)),
        mistakes={
            "This divides by d_k itself: the variance of the scaled score becomes 1/d_k, not 1.": lambda d_k: d_k,
            "This does not divide at all: the variance stays d_k.": lambda d_k: 1.0,
            "This is the factor to multiply by; the question asks for the divisor.": lambda d_k: d_k**-0.5,
        },
    ),
}
