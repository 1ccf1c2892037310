"""Exercises of the chapter "Do the gradients really vanish?"."""

import math

from sdpa_lib.book.exercises._exercise import Exercise

EXERCISES: dict[str, Exercise] = {
    "starved_gradient": Exercise(
        answer=lambda n, d_k, d_v, c: math.sqrt(d_k * d_v / n) / c,
        cases=((256, 64, 64, 800.0), (32, 16, 4, 100.0)),
        mistakes={
            "The keys' length is missing: each key has length √d_k.": lambda n, d_k, d_v, c: (
                math.sqrt(d_v / n) / c
            ),
            "n terms of size 1/n that differ in sign add up to 1/√n, not to "
            "1/n.": lambda n, d_k, d_v, c: math.sqrt(d_k * d_v) / n / c,
            "The chain rule divides by c once more: z = q·k/c.": lambda n, d_k, d_v, c: math.sqrt(
                d_k * d_v / n
            ),
            "Upstream gradient and value meet in a dot product of d_v "
            "terms.": lambda n, d_k, d_v, c: math.sqrt(d_k / n) / c,
        },
    ),
    "exponent": Exercise(
        answer=lambda m: 1 - m,
        cases=((0,), (1,), (2,)),
        mistakes={
            "This is the size of an undecided query's gradient; how many are there?": lambda m: -m,
            "Undecided queries are rarer for a smaller divisor: their share is proportional to "
            "r.": lambda m: -m - 1,
            "The gradient is of order 1/r, not r.": lambda m: 1 + m,
        },
    ),
    "best_r": Exercise(
        answer=0.15,
        mistakes={
            "At 0.1 most queries have decided.": 0.1,
            "A little smaller is better still: hardly more queries have decided, and 1/r is "
            "larger.": 0.2,
            "Much smaller is better: most queries are undecided, and 1/r is small.": 0.4,
        },
    ),
}
