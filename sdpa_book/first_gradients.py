"""What the links, queries and matrices of an attention layer receive before training."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from sdpa_book.drawn import drawn
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


def layers_at_start(d_k: int, c: float, layers: int = 400) -> dict[str, Tensor]:
    """Sizes of the gradients in freshly drawn layers, each with projections of its own.

    The ``N_KEYS`` tokens have left a LayerNorm, queries, keys and values have components of
    variance 1, and so has the gradient that arrives.

    Returns:
        ``weights`` and ``links``, (layers, N_KEYS, N_KEYS); ``queries``, (layers, N_KEYS); and
        (layers,) of ``W_Q`` and ``W_K``; and (layers, 2) of ``quieter W_Q``, without the four and
        the eight loudest queries.

    Example:
        >>> layers_at_start(64, 8.0, layers=2)["queries"].shape
        torch.Size([2, 32])
    """
    check_count("d_k", d_k)
    check_number("c", c, above=0.0)
    check_count("layers", layers)
    x = F.layer_norm(drawn(layers, N_KEYS, D_MODEL, seed=4), (D_MODEL,))
    W_Q, W_K, W_V = (
        drawn(layers, D_MODEL, d, seed=4, stream=s) / math.sqrt(D_MODEL)
        for s, d in ((1, d_k), (2, d_k), (3, D_V))
    )
    a = drawn(layers, N_KEYS, D_V, seed=5)
    p, links, at_queries, at_keys = through_attention(x @ W_Q, x @ W_K, x @ W_V, a, c)
    size = at_queries.norm(dim=-1, keepdim=True)  # (layers, N_KEYS, 1)
    quieter = [at_queries * (size < size.topk(n, dim=-2).values[:, -1:]) for n in (4, 8)]
    return {
        "weights": p,
        "links": links.abs(),
        "queries": size.squeeze(-1),
        "W_Q": (x.mT @ at_queries).norm(dim=(-2, -1)),
        "quieter W_Q": torch.stack([(x.mT @ q).norm(dim=(-2, -1)) for q in quieter], dim=-1),
        "W_K": (x.mT @ at_keys).norm(dim=(-2, -1)),
    }
