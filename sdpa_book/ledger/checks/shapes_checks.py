"""Shapes and formulas that sources misprint, or that need an assumption."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from sdpa_book.ledger.checks.difference import difference
from sdpa_book.ledger.verdict import Finding, finding
from sdpa_lib.attention import attention_scores
from sdpa_lib.sampling import sample, sample_qkv


def shape_of_queries(d_k: int, n: int = 3, d_model: int = 512) -> Finding:
    """Rows and columns of Q = X W_Q."""
    X, W_Q = (sample(*size, seed=0, device="cpu") for size in ((n, d_model), (d_model, d_k)))
    return finding([float(size) for size in (X @ W_Q).shape])


def left_out_softmax() -> Finding:
    """QK^T V / sqrt(d_k), which is attention without softmax, against torch's attention: the
    largest difference.
    """
    q, k, v = sample_qkv(3, 3, 64, seed=0, device="cpu")
    return finding(difference(q @ k.T / 8 @ v, F.scaled_dot_product_attention(q, k, v)))


def vectors_it_depends_on(n_keys: int = 32, d_k: int = 16) -> Finding:
    """On how many of three queries the numbers depend that one of them gets from fixed keys."""
    queries, keys, _ = sample_qkv(3, n_keys, d_k, seed=0, device="cpu")
    scores = attention_scores(queries.requires_grad_(), keys, rescaling="none")
    (by_queries,) = torch.autograd.grad(scores[0].sum(), queries)
    return finding(float(by_queries.abs().amax(-1).count_nonzero()))
