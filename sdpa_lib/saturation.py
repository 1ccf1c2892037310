r"""How sharp a row of weights is, and what gradient still passes through it.

A row of weights :math:`p` has the softmax Jacobian :math:`\partial p_i/\partial z_j =
p_i(\delta_{ij} - p_j)`, that is :math:`\mathrm{diag}(p) - pp^\top` :cite:p:`martins2016`.

A query that sees no key has a row of zeros. Every measure is 0 there: the largest weight, the
entropy, the perplexity, the effective number of keys, the Jacobian. Half precision is computed in
float32, and the result rounded.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from sdpa_lib._checks import (
    check_count,
    check_finite,
    check_number,
    check_query_key,
    check_tensor,
    check_value,
    repr_of,
)
from sdpa_lib._rows import figures_of_rows, prepare
from sdpa_lib.attention import _batch, _cast_by_autocast, attention_scores
from sdpa_lib.device import computation_dtype, widest_dtype
from sdpa_lib.moments import chi_squared, normal_scores
from sdpa_lib.rescaling import AnyRescaling, get_rescaling
from sdpa_lib.sampling import sample


def largest_weight(weights: Tensor) -> Tensor:
    """The largest weight of each row: 1/n when even, 1 when one-hot, 0 where no key is seen.

    Args:
        weights: (..., n), finite, in [0, 1]. Rows sum to 1, or are all zeros where a query sees no
            key.

    Returns:
        (...), in [0, 1].

    Example:
        >>> largest_weight(torch.tensor([0.2, 0.5, 0.3]))
        tensor(0.5000)
    """
    return _check_weights(weights).amax(-1).to(weights.dtype)


def entropy(weights: Tensor) -> Tensor:
    """The entropy of each row in nats: ln n when even, 0 when one-hot or where no key is seen.

    Args:
        weights: as in :func:`largest_weight`.

    Returns:
        (...), at least 0.

    Example:
        >>> entropy(torch.full((4,), 0.25))  # ln 4
        tensor(1.3863)
    """
    return _entropy(_check_weights(weights)).to(weights.dtype)


def perplexity(weights: Tensor) -> Tensor:
    r"""The exponential :math:`e^{H}` of each row's entropy: n when even, 1 when one-hot, 0 where no
    key is seen.

    It is Hill's number of order 1, and never less than :func:`effective_keys`, his number of order
    2. Source: :cite:t:`hill1973`.

    Args:
        weights: as in :func:`largest_weight`.

    Returns:
        (...), at least 1, or 0 where no key is seen.

    Example:
        >>> perplexity(torch.tensor([0.5, 0.25, 0.25]))
        tensor(2.8284)
    """
    wide = _check_weights(weights)
    sees_nothing = (wide == 0).all(-1)
    return _entropy(wide).exp().masked_fill(sees_nothing, 0.0).to(weights.dtype)


def effective_keys(weights: Tensor) -> Tensor:
    r"""The effective number of keys :math:`1/\sum_i p_i^2` of each row: n when even, 1 when
    one-hot, 0 where no key is seen.

    It is the number by which blending independent values divides their variance, and Hill's number
    of order 2. Source: :cite:t:`hill1973`.

    Args:
        weights: as in :func:`largest_weight`.

    Returns:
        (...), at least 1, or 0 where no key is seen.

    Example:
        >>> effective_keys(torch.tensor([0.5, 0.25, 0.25]))
        tensor(2.6667)
    """
    wide = _check_weights(weights)
    sees_nothing = (wide == 0).all(-1)
    squares = wide.square().sum(-1).masked_fill(sees_nothing, 1.0)
    return (1.0 / squares).masked_fill(sees_nothing, 0.0).to(weights.dtype)


def softmax_jacobian(weights: Tensor) -> Tensor:
    r"""The matrix :math:`\mathrm{diag}(p) - pp^\top` of derivatives of the weights by the scores.

    Arguments as in :func:`largest_weight`.

    Returns:
        (..., n, n): symmetric, rows sum to 0, spectral norm at most 1/2 :cite:p:`nair2025`.

    Example:
        >>> softmax_jacobian(torch.tensor([0.5, 0.5]))
        tensor([[ 0.2500, -0.2500],
                [-0.2500,  0.2500]])
    """
    return _jacobian(_check_weights(weights)).to(weights.dtype)


def jacobian_norm(weights: Tensor, norm: str = "fro") -> Tensor:
    r"""A norm of the softmax Jacobian of each row.

    Args:
        weights: as in :func:`largest_weight`.
        norm: ``"fro"``, which does not make the matrix, or ``"spectral"``.

    Returns:
        (...), in [0, 1/2] for the spectral norm. Even weights give :math:`\sqrt{n-1}/n` and
        :math:`1/n`. At a one-hot row, where the norm is 0 and has a kink, the gradient is 0.

    Example:
        >>> jacobian_norm(torch.full((4,), 0.25), "spectral")
        tensor(0.2500)
    """
    if norm not in ("fro", "spectral"):
        raise ValueError(f"norm must be 'fro' or 'spectral', got {repr_of(norm)}")
    wide = _check_weights(weights)
    diagonal = _jacobian_diagonal(wide)
    # No entry is larger than the largest on the diagonal: over it no square underflows.
    largest = diagonal.detach().amax(-1, keepdim=True)
    one_hot = largest == 0  # or a row of zeros
    largest = largest.masked_fill(one_hot, 1.0)
    if norm == "spectral":
        relative: Tensor = torch.linalg.matrix_norm(_jacobian(wide) / largest.unsqueeze(-1), 2)
    else:
        # diagonal entries p_i (1 - p_i) and off-diagonal ones -p_i p_j, squared and summed
        squares = (wide / largest.sqrt()).square()
        total = ((diagonal / largest).square() + squares * _sum_of_others(squares)).sum(-1)
        relative = total.masked_fill(one_hot.squeeze(-1), 1.0).sqrt()
    return (relative * largest.squeeze(-1)).masked_fill(one_hot.squeeze(-1), 0.0).to(weights.dtype)


class RowSaturation(NamedTuple):
    """How sharp each row of weights is: its largest weight, its entropy and its effective number of
    keys, each (..., L).
    """

    largest_weight: Tensor
    entropy: Tensor
    effective_keys: Tensor


@_cast_by_autocast
def saturation_of_rows(
    query: Tensor,
    key: Tensor,
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    *,
    rescaling: AnyRescaling = "sqrt_d_k",
    enable_gqa: bool = False,
) -> RowSaturation:
    """The saturation measures of attention over long sequences, exact, without storing the weights.

    Arguments as in :func:`~sdpa_lib.attention.scaled_dot_product_attention`.

    Raises:
        ValueError: inputs that are not finite, scores that overflow, or a row that sees no key.

    Example:
        >>> q, k = torch.zeros(2, 4), torch.ones(8, 4)
        >>> saturation_of_rows(q, k).largest_weight
        tensor([0.1250, 0.1250])
    """
    check_query_key(query, key)
    check_finite("query", query)
    check_finite("key", key)
    call = prepare(query, key, attn_mask, is_causal, rescaling=rescaling, enable_gqa=enable_gqa)
    figures = figures_of_rows(call, road="blocks")  # the other road is not exact
    if bool((figures.keys == 0).any()):
        raise ValueError("attn_mask must let every row see a key")
    _check_scores(figures.largest_score.unsqueeze(-1), rescaling)
    measures = (figures.largest_weight, figures.entropy, figures.effective_keys)
    shape = (*_batch(enable_gqa, query=query, key=key), query.shape[-2])
    return RowSaturation(*(measure.reshape(shape) for measure in measures))


class Gradients(NamedTuple):
    """What arrives at the divided scores (..., L, S), at the queries (..., L, d_k) and at the keys
    (..., S, d_k).
    """

    scores: Tensor
    query: Tensor
    key: Tensor


def attention_gradients(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    rescaling: AnyRescaling = "sqrt_d_k",
    upstream: Tensor | None = None,
    seed: int = 0,
) -> Gradients:
    """The gradients that reach scores, queries and keys when ``upstream`` arrives at the
    attention's output.

    Args:
        query: (..., L, d_k).
        key: (..., S, d_k), with the batch dimensions and the dtype of the query.
        value: (..., S, Ev), with these, too.
        rescaling: as in :func:`~sdpa_lib.attention.scaled_dot_product_attention`. The gradient
            flows through a divisor made of keys, too.
        upstream: (..., L, Ev), the gradient of a loss by the output. ``None`` draws standard normal
            components.
        seed: for that draw.

    Returns:
        In the dtype of ``query``, also where autograd is switched off.

    Raises:
        ValueError: inputs that are not finite, scores that overflow, or an ``upstream`` whose shape
            is not that of the output.

    Example:
        >>> query, key, value = torch.randn(5, 8), torch.randn(3, 8), torch.randn(3, 4)
        >>> gradients = attention_gradients(query, key, value)
        >>> gradients.scores.shape, gradients.query.shape, gradients.key.shape
        (torch.Size([5, 3]), torch.Size([5, 8]), torch.Size([3, 8]))
    """
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        check_finite(name, check_tensor(name, tensor, min_dim=2))
    check_query_key(query, key)
    check_value(key, value)
    dtype = query.dtype
    # autograd records nothing for the tensors of inference mode: copies are no such tensors
    with torch.inference_mode(False), torch.enable_grad():
        query, key, value = (
            x.detach().to(computation_dtype(dtype), copy=True) for x in (query, key, value)
        )
        query.requires_grad_()
        key.requires_grad_()
        scores = attention_scores(query, key, rescaling=rescaling)  # (..., L, S)
        _check_scores(scores, rescaling)
        output = torch.softmax(scores, dim=-1) @ value  # (..., L, Ev)
        if upstream is None:
            upstream = sample(*output.shape, seed=seed, device=output.device, dtype=output.dtype)
        elif check_finite("upstream", check_tensor("upstream", upstream)).shape != output.shape:
            raise ValueError(
                f"upstream must have the shape of the output, {tuple(output.shape)}, got "
                f"{tuple(upstream.shape)}"
            )
        gradients = torch.autograd.grad(output, (scores, query, key), upstream.to(output))
        return Gradients(*(gradient.to(dtype) for gradient in gradients))


def sample_gradients(
    n_queries: int,
    n_keys: int,
    d_k: int,
    divisor: float | Tensor,
    *,
    d_v: int = 64,
    seed: int,
    device: str | torch.device | None = None,
) -> Tensor:
    r"""Lengths of the gradients that reach normal queries at initialisation, exact, without drawing
    queries, keys or values.

    The gradient at a query is :math:`\frac1c\sum_j g_j k_j` with :math:`g = (\mathrm{diag}(p) -
    pp^\top)\,u` and :math:`u_j` the upstream gradient's product with value j. Given the query, each
    key is its part along the query, which is the score, and an independent normal part orthogonal
    to it: the squared length is :math:`\frac1{c^2}\big[(\sum_j g_j z_j)^2 + \chi^2_{d_k-1}\sum_j
    g_j^2\big]`, where :math:`z_j` is normal and the score is :math:`\lVert q\rVert z_j`. So the
    cost does not depend on ``d_k``.

    Args:
        n_queries: at least 1.
        n_keys: for each query, at least 1; no two queries share any, nor values.
        d_k: components of queries and keys, at least 1, standard normal.
        d_v: components of values and of the upstream gradient, at least 1, standard normal.
        divisor: what the scores are divided by, greater than 0: a number, or (n_queries, 1).
        seed, device: as in :func:`~sdpa_lib.moments.sample_normal_scores`.

    Returns:
        (n_queries,).

    Example:
        >>> lengths = sample_gradients(1000, 32, 64, 8.0, seed=0)
        >>> 1.5 < lengths.median().item() < 2.0
        True
    """
    check_count("d_v", d_v)
    scores, z = normal_scores(n_queries, n_keys, d_k, seed=seed, device=device)
    if isinstance(divisor, Tensor) and divisor.shape not in ((), (1, 1), (n_queries, 1)):
        raise ValueError(
            f"divisor must have shape (n_queries, 1) = ({n_queries}, 1), got {tuple(divisor.shape)}"
        )
    if isinstance(divisor, Tensor) and divisor.device != z.device:
        raise ValueError(f"divisor must be on the device {z.device}, got {divisor.device}")
    c = (
        check_finite("divisor", divisor)
        if isinstance(divisor, Tensor)
        else torch.full_like(z[:, :1], check_number("divisor", divisor, above=0.0))
    )
    if bool((c <= 0).any()):
        raise ValueError("divisor must be greater than 0, got a number that is not")
    upstream = normal_scores(n_queries, n_keys, d_v, seed=seed + 1_000_000, device=device)[
        0
    ]  # the products u_j
    p = torch.softmax(scores / c, dim=-1)
    # changes no g, and nothing cancels near a one-hot row
    upstream = upstream - upstream.gather(-1, p.argmax(-1, keepdim=True))
    g = p * (upstream - (p * upstream).sum(-1, keepdim=True))  # the Jacobian times u
    orthogonal = chi_squared(n_queries, d_k - 1, seed=seed, stream=4, like=z)
    squares = (g * z).sum(-1).square() + orthogonal * g.square().sum(-1)
    return squares.sqrt() / c.squeeze(-1)


def _check_scores(scores: Tensor, rescaling: AnyRescaling) -> None:
    """Refuse scores that overflowed, of which softmax would make NaN."""
    if not bool((scores < math.inf).all()) or bool((scores == -math.inf).all(-1).any()):
        raise ValueError(
            f"query and key must have scores that fit {scores.dtype}, got NaN or infinity with "
            f"rescaling {repr_of(get_rescaling(rescaling).name)}: scale query and key down, or "
            "choose a rescaling that divides by more"
        )


def _check_weights(weights: Tensor) -> Tensor:
    """The weights in the dtype to compute in, if each row sums to 1 or holds zeros alone."""
    check_finite("weights", check_tensor("weights", weights))
    if bool((weights < 0).any()):
        raise ValueError("weights must lie in [0, 1]: pass what softmax gave, not scores")
    total = weights.sum(-1, dtype=widest_dtype(weights.device))
    # What half precision does to a sum, in which the weights may have been before a cast: bfloat16
    # rounds by up to 2^-8 of it, float16 by up to 2^-25 for each entry.
    tolerance = 0.01 + weights.shape[-1] * 2.0**-25
    wrong = (total != 0) & ((total - 1).abs() > tolerance)
    if bool(wrong.any()):
        raise ValueError(
            "weights must sum to 1 in each row, or be all zeros where a query sees no key, got a "
            f"row that sums to {total[wrong][0].item():.6g}: pass what softmax gave, not scores"
        )
    return weights.to(computation_dtype(weights.dtype))


def _entropy(weights: Tensor) -> Tensor:
    entropies: Tensor = torch.special.entr(weights)
    return entropies.sum(-1)


def _jacobian(weights: Tensor) -> Tensor:
    products = weights.unsqueeze(-1) * weights.unsqueeze(-2)  # (..., n, n)
    return (-products).diagonal_scatter(_jacobian_diagonal(weights), dim1=-2, dim2=-1)


def _jacobian_diagonal(weights: Tensor) -> Tensor:
    """p_i (1 - p_i), without taking 1 - p_i where p_i is nearly 1."""
    return weights * _sum_of_others(weights)


def _sum_of_others(x: Tensor) -> Tensor:
    """For each entry of the last dimension the sum of all others, by additions alone: nothing
    cancels near a one-hot row.
    """
    before = F.pad(x.cumsum(-1)[..., :-1], (1, 0))
    after = F.pad(x.flip(-1).cumsum(-1)[..., :-1], (1, 0)).flip(-1)
    return before + after
