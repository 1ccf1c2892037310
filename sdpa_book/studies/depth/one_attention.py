"""What one attention that has just been started hands down of a gradient, measured by autograd."""

from __future__ import annotations

import math
from functools import partial

import torch

from sdpa_book.calculations.query_gradients import related
from sdpa_book.studies.depth.recursion import check_correlation
from sdpa_book.writing.measured import Measured, mean_and_error
from sdpa_lib._checks import check_count, check_number
from sdpa_lib.sampling import sample

N_HEADS = 2
SEED = 5


def attention_gain(
    d_k: int,
    divisor: float,
    *,
    n_tokens: int = 16,
    width: int = 64,
    models: int = 150,
    correlation: float = 0.0,
    gradients: float = 0.0,
) -> Measured:
    """The gradient's mean square at an attention's input over that at its output, with two heads
    and matrices of variance one over the number of inputs, each model with tokens of its own.

    Args:
        d_k: of a head.
        divisor: what the dot products are divided by, greater than 0.
        n_tokens: in a sequence.
        width: of a token, an even number.
        models: how many are averaged over, at least 2.
        correlation: of two tokens, in [0, 1].
        gradients: the correlation of the gradients that arrive at two tokens, in [0, 1].

    Example:
        >>> undivided, root = attention_gain(64, 1.0), attention_gain(64, 8.0)
        >>> undivided.value > 20 * root.value
        True
    """
    check_number("divisor", divisor, above=0.0)
    check_count("models", models, minimum=2)
    alike = partial(related, models, n_tokens, width, seed=SEED, dtype=None)
    x = alike(check_correlation(correlation), 0).requires_grad_()
    sizes = (N_HEADS * d_k, N_HEADS * d_k, width, width)
    W_Q, W_K, W_V, W_O = (
        sample(models, width, size, seed=SEED, stream=stream) / math.sqrt(width)
        for stream, size in enumerate(sizes, start=1)
    )
    q, k, v = ((x @ W).view(models, n_tokens, N_HEADS, -1).transpose(1, 2) for W in (W_Q, W_K, W_V))
    blended = torch.softmax(q @ k.mT / divisor, dim=-1) @ v  # (models, heads, tokens, d_v)
    out = blended.transpose(1, 2).flatten(2) @ W_O
    sent = alike(check_correlation(gradients), 5)
    (arrived,) = torch.autograd.grad(out, x, sent)
    below, above = (g.square().mean((1, 2)) for g in (arrived, sent))
    return mean_and_error(below / above)
