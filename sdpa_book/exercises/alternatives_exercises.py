"""Exercises of the chapter "Would another divisor do better?"."""

import math

from sdpa_book.exercises.exercise import Exercise

EXERCISES: dict[str, Exercise] = {
    "divisor_is": Exercise(
        answer="k_mean",
        mistakes={
            "With the root, a query would have hardly more than one effective key once all keys "
            "are ten times as long.": "sqrt_d_k",
            "d_k is eight times the root here, so a query would have nearly 32 effective keys "
            "before anything is changed.": "d_k",
            "The sum of lengths is about 32 times as large as one length, so a query would attend "
            "to all 32 keys alike.": "k_total",
        },
    ),
    "half_at": Exercise(
        answer=lambda d_k: 1 + math.exp(math.sqrt(d_k) - 0.5),
        cases=((36,), (64,), (144,)),
        mistakes={
            "The mean of e to the power of a standard normal score is √e, not 1.": lambda d_k: (
                1 + math.exp(math.sqrt(d_k))
            ),
            "With the root the score of the right key is √d_k, not d_k.": lambda d_k: (
                1 + math.exp(d_k - 0.5)
            ),
            "The others are divided by the root as well, so their scores have variance 1, and e^z "
            "has the mean √e.": lambda d_k: 1 + math.exp(math.sqrt(d_k) - d_k / 2),
        },
        tolerance=0.01,
    ),
    "best_c": Exercise(
        answer=0.8,
        mistakes={
            "With so small a divisor most queries are saturated.": 0.1,
            "That is the best at a standard deviation of 1, but now the dot products are "
            "larger.": 0.2,
            "Queries and keys are both twice as large, so their dot product is four times as "
            "large.": 0.4,
            "That is more than the root. Look at what a smaller divisor gives.": 1.6,
        },
    ),
}
