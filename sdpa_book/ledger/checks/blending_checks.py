"""The product with V."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from sdpa_book.ledger.checks.softmaxes_checks import DOG_BITES_MAN, _softmax
from sdpa_book.ledger.verdict import Finding, finding
from sdpa_lib.attention import scaled_dot_product_attention
from sdpa_lib.sampling import sample

VALUES = ((0.9, 0.1, -0.3, 0.5), (0.2, 0.8, 0.1, -0.4), (0.4, -0.2, 0.7, 0.3))


def blend(weights: Sequence[float]) -> Finding:
    """The blend of the three value vectors of "dog bites man" with given weights; as a fact, with
    those of the scores.
    """
    from_scores = _blend(_softmax(DOG_BITES_MAN[0]).tolist())
    return finding(_blend(weights), from_scores=", ".join(f"{x:.3f}" for x in from_scores))


def _blend(weights: Sequence[float]) -> list[float]:
    return [sum(w * v[c] for w, v in zip(weights, VALUES, strict=True)) for c in range(4)]


def depends_on_others() -> Finding:
    """The smallest derivative of a token's vector after attention by another's embedding."""
    X = sample(3, 16, seed=3, device="cpu").requires_grad_()
    W_Q, W_K, W_V = (sample(16, 16, seed=3, stream=s, device="cpu") / 4 for s in (1, 2, 3))
    out = scaled_dot_product_attention(X @ W_Q, X @ W_K, X @ W_V)
    assert isinstance(out, Tensor)
    (gradient,) = torch.autograd.grad(out[0].sum(), X)
    return finding(gradient[1:].norm(dim=-1).min().item())
