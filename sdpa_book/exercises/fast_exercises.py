"""Exercises of the chapter on watching a model and changing its divisor."""

import torch

from sdpa_book.exercises.exercise import Exercise

_Q = torch.tensor([1.0, -2.0, 2.0, 4.0])


EXERCISES: dict[str, Exercise] = {
    "folded_query": Exercise(
        answer=lambda q, c: q / c,
        cases=((_Q, 8.0), (_Q, 0.5)),
        mistakes={
            "This multiplies the scores by c.": lambda q, c: q * c,
            "Only the query is divided, so divide it by the whole of c and not by its "
            "root.": lambda q, c: q / c**0.5,
            "This takes a number off each component. To divide a dot product, divide one of the "
            "two vectors.": lambda q, c: q - c,
        },
    ),
    "column": Exercise(
        answer="spread",
        mistakes={
            "Both heads have large scores, and this is the largest of them.": "largest_score",
            "This is what dot products are multiplied by, and no matrix and no bias changes it.": (
                "scale"
            ),
            "How many keys a row sees is up to the mask.": "keys",
        },
    ),
    "missed": Exercise(
        answer="number",
        mistakes={
            "Every query sees the first key, so this one is no leak.": "first",
            "The last key changes with the others, and so the first test finds it.": "last",
            "Longer keys have a longer mean, and so the first test finds it.": "mean",
        },
    ),
}
