"""What one attention that has just been started hands down of a gradient: measured by autograd, and
the density by which a closed form for small divisors has it.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

import sdpa_lib as sdpa
from sdpa_book.measured import Measured, mean_and_error
from sdpa_book.studies.depth.recursion import check_correlation
from sdpa_lib._checks import check_count, check_number

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
    x = _alike(models, n_tokens, width, check_correlation(correlation), 0).requires_grad_()
    sizes = (N_HEADS * d_k, N_HEADS * d_k, width, width)
    W_Q, W_K, W_V, W_O = (
        sdpa.sample(models, width, size, seed=SEED, stream=stream) / math.sqrt(width)
        for stream, size in enumerate(sizes, start=1)
    )
    q, k, v = ((x @ W).view(models, n_tokens, N_HEADS, -1).transpose(1, 2) for W in (W_Q, W_K, W_V))
    blended = torch.softmax(q @ k.mT / divisor, dim=-1) @ v  # (models, heads, tokens, d_v)
    out = blended.transpose(1, 2).flatten(2) @ W_O
    sent = _alike(models, n_tokens, width, check_correlation(gradients), 5)
    (arrived,) = torch.autograd.grad(out, x, sent)
    below, above = (g.square().mean((1, 2)) for g in (arrived, sent))
    return mean_and_error(below / above)


def _alike(models: int, n_tokens: int, width: int, correlation: float, stream: int) -> Tensor:
    """Normal vectors of variance 1, any two of a sequence with this correlation."""
    own, shared = (
        sdpa.sample(models, count, width, seed=SEED, stream=s)
        for count, s in ((n_tokens, stream), (1, stream + 10))
    )
    return math.sqrt(1 - correlation) * own + math.sqrt(correlation) * shared


def gap_density(n_keys: int) -> float:
    """The density, at 0, of the gap between the two largest of independent standard normal numbers:
    how many queries are undecided when their scores spread far.

    Args:
        n_keys: how many numbers, at least 2.

    Example:
        >>> round(gap_density(2), 4), round(1 / 3.141592653589793**0.5, 4)
        (0.5642, 0.5642)
    """
    n = check_count("n_keys", n_keys, minimum=2)
    z = torch.linspace(-8, 8, 4001, dtype=torch.float64)
    both = torch.exp(-(z**2)) * torch.special.ndtr(z) ** (n - 2)
    return n * (n - 1) * torch.trapezoid(both, z).item() / (2 * math.pi)
