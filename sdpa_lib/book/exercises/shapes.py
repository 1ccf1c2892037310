"""Exercises of the chapter "The formula and its shapes"."""

import math

import torch

from sdpa_lib.book.exercises._exercise import Exercise
from sdpa_lib.sampling import sample

_Q, _K, _V = (
    sample(*shape, seed=0, stream=i, device="cpu") * 2
    for i, shape in enumerate(((3, 5), (4, 5), (4, 2)))
)

EXERCISES: dict[str, Exercise] = {
    "scores_shape": Exercise(
        answer=lambda n_queries, n_keys, d_k: [n_queries, n_keys],
        cases=((3, 3, 64), (10, 12, 64), (1, 100, 8)),
        mistakes={
            "d_k is summed over, and gone.": lambda n_queries, n_keys, d_k: [n_queries, d_k],
            "This is the shape of Q.mT @ K, which sums over the "
            "tokens.": lambda n_queries, n_keys, d_k: [
                d_k,
                d_k,
            ],
            "This is the transpose: queries are the rows.": lambda n_queries, n_keys, d_k: [
                n_keys,
                n_queries,
            ],
        },
    ),
    "divisor_of": Exercise(
        answer=lambda q: math.sqrt(q.shape[-1]),
        cases=tuple(
            (torch.zeros(*shape),) for shape in ((2, 8, 10, 64), (1, 12, 7, 32), (3, 4, 5, 8))
        ),
        mistakes={
            "This is the number of tokens.": lambda q: math.sqrt(q.shape[-2]),
            "This is the width of the model; each head divides by its own.": lambda q: math.sqrt(
                q.shape[-1] * q.shape[-3]
            ),
            "The right dimension, without its root.": lambda q: q.shape[-1],
            "This is the number of heads.": lambda q: math.sqrt(q.shape[-3]),
        },
    ),
    "attention": Exercise(
        answer=lambda Q, K, V: torch.softmax(Q @ K.mT / math.sqrt(Q.shape[-1]), dim=-1) @ V,
        cases=((_Q, _K, _V), (_Q[:2], _K, _V)),
        mistakes={
            "The division is missing.": lambda Q, K, V: torch.softmax(Q @ K.mT, dim=-1) @ V,
            "This divides by d_k; take its root.": lambda Q, K, V: (
                torch.softmax(Q @ K.mT / Q.shape[-1], dim=-1) @ V
            ),
            "Softmax ran over the queries; each query's weights must sum to 1.": lambda Q, K, V: (
                torch.softmax(Q @ K.mT / math.sqrt(Q.shape[-1]), dim=0) @ V
            ),
            "This divides by the root of the number of keys.": lambda Q, K, V: (
                torch.softmax(Q @ K.mT / math.sqrt(K.shape[-2]), dim=-1) @ V
            ),
            "This divides after softmax, where it only shrinks the output.": lambda Q, K, V: (
                torch.softmax(Q @ K.mT, dim=-1) @ V / math.sqrt(Q.shape[-1])
            ),
        },
    ),
    "multiplications": Exercise(
        answer=lambda n, d_model, h: n**2 * d_model,
        cases=((3, 512, 8), (100, 64, 4), (10, 32, 1)),
        mistakes={
            "This counts one head; there are h of them.": lambda n, d_model, h: n**2 * d_model // h,
            "Each head sees only its share of the model's width.": lambda n, d_model, h: (
                h * n**2 * d_model
            ),
            "This is the cost of the projections' kind, not of comparing "
            "tokens.": lambda n, d_model, h: n * d_model**2,
            "Every pair of tokens is compared, in both orders and with "
            "itself.": lambda n, d_model, h: n * (n - 1) // 2 * d_model,
        },
    ),
}
