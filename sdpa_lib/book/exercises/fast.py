"""Exercises of the chapter "The same mathematics, fast"."""

import torch

from sdpa_lib.book.exercises._exercise import Exercise

_Q = torch.tensor([1.0, -2.0, 2.0, 4.0])
_LENGTHS = torch.tensor([3.0, 1.0, 2.0, 5.0])

EXERCISES: dict[str, Exercise] = {
    "folded_query": Exercise(
        answer=lambda q, c: q / c,
        cases=((_Q, 8.0), (_Q, 0.5)),
        mistakes={
            "This multiplies the scores by c.": lambda q, c: q * c,
            "Only the query is divided, so it takes the whole of c, not its root.": lambda q, c: (
                q / c**0.5
            ),
            "This takes a number off each component; a dot product is divided by dividing a "
            "factor.": lambda q, c: q - c,
        },
    ),
    "causal_k_total": Exercise(
        answer=lambda lengths: lengths.cumsum(-1),
        cases=((_LENGTHS,),),
        mistakes={
            "This is the sum over all keys, for every row: without a mask.": lambda lengths: (
                lengths.sum().expand(len(lengths))
            ),
            "A query sees its own key, too.": lambda lengths: lengths.cumsum(-1) - lengths,
            "This sums over the keys that come later.": lambda lengths: (
                lengths.flip(0).cumsum(-1).flip(0)
            ),
        },
    ),
    "std_given_query": Exercise(
        answer=lambda q: q.norm(),
        cases=((_Q,), (3 * _Q,)),
        mistakes={
            "This is the variance.": lambda q: q.square().sum(),
            "This is the mean over queries; the query is given.": lambda q: torch.tensor(
                len(q) ** 0.5
            ),
            "Variances add, not standard deviations.": lambda q: q.abs().sum(),
        },
    ),
    "first_dimension": Exercise(
        answer=10**5,
        mistakes={
            "At 100 more than a tenth is left for the others.": 10**2,
            "At 1,000 several per cent are left.": 10**3,
            "At 10,000 it is still more than one per cent.": 10**4,
        },
    ),
}
