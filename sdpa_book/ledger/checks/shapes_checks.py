"""Shapes, places and formulas: what follows from the definitions alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from sdpa_book.ledger.checks.difference import difference
from sdpa_book.ledger.verdict import Finding, found
from sdpa_lib.attention import attention_scores, attention_weights, scaled_dot_product_attention
from sdpa_lib.sampling import sample, sample_qkv

WORDS = ("love", "Apple", "phones")


def shape(of: str, d_k: Sequence[int] = (64,), n: int = 3, d_model: int = 512) -> Finding:
    """The shape of one of the matrices of a head, for each size d_k of the head."""
    return found([float(size) for d in d_k for size in _matrices(d, n, d_model)[of].shape])


def _matrices(d_k: int, n: int, d_model: int) -> dict[str, Tensor]:
    X = sample(n, d_model, seed=0, device="cpu")
    W = sample(d_model, d_k, seed=0, stream=1, device="cpu")
    Q = K = V = X @ W
    scores = Q @ K.T
    weights = torch.softmax(scores / math.sqrt(d_k), dim=-1)
    return {
        "X": X,
        "W": W,
        "Q": Q,
        "scores": scores,
        "divided": scores / math.sqrt(d_k),
        "weights": weights,
        "output": weights @ V,
    }


def dimensions(n_keys: int, d_k: int, d_v: int) -> Finding:
    """The length of an output row."""
    q, k, v = sample_qkv(1, n_keys, d_k, d_v, seed=0, device="cpu")
    return found(float(scaled_dot_product_attention(q, k, v).shape[-1]))


def values_and_keys_must_pair() -> Finding:
    """1 if attention with one value more than keys is refused by torch, too, and 0 if it is not."""
    q, k, v = sample_qkv(2, 5, 8, seed=0, device="cpu")
    extra = torch.cat([v, v[:1]])
    try:
        F.scaled_dot_product_attention(q, k, extra)
    except RuntimeError:
        return found(1.0)
    return found(0.0)


def attention_formula(written: str = "as it stands") -> Finding:
    """softmax(QK^T / sqrt(d_k)) V against torch's own attention: the largest difference. The
    formula is written as it stands, or with the query divided in place of the scores, or without
    softmax. As a fact the difference without the divisor.
    """
    q, k, v = sample_qkv(3, 3, 64, seed=0, device="cpu")
    output = {
        "as it stands": torch.softmax(q @ k.T / 8, dim=-1) @ v,
        "with the query divided": torch.softmax(q / 8 @ k.T, dim=-1) @ v,
        "without softmax": q @ k.T / 8 @ v,
    }[written]
    undivided = torch.softmax(q @ k.T, dim=-1) @ v
    torchs = F.scaled_dot_product_attention(q, k, v)
    return found(difference(output, torchs), undivided=difference(undivided, torchs))


def score_entry(query: str, key: str) -> Finding:
    """The entry of QK^T in the query's row and the key's column, against the dot product of the
    two.
    """
    q, k, _ = sample_qkv(3, 3, 64, seed=0, device="cpu")
    row, column = WORDS.index(query), WORDS.index(key)
    dot_product = sum(a * b for a, b in zip(q[row].tolist(), k[column].tolist(), strict=True))
    return found(
        difference((q @ k.T)[row, column].item(), dot_product), row=row + 1, column=column + 1
    )


def all_score_entries() -> Finding:
    """Every entry of QK^T against the dot product of its query and its key: the largest
    difference.
    """
    return found(max(score_entry(query, key).ours[0] for query in WORDS for key in WORDS))


def terms(d_k: Sequence[int]) -> Finding:
    """How many products are added up in one dot product."""
    return found(
        [
            float((sample(d, seed=0, device="cpu") * sample(d, seed=1, device="cpu")).numel())
            for d in d_k
        ]
    )


def dot_product(q: Sequence[float], k: Sequence[float]) -> Finding:
    """The dot product of two given vectors."""
    return found(sum(a * b for a, b in zip(q, k, strict=True)), terms=len(q))


def largest_possible_ratio(low: int, high: int, bound: float) -> Finding:
    """How much larger the largest dot product becomes, for components of at most ``bound``."""
    largest = [sum(bound * bound for _ in range(d)) for d in (low, high)]
    return found(largest[1] / largest[0])


def prescaled_softmax(order: str, rescaling: str = "sqrt_d_k") -> Finding:
    """Three ways to the same weights, each against the library's: the largest difference.

    ``"divisor"`` divides the dot products inside the rescaling function, ``"formula"`` writes the
    exponentials out, and ``"one by one"`` takes each query by itself.
    """
    q, k, _ = sample_qkv(20, 32, 16, seed=0, device="cpu")
    c = {"sqrt_d_k": math.sqrt(16), "k_total": k.norm(dim=-1).sum().item()}[rescaling]
    if order == "divisor":
        weights = torch.softmax((q @ k.T) / c, dim=-1)
    elif order == "formula":
        exponentials = torch.exp(q @ k.T / c)
        weights = exponentials / exponentials.sum(-1, keepdim=True)
    else:
        weights = torch.stack([torch.softmax(k @ row / c, dim=-1) for row in q])
    return found(difference(weights, attention_weights(q, k, rescaling=rescaling)))


def vector_attention(part: str, n_keys: int = 32, d_k: int = 16) -> Finding:
    """How many numbers one query of three gets from fixed keys, or on how many of the three those
    numbers depend.
    """
    queries, keys, _ = sample_qkv(3, n_keys, d_k, seed=0, device="cpu")
    scores = attention_scores(queries.requires_grad_(), keys, rescaling="none")
    if part == "numbers":
        return found(float(len(scores[0])))
    (by_queries,) = torch.autograd.grad(scores[0].sum(), queries)
    return found(float(by_queries.abs().amax(-1).count_nonzero()))


def query_length_divided_out(factor: float = 5.0) -> Finding:
    """How much the dot product, divided by the query's length, changes when the query is made
    longer.
    """
    q, k, _ = sample_qkv(20, 32, 16, seed=0, device="cpu")

    def divided(query: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = query @ k.T / query.norm(dim=-1, keepdim=True)
        return scores

    return found(difference(divided(q), divided(factor * q)))
