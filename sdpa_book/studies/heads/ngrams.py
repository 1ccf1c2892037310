"""What a count of short pieces of text predicts: the losses that a decoder's are compared with."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from sdpa_lib._checks import check_count

LONGEST = 8
"""The bytes of a piece fit into one number."""


def ngram_losses(text: Tensor, passages: Tensor, orders: int) -> list[float]:
    """The mean loss in nats a byte of predictions from the last bytes alone.

    Pieces are counted in the text. The probability of a byte after a context of k - 1 bytes mixes
    their counts with the probability after k - 2 bytes, which weighs the more, the more different
    bytes followed the context :cite:p:`witten1991`; below one byte stands 1/256.

    Args:
        text: (N,), uint8, what is counted.
        passages: (B, n + 1), as a decoder reads them: contexts do not go beyond their beginning.
        orders: up to how many bytes a piece has, at most ``LONGEST``.

    Returns:
        The loss of pieces of one byte, of up to two, and so on.

    Example:
        >>> import torch
        >>> text = torch.tensor([97, 98] * 500, dtype=torch.uint8)
        >>> [round(loss, 2) for loss in ngram_losses(text, text[:10].view(1, 10), 2)]
        [0.7, 0.0]
    """
    if check_count("orders", orders) > LONGEST:
        raise ValueError(f"orders must be at most {LONGEST}, got {orders}")
    read, asked = text.numpy(), passages.numpy().astype(np.uint64)
    pieces = np.zeros(len(read) + 1, np.uint64)
    wanted = np.zeros((len(asked), asked.shape[1] + 1), np.uint64)
    probability = np.full((len(asked), asked.shape[1] - 1), 1 / 256)
    losses = []
    for order in range(1, orders + 1):
        # a piece as a number: its first byte, and what follows it, the piece that is one shorter
        shift = np.uint64(8 * (order - 1))
        pieces = (read[: len(read) - order + 1].astype(np.uint64) << shift) + pieces[1:]
        wanted = (asked[:, : asked.shape[1] - order + 1] << shift) + wanted[:, 1:]
        known, counts = np.unique(pieces, return_counts=True)
        contexts, first, followers = np.unique(
            known >> np.uint64(8), return_index=True, return_counts=True
        )
        here = wanted[:, max(0, 2 - order) :]  # the first byte is not asked for
        shorter = probability[:, max(0, order - 2) :]  # a view: those with a context so long
        count = _at(known, counts, here)
        total = _at(contexts, np.add.reduceat(counts, first), here >> np.uint64(8))
        different = _at(contexts, followers, here >> np.uint64(8))
        mixed = (count + different * shorter) / np.maximum(total + different, 1)
        shorter[:] = np.where(total > 0, mixed, shorter)
        losses.append(float(-np.log(probability).mean()))
    return losses


def _at(names: Any, values: Any, wanted: Any) -> Any:
    """The values of names in ascending order, 0 for one that is not among them."""
    place = np.searchsorted(names, wanted).clip(max=len(names) - 1)
    return np.where(names[place] == wanted, values[place], 0)
