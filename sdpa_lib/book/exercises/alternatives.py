"""Exercises of the chapter "Could something other than √d_k do better?"."""

import math

from sdpa_lib.book.exercises._exercise import Exercise
from sdpa_lib.sampling import sample

_KEYS = tuple(sample(n, d, seed=0, device="cpu") * 2 for n, d in ((3, 5), (7, 2), (4, 16)))

EXERCISES: dict[str, Exercise] = {
    "k_total": Exercise(
        answer=lambda keys: keys.norm(dim=-1).sum(),
        cases=tuple((keys,) for keys in _KEYS),
        mistakes={
            "This is the norm of the whole table: the root of the sum of squared "
            "lengths.": lambda keys: keys.norm(),
            "The lengths ran down the columns: one for each component, not one for each "
            "key.": lambda keys: keys.norm(dim=0).sum(),
            "This is the mean length; sum instead.": lambda keys: keys.norm(dim=-1).mean(),
            "These are squared lengths: a root is missing.": lambda keys: keys.square().sum(),
        },
    ),
    "typical_k_total": Exercise(
        answer=lambda n, d: n * math.sqrt(d),
        cases=((32, 16), (32, 256), (100, 64)),
        mistakes={
            "A key of d components has length √d: its squares add up to d.": lambda n, d: n * d,
            "Lengths add; they are not orthogonal legs whose squares add.": lambda n, d: math.sqrt(
                n * d
            ),
            "This is the length of one key.": lambda n, d: math.sqrt(d),
        },
        tolerance=0.03,
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
