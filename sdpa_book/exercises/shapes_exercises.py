"""Exercises of the chapter "The formula and its shapes"."""

import math
from typing import Any

import torch
from torch import Tensor

from sdpa_book.exercises.exercise import PER_CENT, Exercise
from sdpa_book.studies.heads.plan import DecoderRun
from sdpa_book.studies.heads.read import LONGER, load_vectors
from sdpa_lib.sampling import sample

_Q, _K, _V = (
    sample(*shape, seed=0, stream=i, device="cpu") * 2
    for i, shape in enumerate(((4, 5), (4, 5), (4, 2)))
)
# in each row something is hidden, so that the mask upside down leaves no row empty
_NEAR = torch.ones(4, 4, dtype=torch.bool).tril(1).triu(-1)
_SOME = torch.tensor([[True, False, True, True], [False, True, True, False]])


def _attention(
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    allowed: Tensor,
    divisor: float | None = None,
    dim: int = -1,
) -> Tensor:
    scores = Q @ K.mT / (math.sqrt(Q.shape[-1]) if divisor is None else divisor)
    return torch.softmax(scores.masked_fill(~allowed, -math.inf), dim=dim) @ V


def _masked_with_zeros(Q: Tensor, K: Tensor, V: Tensor, allowed: Tensor) -> Tensor:
    scores = Q @ K.mT / math.sqrt(Q.shape[-1])
    return torch.softmax(scores * allowed, dim=-1) @ V


def _masked_too_late(Q: Tensor, K: Tensor, V: Tensor, allowed: Tensor) -> Tensor:
    everything = torch.ones_like(allowed)
    weights = _attention(Q, K, torch.eye(len(K), dtype=V.dtype), everything)
    return (weights * allowed) @ V


def _same_winner(half: float = 0.5, causal: bool = True, one_head: bool = False) -> float:
    """The share of rows in which dot product and distance choose the same key."""
    query, key = (x[-1] for x in load_vectors(DecoderRun("sqrt_d_k"), "line", LONGER))
    dot = query @ key.mT
    distance = dot - half * key.square().sum(-1).unsqueeze(-2)
    hidden = torch.ones(dot.shape[-2:]).triu(1).bool() & causal
    first, second = (z.masked_fill(hidden, -math.inf).argmax(-1) for z in (dot, distance))
    agree = (first == second).double().mean(-1)
    return (agree[-1, -1] if one_head else agree.mean()).item()


def _turned(by: int) -> Any:
    return lambda n: [(i + by) % n for i in range(n)]


EXERCISES: dict[str, Exercise] = {
    "attention": Exercise(
        answer=lambda Q, K, V, allowed: _attention(Q, K, V, allowed),
        cases=((_Q, _K, _V, _NEAR), (_Q[:2], _K, _V, _SOME)),
        mistakes={
            "The division is missing.": lambda Q, K, V, allowed: _attention(Q, K, V, allowed, 1.0),
            "This divides by d_k; take its root.": lambda Q, K, V, allowed: _attention(
                Q, K, V, allowed, Q.shape[-1]
            ),
            "This divides by the root of the number of keys.": lambda Q, K, V, allowed: _attention(
                Q, K, V, allowed, math.sqrt(len(K))
            ),
            "Softmax ran over the queries; each query's weights must sum to "
            "1.": lambda Q, K, V, allowed: _attention(Q, K, V, allowed, dim=0),
            "The mask is upside down: True is where a query may see a "
            "key.": lambda Q, K, V, allowed: _attention(Q, K, V, ~allowed),
            "The mask is not used.": lambda Q, K, V, allowed: _attention(
                Q, K, V, torch.ones_like(allowed)
            ),
            "The mask comes after softmax, so the weights no longer sum to 1.": _masked_too_late,
            "A score of 0 hides nothing, because softmax still gives it weight. Which "
            "score gets none?": _masked_with_zeros,
        },
    ),
    "winners": Exercise(
        answer=_turned(1),
        cases=((3,), (5,), (12,)),
        mistakes={
            "Each token attends most to itself.": _turned(0),
            "Each token attends most to the one before it; roll the other way.": _turned(-1),
            "Every token attends most to the same one. Is one of the keys longer than the "
            "others, or are the queries alike?": lambda n: [0] * n,
        },
    ),
    "same_winner": Exercise(
        answer=_same_winner(),
        tolerance=0.005,
        mistakes={
            "This lets characters see what comes after them: use the mask.": _same_winner(
                causal=False
            ),
            "In the distance half of the key's squared length counts, not all of it.": _same_winner(
                half=1.0
            ),
            "This is one head, the last of the last layer; take all heads.": _same_winner(
                one_head=True
            ),
            "This is the share of rows in which the two differ.": 1.0 - _same_winner(),
            PER_CENT: 100 * _same_winner(),
        },
    ),
}
