"""A small layer that learns to look something up: chapter 5's example of a training, and how many
steps it needs on batches of several sizes.
"""

from sdpa_book.studies.lookup.layer import (
    BATCHES,
    KEYS,
    WIDTH,
    agreement_by_weight,
    batches_agree,
    draw_batches,
    first_gradients,
    first_move,
    lookup_loss,
    matrices,
    train,
)
from sdpa_book.studies.lookup.read import best_steps, load_steps
