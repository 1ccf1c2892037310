"""Scores, weights and output of dot-product attention, with any rescaling, mask, causal order and
grouped-query layout.

Arguments, shapes and results follow :func:`torch.nn.functional.scaled_dot_product_attention`.
Whoever asks for scores or weights gets them from the textbook's formula, and the whole matrix is
made. The output alone needs no matrix: every rescaling divides a query's scores by one number, so
the query can be divided instead, and PyTorch's fused kernel does the rest.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from sdpa_lib._checks import check_batch, check_number, check_query_key, check_value
from sdpa_lib.device import computation_dtype
from sdpa_lib.rescaling import Rescaling, get_rescaling
from sdpa_lib.visibility import CausalOrder, EveryKey, Masked, Visible


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    rescaling: str | Rescaling = "sqrt_d_k",
    enable_gqa: bool = False,
    return_weights: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    r"""Attention, :math:`\mathrm{softmax}(QK^\top / c_K)\,V`, with the divisor of your choice.

    With the default rescaling it gives what
    :func:`torch.nn.functional.scaled_dot_product_attention` gives. In ten lines::

        def attention(query, key, value, attn_mask=None, is_causal=False, rescaling="sqrt_d_k"):
            L, S = query.shape[-2], key.shape[-2]
            everywhere = torch.ones(L, S, dtype=torch.bool)
            visible = everywhere if attn_mask is None else attn_mask           # (..., L, S)
            if is_causal:
                visible = visible.tril()                                       # i sees 0 ... i
            scores = query @ key.mT / get_rescaling(rescaling)(key, visible)   # (..., L, S)
            scores = scores.masked_fill(~visible, float("-inf"))
            weights = torch.softmax(scores, dim=-1)                            # rows sum to 1
            return weights @ value                                             # (..., L, Ev)

    Args:
        query: (..., L, d_k). Batch dimensions broadcast.
        key: (..., S, d_k), S at least 1.
        value: (..., S, Ev).
        attn_mask: broadcastable to (..., L, S). Boolean: True where attention is allowed. Floating
            point, of the dtype of ``query``: added to the divided scores; -inf hides a key. A row
            that sees no key gives zeros.
        dropout_p: probability in [0, 1] of dropping a weight; applied whenever it is above 0.
        is_causal: query i sees keys 0 ... i (aligned top left). Not together with ``attn_mask``.
        rescaling: what the dot products are divided by: a name in ``RESCALINGS`` or
            ``MODEL_RESCALINGS``, or an instance.
        enable_gqa: grouped queries: ``query`` (..., Hq, L, d_k) with ``key`` and ``value`` (..., H,
            S, .), Hq a multiple of H.
        return_weights: also return the weights (..., L, S), as softmax gave them, before dropout.

    Returns:
        (..., L, Ev) in the dtype of ``query``; with ``return_weights`` a pair (output, weights).

    Raises:
        TypeError: not a floating-point tensor, or dtypes that differ.
        ValueError: shapes or devices that do not fit, a parameter out of range, an unknown
            rescaling.

    Note:
        Without ``return_weights`` no L x S matrix is made, unless the caller passed one as
        ``attn_mask``, or PyTorch has no fused kernel for the case (dropout on the CPU, values wider
        or narrower than keys). Lengths and divisors are computed in float32 for half precision.
        Finite inputs give no NaN as long as the dot products themselves fit float32.

    Source: :cite:t:`vaswani2017`, equation 1; other rescalings: :cite:t:`bernhard2023`; grouped
        queries: :cite:t:`ainslie2023`.

    Example:
        >>> q, k, v = torch.ones(2, 4), torch.ones(3, 4), torch.arange(3.0).unsqueeze(-1)
        >>> scaled_dot_product_attention(q, k, v)
        tensor([[1.],
                [1.]])
    """
    check_query_key(query, key)
    check_value(key, value)
    check_number("dropout_p", dropout_p, minimum=0.0)
    if dropout_p > 1.0:
        raise ValueError(f"dropout_p must be a probability in [0, 1], got {dropout_p}")
    chosen = get_rescaling(rescaling)
    if not return_weights:
        visible = _visible(
            query, key, attn_mask, is_causal, _groups(query, key) if enable_gqa else 1
        )
        folded, scale = _fold(query, key, visible, chosen)
        return _kernel(folded, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    scores = attention_scores(
        query, key, attn_mask, is_causal, rescaling=chosen, enable_gqa=enable_gqa
    )  # (..., L, S)
    weights = _softmax(scores)
    if enable_gqa:
        value = _repeat_heads(query, value)
    check_batch(scores=scores, value=value)
    dropped = F.dropout(weights, dropout_p) if dropout_p > 0.0 else weights
    output = (dropped @ value.to(weights.dtype)).to(query.dtype)  # (..., L, Ev)
    return output, weights.to(query.dtype)


def _fold(
    query: Tensor, key: Tensor, visible: Visible, rescaling: Rescaling
) -> tuple[Tensor, float]:
    """A query and a scale whose products are the divided query: a constant divisor is all scale,
    any other goes into the query.

    A divisor lies between sqrt(d_k) and n times that, typically. What is folded into a
    half-precision query is how it differs from the geometric mean of the two, so that the query
    keeps its digits; the kernel applies the mean, in float32.
    """
    constant = rescaling.constant(key.shape[-1])
    if constant is not None:
        return query, 1.0 / constant
    divisor = rescaling(key, visible)  # (..., L or 1, 1)
    mean = math.sqrt(key.shape[-1] * key.shape[-2])
    folded = query * (mean / torch.where(divisor == 0, mean, divisor))
    if query.dtype == torch.float16:
        largest = torch.finfo(query.dtype).max
        folded = folded.clamp(-largest, largest)
    return folded.to(query.dtype), 1.0 / mean


def _kernel(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    dropout_p: float,
    causal: bool,
    scale: float,
    gqa: bool,
) -> Tensor:
    """``torch.nn.functional.scaled_dot_product_attention``, given the four dimensions for which it
    has its fused kernels.
    """
    if gqa:
        _groups(query, value)
    own = 3 if gqa else 2  # with grouped queries the heads differ, and the kernel pairs them
    tensors = (query, key, value)
    check_batch(
        **{
            name: x[..., :1, :, :] if gqa else x
            for name, x in zip(("query", "key", "value"), tensors, strict=True)
        }
    )
    batch = torch.broadcast_shapes(*(x.shape[:-own] for x in tensors))  # type: ignore[no-untyped-call]
    query, key, value = (x.expand(*batch, *x.shape[-own:]) for x in tensors)
    batch = query.shape[:-2]
    if attn_mask is not None and len(batch) > 2:
        attn_mask = attn_mask.expand(*batch, *attn_mask.shape[-2:])

    def four(x: Tensor) -> Tensor:
        return x.flatten(0, -4) if x.dim() > 4 else x[(None,) * (4 - x.dim())]

    mask = None if attn_mask is None else four(attn_mask)
    output = F.scaled_dot_product_attention(
        four(query), four(key), four(value), mask, dropout_p, causal, scale=scale, enable_gqa=gqa
    )
    return output.reshape(*batch, *output.shape[-2:])


def attention_weights(
    query: Tensor,
    key: Tensor,
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    *,
    rescaling: str | Rescaling = "sqrt_d_k",
    enable_gqa: bool = False,
) -> Tensor:
    """The weights: softmax over each row of scores. Arguments as in
    :func:`scaled_dot_product_attention`.

    Returns:
        (..., L, S) in the dtype of ``query``, each entry in [0, 1]. A row sums to 1, or to 0 where
        it sees no key.

    Example:
        >>> attention_weights(torch.zeros(1, 4), torch.randn(5, 4))
        tensor([[0.2000, 0.2000, 0.2000, 0.2000, 0.2000]])
    """
    scores = attention_scores(
        query, key, attn_mask, is_causal, rescaling=rescaling, enable_gqa=enable_gqa
    )
    return _softmax(scores).to(query.dtype)


def attention_scores(
    query: Tensor,
    key: Tensor,
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    *,
    rescaling: str | Rescaling = "sqrt_d_k",
    enable_gqa: bool = False,
) -> Tensor:
    """The scores that go into softmax: divided dot products, -inf at hidden keys.

    Arguments as in :func:`scaled_dot_product_attention`.

    Returns:
        (..., L, S), at least float32.

    Example:
        >>> attention_scores(torch.ones(1, 16), torch.ones(2, 16))
        tensor([[4., 4.]])
    """
    check_query_key(query, key)
    if enable_gqa:
        key = _repeat_heads(query, key)
    check_batch(query=query, key=key)
    (scores,) = score_blocks(
        query, key, attn_mask, is_causal, rescaling=rescaling, rows=max(1, query.shape[-2])
    )
    return scores


def score_blocks(
    query: Tensor,
    key: Tensor,
    attn_mask: Tensor | None,
    is_causal: bool,
    *,
    rescaling: str | Rescaling,
    rows: int,
) -> Iterator[Tensor]:
    """The scores of ``rows`` queries at a time, (..., rows, S): the whole matrix is never there."""
    wide, n_queries = computation_dtype(query.dtype), query.shape[-2]
    visible = _visible(query, key, attn_mask, is_causal)
    divisor = get_rescaling(rescaling)(key, visible)  # (..., L or 1, 1)
    # every visible key has length zero: so has every dot product
    divisor = torch.where(divisor == 0, 1.0, divisor)
    for start in range(0, max(1, n_queries), rows):
        block = torch.arange(start, min(start + rows, n_queries), device=query.device)
        one_row = divisor.shape[-2] == 1
        divided = query[..., block, :].to(wide) / (divisor if one_row else divisor[..., block, :])
        scores = divided @ key.to(wide).mT  # (..., rows, S)
        if attn_mask is not None and attn_mask.dtype != torch.bool:
            scores = scores + attn_mask.expand(*attn_mask.shape[:-2], n_queries, -1)[
                ..., block, :
            ].to(wide)
        yield (
            scores
            if isinstance(visible, EveryKey)
            else scores.masked_fill(~visible.matrix(block), -math.inf)
        )


def _softmax(scores: Tensor) -> Tensor:
    """Softmax over each row; zeros where every score is -inf."""
    sees_nothing = (scores == -math.inf).all(-1, keepdim=True)  # (..., L, 1)
    return torch.softmax(scores.masked_fill(sees_nothing, 0.0), dim=-1).masked_fill(
        sees_nothing, 0.0
    )


def _visible(
    query: Tensor, key: Tensor, attn_mask: Tensor | None, is_causal: bool, groups: int = 1
) -> Visible:
    """What each row may see, from a mask or the causal order."""
    n_queries, n_keys = query.shape[-2], key.shape[-2]
    if attn_mask is None:
        return CausalOrder(n_queries, n_keys, groups) if is_causal else EveryKey(n_keys, groups)
    if not isinstance(attn_mask, Tensor):
        raise TypeError(f"attn_mask must be a torch.Tensor, got {type(attn_mask).__name__}")
    if is_causal:
        raise ValueError(
            "attn_mask and is_causal=True exclude each other: put the causal order into attn_mask"
        )
    if attn_mask.dtype not in (torch.bool, query.dtype):
        raise TypeError(
            f"attn_mask must be boolean or have the dtype of query, {query.dtype}, got "
            f"{attn_mask.dtype}"
        )
    if attn_mask.device != query.device:
        raise ValueError(
            f"attn_mask must be on the device of query, {query.device}, got {attn_mask.device}"
        )
    heads = key.shape[:-2] if groups == 1 else (*key.shape[:-3], query.shape[-3])
    target = (*torch.broadcast_shapes(query.shape[:-2], heads), n_queries, n_keys)  # type: ignore[no-untyped-call]
    try:
        attn_mask.expand(target)
    except RuntimeError:
        raise ValueError(
            f"attn_mask must broadcast to (..., L, S) = {target}, got {tuple(attn_mask.shape)}"
        ) from None
    mask = attn_mask if attn_mask.dtype == torch.bool else attn_mask != -math.inf
    return Masked(
        mask.expand(*mask.shape[:-2], n_queries, n_keys)
        if mask.dim() > 1
        else mask.expand(n_queries, n_keys),
        groups,
    )


def _groups(query: Tensor, shared: Tensor) -> int:
    """How many query heads (..., Hq, L, E) share a key or value head (..., H, S, E)."""
    if query.dim() < 3 or shared.dim() < 3:
        raise ValueError(
            "enable_gqa needs a head dimension: query (..., Hq, L, d_k), key (..., H, S, d_k)"
        )
    query_heads, heads = query.shape[-3], shared.shape[-3]
    if heads == 0 or query_heads % heads:
        raise ValueError(
            f"enable_gqa needs the query heads to be a multiple of the key heads, got "
            f"{query_heads} and {heads}"
        )
    return query_heads // heads


def _repeat_heads(query: Tensor, shared: Tensor) -> Tensor:
    """Repeat key or value heads to the number of query heads."""
    return shared.repeat_interleave(_groups(query, shared), dim=-3)
