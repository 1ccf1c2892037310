"""The product with V: blends, hulls, and what a projection drops."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from sdpa_book.ledger.checks.difference import difference
from sdpa_book.ledger.checks.softmaxes_checks import DOG_BITES_MAN, PUBLISHED, _softmax
from sdpa_book.ledger.verdict import Finding, found
from sdpa_lib.attention import scaled_dot_product_attention
from sdpa_lib.sampling import sample, sample_qkv

VALUES = ((0.9, 0.1, -0.3, 0.5), (0.2, 0.8, 0.1, -0.4), (0.4, -0.2, 0.7, 0.3))


def blend(weights: Sequence[float]) -> Finding:
    """The blend of the three value vectors of "dog bites man" with given weights; as a fact, with
    those of the scores.
    """
    from_scores = _blend(_softmax(DOG_BITES_MAN[0]).tolist())
    return found(_blend(weights), from_scores=", ".join(f"{x:.3f}" for x in from_scores))


def _blend(weights: Sequence[float]) -> list[float]:
    return [sum(w * v[c] for w, v in zip(weights, VALUES, strict=True)) for c in range(4)]


def shares_of_dog(printed: bool) -> Finding:
    """What per cent of "dog" comes from each token, by the printed weights or by the softmax of the
    printed scores.
    """
    return found(
        [100 * w for w in (PUBLISHED[0] if printed else _softmax(DOG_BITES_MAN[0]).tolist())]
    )


def output_is_weighted_sum() -> Finding:
    """Each output row against the sum of weights times value rows, one at a time: the largest
    difference.
    """
    q, k, v = sample_qkv(3, 5, 16, seed=0, device="cpu")
    out, p = scaled_dot_product_attention(q, k, v, return_weights=True)
    by_hand = torch.stack(
        [sum((p[i, j] * v[j] for j in range(5)), torch.zeros_like(v[0])) for i in range(3)]
    )
    return found(difference(out, by_hand))


def one_hot_copies() -> Finding:
    """The output of a one-hot row against the value it points at: the largest difference."""
    _, _, v = sample_qkv(1, 5, 16, seed=0, device="cpu")
    return found(
        max(difference(row @ v, v[j]) for j, row in enumerate(torch.eye(5, dtype=v.dtype)))
    )


def in_hull() -> Finding:
    """How far any of 1,000 outputs leaves the range of the values along 200 random directions:
    negative, if none does.
    """
    q, k, v = sample_qkv(1000, 8, 16, seed=1, device="cpu")
    out = scaled_dot_product_attention(q, k, v)
    assert isinstance(out, Tensor)
    directions = sample(16, 200, seed=2, device="cpu")
    return found(((out @ directions).amax(0) - (v @ directions).amax(0)).max().item())


def depends_on_others(after: bool, causal: bool = False) -> Finding:
    """The derivative of a token's vector by another's embedding: the largest before attention, the
    smallest after it.
    """
    X = sample(3, 16, seed=3, device="cpu").requires_grad_()
    W_Q, W_K, W_V = (sample(16, 16, seed=3, stream=s, device="cpu") / 4 for s in (1, 2, 3))
    out = (
        scaled_dot_product_attention(X @ W_Q, X @ W_K, X @ W_V, is_causal=causal)
        if after
        else X * 1.0
    )
    assert isinstance(out, Tensor)
    (gradient,) = torch.autograd.grad(out[0].sum(), X)
    by_the_others = gradient[1:].norm(dim=-1)
    return found((by_the_others.min() if after else by_the_others.max()).item())


def where_values_enter() -> Finding:
    """The largest derivative of the weights by the values; as a fact, of the output."""
    q, k, v = sample_qkv(3, 5, 16, seed=7, device="cpu")
    v = v.requires_grad_()
    out, p = scaled_dot_product_attention(q, k, v, return_weights=True)
    weights, output = (
        torch.autograd.grad(x.sum(), v, allow_unused=True, materialize_grads=True)[0]
        .abs()
        .max()
        .item()
        for x in (p + 0.0 * v.sum(), out)
    )
    return found(weights, output=output)


def blend_is_linear() -> Finding:
    """T(ax + by) against aT(x) + bT(y): the largest difference."""
    v, x, y = (
        sample(5, 16, seed=8, device="cpu"),
        sample(5, seed=9, device="cpu"),
        sample(5, seed=10, device="cpu"),
    )
    return found(difference((2.0 * x - 3.0 * y) @ v, 2.0 * (x @ v) - 3.0 * (y @ v)))


def unseen_share(d_model: int, d_v: int) -> Finding:
    """The share of a random embedding's squared length that a random W_V of that width doesn't
    see.
    """
    u = sample(1, d_model, seed=4, device="cpu")
    W_V = sample(d_model, d_v, seed=4, stream=1, device="cpu") / math.sqrt(d_model)
    h = u - (u @ W_V) @ torch.linalg.pinv(W_V)
    return found(difference((h.norm() / u.norm()).item() ** 2, 0.0))


def projection_changes(d_model: int = 64) -> Finding:
    """How far V = X W_V is from X, relative to X, for a random square W_V."""
    X, W_V = (
        sample(3, d_model, seed=6, device="cpu"),
        sample(d_model, d_model, seed=6, stream=1, device="cpu") / math.sqrt(d_model),
    )
    return found(((X @ W_V - X).norm() / X.norm()).item())
