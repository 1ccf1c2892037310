"""What variance the usual initialisations give to the components of queries and keys."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial

import torch
from torch import Tensor, nn

from sdpa_book.ledger.checks.decoders import of_the_root
from sdpa_book.ledger.checks.difference import ROUNDING
from sdpa_book.ledger.verdict import Finding, found
from sdpa_book.measured import Measured, mean_and_error, ratio
from sdpa_lib.moments import measure_dot_products
from sdpa_lib.sampling import get_distribution, make_generator, sample

INITIALISATIONS: dict[str, Callable[..., Tensor]] = {
    "Xavier uniform": nn.init.xavier_uniform_,
    "Xavier normal": nn.init.xavier_normal_,
    "Kaiming uniform": nn.init.kaiming_uniform_,
    "Kaiming normal": nn.init.kaiming_normal_,
    "PyTorch's Linear": partial(nn.init.kaiming_uniform_, a=math.sqrt(5)),
}


@cache
def _queries_and_keys(
    name: str, d_model: int, d_k: int, matrices: int = 20, n: int = 64
) -> tuple[Tensor, Tensor]:
    """Queries and keys (matrices, n, d_k) of inputs with components of variance 1."""
    generator = make_generator(0)
    x = sample(matrices, n, d_model, seed=0, device="cpu")
    projected = []
    for _ in range(2):
        W = torch.empty(matrices, d_k, d_model, dtype=x.dtype)
        for one in W:
            INITIALISATIONS[name](one, generator=generator)
        projected.append(x @ W.mT)
    return projected[0], projected[1]


def component_variance(initialisation: str, d_model: int, d_k: int) -> Finding:
    """The variance of a query's components; as facts that of trained ones, the part of their mean
    square that is their mean's, what their alignment with the keys multiplies the variance of
    scores by, and in how many directions keys vary.
    """
    q, _ = _queries_and_keys(initialisation, d_model, d_k)
    variance = mean_and_error(q.square().mean((1, 2)))  # one a matrix
    return found(
        variance.value,
        variance.error,
        query_variance=of_the_root("query_variance")[1],
        query_shared=of_the_root("query_shared")[1],
        alignment=of_the_root("alignment")[1],
        key_rank=of_the_root("key_rank")[1],
    )


def scaled_score_variance(
    d_model: int, d_k: int, initialisation: str = "", by: str = "d_k"
) -> Finding:
    """The variance of scores over the root of d_k, or of d_model: for unit-variance components, or
    by an initialisation.
    """
    if initialisation:
        q, k = _queries_and_keys(initialisation, d_model, d_k)
    else:
        x = sample(20, 64, d_model, seed=1, device="cpu")
        q, k = (
            x @ sample(20, d_model, d_k, seed=1, stream=s, device="cpu") / math.sqrt(d_model)
            for s in (1, 2)
        )
    scores = q @ k.mT / math.sqrt({"d_k": d_k, "d_model": d_model}[by])
    off_diagonal = scores[
        :, ~torch.eye(64, dtype=torch.bool)
    ]  # a token's own query and key share its embedding
    return found(*mean_and_error(off_diagonal.square().mean(-1)))


def component_mean(initialisation: str, d_model: int, d_k: int) -> Finding:
    """The mean of a query's components over their standard deviation."""
    q, _ = _queries_and_keys(initialisation, d_model, d_k)
    return found(*mean_and_error(q.mean((1, 2)) / q.std((1, 2))))


def query_key_correlation(initialisation: str, d_model: int, d_k: int, n: int = 4000) -> Finding:
    """The mean size of the correlation of q_i with k_i over tokens, less that of as many
    independent numbers.
    """
    x = sample(n, d_model, seed=2, device="cpu")
    generator = make_generator(2)
    q, k = (
        x @ INITIALISATIONS[initialisation](x.new_empty(d_k, d_model), generator=generator).T
        for _ in range(2)
    )

    def size(first: Tensor, second: Tensor) -> Measured:
        standard = [(y - y.mean(0)) / y.std(0) for y in (first, second)]
        return mean_and_error((standard[0] * standard[1]).mean(0).abs())

    ours, error = size(q, k)
    baseline, other_error = size(*(sample(n, d_k, seed=3, stream=s, device="cpu") for s in (0, 1)))
    return found(ours - baseline, math.hypot(error, other_error), size=ours, baseline=baseline)


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
        return found(0.0)
    return found(*ratio(mean_and_error(apart), mean_and_error(together)))


def growing_components(d_k: int, std: float = 1.0) -> Finding:
    """The variance of divided scores for components of standard deviation ``std``."""
    measured = measure_dot_products(
        d_k, 100_000, seed=4, query=get_distribution("normal").scaled(std), device="cpu"
    )
    return found(measured.variance / d_k, measured.standard_error.variance / d_k)
