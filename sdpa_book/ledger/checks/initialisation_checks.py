"""What variance the usual initialisations give to the components of queries and keys."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial

import torch
from torch import Tensor, nn

from sdpa_book.ledger.checks.decoders import of_the_root
from sdpa_book.ledger.checks.difference import ROUNDING
from sdpa_book.ledger.verdict import Finding, finding
from sdpa_book.writing.measured import mean_and_error, ratio
from sdpa_lib.sampling import make_generator, sample

INITIALISATIONS: dict[str, Callable[..., Tensor]] = {
    "Xavier uniform": nn.init.xavier_uniform_,
    "Kaiming normal": nn.init.kaiming_normal_,
    "PyTorch's Linear": partial(nn.init.kaiming_uniform_, a=math.sqrt(5)),
}


@cache
def _queries(name: str, d_model: int, d_k: int, matrices: int = 20, n: int = 64) -> Tensor:
    """Queries (matrices, n, d_k) of inputs with components of variance 1."""
    generator = make_generator(0)
    x = sample(matrices, n, d_model, seed=0, device="cpu")
    W = torch.empty(matrices, d_k, d_model, dtype=x.dtype)
    for one in W:
        INITIALISATIONS[name](one, generator=generator)
    return x @ W.mT


def component_variance(initialisation: Sequence[str], d_model: int, d_k: int) -> Finding:
    """The variance of a query's components, by each initialisation; as facts that of trained ones,
    the part of their mean square that is their mean's, what their alignment with the keys
    multiplies the variance of scores by, and in how many directions keys vary.
    """
    variances = [
        mean_and_error(_queries(name, d_model, d_k).square().mean((1, 2)))  # one a matrix
        for name in initialisation
    ]
    return finding(
        [variance.value for variance in variances],
        max(variance.error for variance in variances),
        query_variance=of_the_root("query_variance")[1],
        query_shared=of_the_root("query_shared")[1],
        alignment=of_the_root("alignment")[1],
        key_rank=of_the_root("key_rank")[1],
    )


def scaled_score_variance(d_model: int, d_k: int) -> Finding:
    """The variance of scores over the root of d_k, for weights that give unit-variance
    components.
    """
    x = sample(20, 64, d_model, seed=1, device="cpu")
    q, k = (
        x @ sample(20, d_model, d_k, seed=1, stream=s, device="cpu") / math.sqrt(d_model)
        for s in (1, 2)
    )
    scores = q @ k.mT / math.sqrt(d_k)
    off_diagonal = scores[
        :, ~torch.eye(64, dtype=torch.bool)
    ]  # a token's own query and key share its embedding
    return finding(*mean_and_error(off_diagonal.square().mean(-1)))


def asymmetry(shared: bool, d_model: int = 64, d_k: int = 64, n: int = 3) -> Finding:
    """How far the scores of a few tokens are from a symmetric table: the mean square of S - S^T
    over that of S + S^T off the diagonal, for W_Q and W_K drawn apart, or for one matrix as both.
    """
    x = sample(400, n, d_model, seed=5, device="cpu")
    W_Q, W_K = (
        sample(400, d_model, d_k, seed=5, stream=s, device="cpu") / math.sqrt(d_model)
        for s in (1, 1 if shared else 2)
    )
    scores = (x @ W_Q) @ (x @ W_K).mT / math.sqrt(d_k)
    off_diagonal = ~torch.eye(n, dtype=torch.bool)
    apart, together = (
        (scores + sign * scores.mT)[:, off_diagonal].square().mean(-1) for sign in (-1, 1)
    )
    if apart.max().item() < ROUNDING:
        return finding(0.0)
    return finding(*ratio(mean_and_error(apart), mean_and_error(together)))
