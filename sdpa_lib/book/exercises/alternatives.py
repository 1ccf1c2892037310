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
    ),
    "p_norm": Exercise(
        answer=lambda keys, p: keys.norm(dim=-1).pow(p).sum() ** (1 / p),
        cases=tuple((keys, p) for keys in _KEYS for p in (1.0, 2.0, 4.0)),
        mistakes={
            "The last root, 1/p, is missing.": lambda keys, p: keys.norm(dim=-1).pow(p).sum(),
            "The length of a key is its Euclidean norm, whatever p is.": lambda keys, p: keys.norm(
                p=p
            ),
            "This takes a mean over the keys where a sum belongs.": lambda keys, p: (
                keys.norm(dim=-1).pow(p).mean() ** (1 / p)
            ),
            "The lengths ran down the columns.": lambda keys, p: (
                keys.norm(dim=0).pow(p).sum() ** (1 / p)
            ),
        },
    ),
    "best_c": Exercise(
        answer=0.2,
        mistakes={
            "So small a divisor leaves most queries saturated.": 0.1,
            "Near, but a smaller divisor passes on more.": 0.4,
            "This would be close to the root; look at what a smaller divisor gives.": 0.8,
            "This is what the shape prefers; the gradient does not.": 1.6,
        },
    ),
}
