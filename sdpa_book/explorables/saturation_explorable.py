"""Four scores and their weights."""

from __future__ import annotations

import torch

from sdpa_book.drawing import plotting

ALT = "Four scores, 2, 1, 0 and -1, and their weights after softmax: 0.64, 0.24, 0.09 and 0.03."


def draw() -> None:
    """Four scores and their weights."""
    _, axes = plotting.figure(columns=2, height=3.0)
    scores = torch.tensor([2.0, 1.0, 0.0, -1.0])
    weights = torch.softmax(scores, -1)
    keys = ["key 1", "key 2", "key 3", "key 4"]
    axes[0].bar(keys, scores, color=plotting.ROLES["query"])
    axes[0].set_title("scores")
    axes[1].bar(keys, weights, color=plotting.ROLES["weights"])
    axes[1].set(title="weights", ylim=(0, 1))
