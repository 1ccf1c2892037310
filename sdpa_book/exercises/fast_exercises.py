"""Exercises of the chapter on a rescaling of one's own, and what it costs."""

import torch
import torch.nn.functional as F
from torch import Tensor

from sdpa_book.exercises.exercise import Exercise

_Q = torch.tensor([1.0, -2.0, 2.0, 4.0])
_LENGTHS = torch.tensor([3.0, 1.0, 2.0, 5.0])


def _windowed(lengths: Tensor, window: int) -> Tensor:
    """Sums over the last ``window`` entries."""
    sums = F.pad(lengths.cumsum(-1), (window, 0))
    return sums[..., window:] - sums[..., :-window]


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
    "windowed_k_total": Exercise(
        answer=_windowed,
        cases=((_LENGTHS, 2), (_LENGTHS, 4), (_LENGTHS, 1)),
        mistakes={
            "This is the running sum over all keys so far; the window forgets the old ones.": (
                lambda lengths, window: lengths.cumsum(-1)
            ),
            "A query sees its own key, too.": lambda lengths, window: (
                _windowed(lengths, window) - lengths
            ),
            "These rows see one key too many: the window has its own key in it.": (
                lambda lengths, window: _windowed(lengths, window + 1)
            ),
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
