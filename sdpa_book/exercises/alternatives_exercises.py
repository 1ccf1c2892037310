"""Exercises of the chapter "Would another divisor do better?"."""

import math

from sdpa_book.exercises.exercise import Exercise

EXERCISES: dict[str, Exercise] = {
    "divisor_is": Exercise(
        answer="k_mean",
        mistakes={
            "With the root, keys that are ten times as long would leave a query hardly more than "
            "one of them.": "sqrt_d_k",
            "d_k is eight times the root here, and knows nothing of the keys: nearly all of the 32 "
            "would count.": "d_k",
            "The sum is n times as large as one key: all of the 32 keys would count "
            "alike.": "k_total",
        },
    ),
    "half_at": Exercise(
        answer=lambda d_k: 1 + math.exp(math.sqrt(d_k) - 0.5),
        cases=((36,), (64,), (144,)),
        mistakes={
            "The mean of e to a standard normal score is √e, not 1.": lambda d_k: (
                1 + math.exp(math.sqrt(d_k))
            ),
            "With the root the score of the right key is √d_k, not d_k.": lambda d_k: (
                1 + math.exp(d_k - 0.5)
            ),
            "The others are divided by the root as well: their scores have variance 1, and e^z "
            "has the mean e to the half.": lambda d_k: 1 + math.exp(math.sqrt(d_k) - d_k / 2),
        },
        tolerance=0.01,
    ),
    "best_c": Exercise(
        answer=0.8,
        mistakes={
            "So small a divisor leaves most queries saturated.": 0.1,
            "That is the best at a standard deviation of 1: the dot products have grown.": 0.2,
            "Queries and keys are twice as large: their product grows by more than 2.": 0.4,
            "Near the root from above; look at what a smaller divisor gives.": 1.6,
        },
    ),
}
