"""Exercises of the chapter "How sharp is too sharp? A phase transition"."""

import math

from sdpa_lib.book.exercises._exercise import Exercise

EXERCISES: dict[str, Exercise] = {
    "border": Exercise(
        answer=lambda n: math.sqrt(2 * math.log(n)),
        cases=((32,), (4096,)),
        mistakes={
            "This is the variance at the border.": lambda n: 2 * math.log(n),
            "The largest of n normal numbers is near √(2 ln n) standard deviations: the 2 is "
            "missing.": lambda n: math.sqrt(math.log(n)),
            "The logarithm of the number of keys, not its root.": lambda n: math.sqrt(2 * n),
        },
    ),
    "attended": Exercise(
        answer=lambda n, sigma: n * math.exp(-(sigma**2) / 2),
        cases=((1000, 1.0), (4096, 0.5)),
        mistakes={
            "This is the order-2 number, 1/Σp²; e to the entropy is larger.": lambda n, sigma: (
                n * math.exp(-(sigma**2))
            ),
            "This grows with σ: a sharper row attends to fewer keys.": lambda n, sigma: (
                n * math.exp(sigma**2 / 2)
            ),
            "The logarithm of n enters; e to it is n itself.": lambda n, sigma: (
                math.log(n) - sigma**2 / 2
            ),
        },
    ),
    "length": Exercise(
        answer=10**4,
        mistakes={
            "At 100 others it still has 95 %.": 10**2,
            "At 1,000 it has a little more than half.": 10**3,
            "It is lost earlier: e to the power of 7.5 is enough.": 10**5,
        },
    ),
}
