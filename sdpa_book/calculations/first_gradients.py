"""What the links, queries and matrices of an attention layer receive before training."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from sdpa_book.calculations.drawn import drawn
from sdpa_lib._checks import check_count, check_number

N_KEYS, D_MODEL, D_V = 32, 128, 64


def through_attention(
    q: Tensor, k: Tensor, v: Tensor, a: Tensor, c: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The way back through attention with divisor ``c``, of the gradient ``a`` at its output.

    Returns:
        The weights, and the gradients at the links, the queries and the keys.

    Example:
        >>> q, k, v, a = torch.zeros(1, 2), torch.ones(2, 2), torch.eye(2), torch.ones(1, 2)
        >>> weights, at_links, at_queries, at_keys = through_attention(q, k, v, a, c=2.0)
        >>> weights, at_links
        (tensor([[0.5000, 0.5000]]), tensor([[0., 0.]]))
    """
    p = torch.softmax(q @ k.mT / c, dim=-1)
    u = a @ v.mT  # at the weights
    g = p * (u - (p * u).sum(-1, keepdim=True))  # at the scores
    links = g / c  # at the dot products
    return p, links, links @ k, links.mT @ q


def layers_at_start(
    d_k: int, c: float, layers: int = 400, n_keys: int = N_KEYS, correlation: float = 0.0
) -> dict[str, Tensor]:
    """Sizes of the gradients in freshly drawn layers, each with projections of its own.

    The tokens have left a LayerNorm, queries, keys and values have components of variance 1, and so
    has the gradient that arrives.

    Args:
        d_k: of the layers.
        c: the divisor; ``c / v`` stands for c where components have variance v.
        layers: how many.
        n_keys: tokens of a layer, each with a query and a key.
        correlation: of two tokens before LayerNorm, in [0, 1): they share a part.

    Returns:
        ``weights`` and ``links``, (layers, n_keys, n_keys); ``queries``, (layers, n_keys); and
        (layers,) of ``W_Q`` and ``W_K``; and (layers, 2) of ``quieter W_Q``, without the four and
        the eight loudest queries.

    Example:
        >>> layers_at_start(64, 8.0, layers=2)["queries"].shape
        torch.Size([2, 32])
    """
    check_count("d_k", d_k)
    check_number("c", c, above=0.0)
    check_count("layers", layers)
    check_count("n_keys", n_keys)
    if check_number("correlation", correlation, minimum=0.0) >= 1:
        raise ValueError(f"correlation must be below 1, got {correlation}")
    x = drawn(layers, n_keys, D_MODEL, seed=4)
    if correlation:
        shared = drawn(layers, 1, D_MODEL, seed=4, stream=4)
        x = math.sqrt(correlation) * shared + math.sqrt(1 - correlation) * x
    x = F.layer_norm(x, (D_MODEL,))
    W_Q, W_K, W_V = (
        drawn(layers, D_MODEL, d, seed=4, stream=s) / math.sqrt(D_MODEL)
        for s, d in ((1, d_k), (2, d_k), (3, D_V))
    )
    a = drawn(layers, n_keys, D_V, seed=5)
    p, links, at_queries, at_keys = through_attention(x @ W_Q, x @ W_K, x @ W_V, a, c)
    size = at_queries.norm(dim=-1, keepdim=True)  # (layers, n_keys, 1)
    loudest = (min(n, n_keys) for n in (4, 8))
    quieter = [at_queries * (size < size.topk(n, dim=-2).values[:, -1:]) for n in loudest]
    return {
        "weights": p,
        "links": links.abs(),
        "queries": size.squeeze(-1),
        "W_Q": (x.mT @ at_queries).norm(dim=(-2, -1)),
        "quieter W_Q": torch.stack([(x.mT @ q).norm(dim=(-2, -1)) for q in quieter], dim=-1),
        "W_K": (x.mT @ at_keys).norm(dim=(-2, -1)),
    }
