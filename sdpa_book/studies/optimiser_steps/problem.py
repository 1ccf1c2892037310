r"""The smallest problem in which it can be asked how far a step of training moves the scores.

Random tokens are given, ``N_TOKENS`` if nothing else is said, and each has a partner to which it
shall give 90 % of its weight, besides its share of the other 10 %, which all tokens get. Only W_Q
and W_K are trained, so their learning rate is their own, and the scores are divided by d_k^p. With
:math:`G` the gradient of the loss at the scores and :math:`S = X X^T / d_\text{model}`, the first
step has a limit as ``d_k`` grows, which :func:`first_step` gives.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from sdpa_book.studies.optimiser_steps.plan import D_MODEL, N_TOKENS, SMOOTHING
from sdpa_lib._checks import check_count
from sdpa_lib.attention import attention_scores
from sdpa_lib.rescaling import PowerOfDk
from sdpa_lib.sampling import make_generator, sample


class Problem(NamedTuple):
    """Tokens (n, d_model), the partner of each (n,), and fresh matrices W_Q and W_K (d_k, d_model),
    laid out as in ``nn.Linear``, with entries of variance 1/d_model."""

    tokens: Tensor
    partner: Tensor
    w_q: Tensor
    w_k: Tensor


def make_problem(
    d_k: int,
    seed: int,
    *,
    n_tokens: int = N_TOKENS,
    d_model: int = D_MODEL,
    dtype: torch.dtype = torch.float64,
) -> Problem:
    """The problem of one seed.

    Args:
        d_k: the dimension of the head, at least 1.
        seed: 0 or more.
        n_tokens: how many tokens, at least 1.
        d_model: the dimension of the tokens, at least 1.
        dtype: of the tokens and the matrices.

    Example:
        >>> make_problem(64, seed=0).w_q.shape
        torch.Size([64, 32])
    """
    check_count("d_k", d_k)
    check_count("n_tokens", n_tokens)
    check_count("d_model", d_model)

    def draw(rows: int, stream: int) -> Tensor:
        return sample(rows, d_model, seed=seed, stream=stream, device="cpu", dtype=dtype)

    partner = torch.randperm(n_tokens, generator=make_generator(seed, stream=3))
    w_q, w_k = ((draw(d_k, s) / math.sqrt(d_model)).requires_grad_() for s in (1, 2))
    return Problem(draw(n_tokens, 0), partner, w_q, w_k)


def scores(problem: Problem, power: float) -> Tensor:
    """The scores (n, n), divided by d_k to ``power``.

    Example:
        >>> scores(make_problem(64, seed=0), 0.5).shape
        torch.Size([16, 16])
    """
    query, key = problem.tokens @ problem.w_q.T, problem.tokens @ problem.w_k.T
    return attention_scores(query, key, rescaling=PowerOfDk(power))


def excess(z: Tensor, partner: Tensor) -> Tensor:
    """The cross-entropy less the least possible: 0 where the weights are those that are wanted.

    Args:
        z: (n, n), the scores.
        partner: (n,), whom each token shall attend to.

    Returns:
        ().

    Example:
        >>> z = torch.full((16, 16), math.log(0.1 / 16)).fill_diagonal_(math.log(0.9 + 0.1 / 16))
        >>> abs(excess(z, torch.arange(16)).item()) < 1e-6
        True
    """
    n = len(partner)
    other, wanted = SMOOTHING / n, 1 - SMOOTHING + SMOOTHING / n
    least = -wanted * math.log(wanted) - (n - 1) * other * math.log(other)
    return F.cross_entropy(z, partner, label_smoothing=SMOOTHING) - least


def first_step(problem: Problem, power: float, optimiser: str, rate: float) -> Tensor:
    r"""What the first step changes in the scores of a wide head, to leading order in ``d_k``.

    The notes of article D derive it. It depends on the matrices only through :math:`G`.

    Args:
        problem: fresh.
        power: the scores are divided by d_k to this power.
        optimiser: ``"SGD"``, ``"momentum"``, ``"Adam"``, or ``"Muon"`` for d_k > d_model.
        rate: the learning rate.

    Returns:
        (n, n).

    Example:
        >>> first_step(make_problem(64, seed=0), 0.5, "SGD", 0.1).shape
        torch.Size([16, 16])
    """
    x, (d_k, d_model) = problem.tokens, problem.w_q.shape
    z = scores(problem, power).detach().requires_grad_()
    (g,) = torch.autograd.grad(excess(z, problem.partner), z)
    s = x @ x.T / d_model  # (n, n)
    if optimiser in ("SGD", "momentum"):
        return -2 * rate * d_model * math.pow(d_k, 1 - 2 * power) * s @ g @ s
    spread_q, spread_k = x.T @ g @ s @ g.T @ x, x.T @ g.T @ s @ g @ x  # (d_model, d_model)
    if optimiser == "Adam":
        divided_q, divided_k = (torch.diag(m.diagonal().rsqrt()) for m in (spread_q, spread_k))
        factor = math.sqrt(2 / math.pi)
    elif optimiser == "Muon":
        divided_q, divided_k = (_inverse_root(m) for m in (spread_q, spread_k))
        factor = 1 / math.sqrt(d_model)
    else:
        raise ValueError(f"optimiser must be SGD, momentum, Adam or Muon, got {optimiser!r}")
    factor *= -rate * math.pow(d_k, 1 - power)
    return factor * (x @ divided_q @ x.T @ g @ s + s @ g @ x @ divided_k @ x.T)


def _inverse_root(matrix: Tensor) -> Tensor:
    """M^(-1/2) of a symmetric matrix on its range."""
    values, vectors = torch.linalg.eigh(matrix)
    in_range = values > 1e-10 * values.max()
    vectors = vectors[:, in_range]
    root: Tensor = vectors * values[in_range].rsqrt() @ vectors.T
    return root
