"""Scores, weights and output of dot-product attention, with any rescaling, mask, causal order and
grouped-query layout.

Arguments, shapes and results follow :func:`torch.nn.functional.scaled_dot_product_attention`.
Whoever asks for scores or weights gets them from the textbook's formula, and the whole matrix is
made. The output alone needs no matrix: every rescaling divides a query's scores by one number, so
the query can be divided instead, and PyTorch's fused kernel does the rest.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeGuard, TypeVar, overload

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import handle_torch_function, has_torch_function

from sdpa_lib._checks import (
    as_number,
    check_query_key,
    check_value,
    fit_at_a_glance,
    type_of,
)
from sdpa_lib.device import computation_dtype, peek_range
from sdpa_lib.rescaling import (
    AnyRescaling,
    checked_constant,
    checked_divisor,
    get_rescaling,
    power_of_d_k,
)
from sdpa_lib.visibility import CausalOrder, EveryKey, Masked, Visible

if TYPE_CHECKING:
    from torch.nn.attention.bias import CausalBias

P = ParamSpec("P")
R = TypeVar("R")

_PYTORCHS = F.scaled_dot_product_attention
"""Bound here, so that whoever puts this module's function into the place of PyTorch's does not have
it call itself.
"""


def _cast_by_autocast(function: Callable[P, R]) -> Callable[P, R]:
    """Under autocast tensors are cast once, as PyTorch casts those of its own function; what is
    computed from them is not cast again, nor is a number such as ``scale``, which may come as a
    tensor without dimensions.
    """

    @functools.wraps(function)
    def casting(*args: P.args, **kwargs: P.kwargs) -> R:
        query = args[0] if args else kwargs.get("query")
        device = "meta"
        if isinstance(query, Tensor):  # is_cpu is quicker than to ask for the type
            device = "cpu" if query.is_cpu else query.device.type
        if device == "meta" or not torch.is_autocast_enabled(device):
            return function(*args, **kwargs)
        dtype = torch.get_autocast_dtype(device)

        def cast(x: Any) -> Any:
            castable = (torch.float32, torch.float16, torch.bfloat16)
            if not isinstance(x, Tensor) or x.dim() == 0 or _is_causal_bias(x):
                return x
            return x.to(dtype) if x.dtype in castable else x

        call: Any = function
        with torch.autocast(device, enabled=False):
            result: R = call(
                *(cast(x) for x in args), **{name: cast(x) for name, x in kwargs.items()}
            )
        return result

    return casting


def _is_causal_bias(x: Tensor) -> TypeGuard[CausalBias]:
    """Whether it is PyTorch's class, whose module imports the compiler, which takes as long as all
    the rest: only a tensor of some class of its own is worth that.
    """
    if type(x) is Tensor:
        return False
    from torch.nn.attention.bias import CausalBias

    return isinstance(x, CausalBias)


@overload
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = ...,
    dropout_p: float = ...,
    is_causal: bool = ...,
    *,
    scale: float | None = ...,
    rescaling: AnyRescaling = ...,
    enable_gqa: bool = ...,
    return_weights: Literal[False] = ...,
) -> Tensor: ...


@overload
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = ...,
    dropout_p: float = ...,
    is_causal: bool = ...,
    *,
    scale: float | None = ...,
    rescaling: AnyRescaling = ...,
    enable_gqa: bool = ...,
    return_weights: Literal[True],
) -> tuple[Tensor, Tensor]: ...


@overload
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = ...,
    dropout_p: float = ...,
    is_causal: bool = ...,
    *,
    scale: float | None = ...,
    rescaling: AnyRescaling = ...,
    enable_gqa: bool = ...,
    return_weights: bool,
) -> Tensor | tuple[Tensor, Tensor]: ...


@_cast_by_autocast
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    rescaling: AnyRescaling = "sqrt_d_k",
    enable_gqa: bool = False,
    return_weights: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    r"""Attention, :math:`\mathrm{softmax}(QK^\top / c_K)\,V`, with the divisor of your choice.

    With the default rescaling it gives what
    :func:`torch.nn.functional.scaled_dot_product_attention` gives. Written out::

        def attention(
            query, key, value, attn_mask=None, is_causal=False, rescaling="sqrt_d_k"
        ):
            L, S = query.shape[-2], key.shape[-2]
            everywhere = torch.ones(L, S, dtype=torch.bool)
            visible = everywhere if attn_mask is None else attn_mask          # (..., L, S)
            if is_causal:
                visible = visible.tril()                                      # i sees 0 ... i
            scores = query @ key.mT / get_rescaling(rescaling)(key, visible)  # (..., L, S)
            scores = scores.masked_fill(~visible, float("-inf"))
            weights = torch.softmax(scores, dim=-1)                           # rows sum to 1
            return weights @ value                                            # (..., L, Ev)

    Args:
        query: (..., L, d_k). Batch dimensions broadcast.
        key: (..., S, d_k).
        value: (..., S, Ev).
        attn_mask: broadcastable to (..., L, S). Boolean: True where attention is allowed; a row
            that sees no key gives zeros. Floating point, of the dtype of ``query`` or float32:
            added to the divided scores; where it is at or below ``HIDES``, -9984, the key does not
            count in the divisor, so that -inf, ``torch.finfo(dtype).min``, -1e9 and -1e4 all hide.
            Or a :class:`torch.nn.attention.bias.CausalBias`.
        dropout_p: probability in [0, 1] of dropping a weight; applied whenever it is above 0.
        is_causal: query i sees keys 0 ... i (aligned top left). Not together with ``attn_mask``.
        scale: what the dot products are multiplied by, in place of a division by a rescaling. A
            finite number, which may be NumPy's or a tensor without dimensions or gradient. Neither
            this nor ``dropout_p`` may be True, which PyTorch takes for 1.
        rescaling: what the dot products are divided by: a name in
            :func:`~sdpa_lib.rescaling.known_rescalings`, an instance, or a function of ``(key,
            visible)`` that gives the divisor (..., L, 1).
        enable_gqa: grouped queries: ``query`` (..., Hq, L, d_k) with ``key`` and ``value`` (..., H,
            S, .), Hq a multiple of H.
        return_weights: also return the weights (..., L, S), as softmax gave them, before dropout.

    Returns:
        (..., L, Ev) in the dtype of ``query``; with ``return_weights`` a pair (output, weights).

    Raises:
        TypeError: not a tensor of float64, float32, bfloat16 or float16, or dtypes that differ.
        ValueError: shapes or devices that do not fit, a parameter out of range, an unknown
            rescaling.

    Note:
        Without ``return_weights`` this is PyTorch's function, given another query: its kernels make
        no L x S matrix where inputs have four dimensions of the same batch and heads, and it has
        second derivatives and forward mode where inputs have two or three. Under autocast inputs
        are cast as PyTorch casts them. Lengths and divisors are computed in float32 for half
        precision, and keys of any finite length are measured rightly; the divided query itself is
        rounded to half precision once more, which ``return_weights`` does not do. Finite inputs
        give finite outputs as long as the keys' lengths, the query over its divisor, :math:`q/c`,
        and the scores fit float32; in float16 without ``return_weights``, :math:`q\sqrt{d_k}/c`
        must fit float16, which ends at 65,504. A row whose divisor is infinite or NaN is NaN; one
        whose query is gets what PyTorch gives, which is zeros where a row is short.

    Source: :cite:t:`vaswani2017`, equation 1; other rescalings: :cite:t:`bernhard2023`; grouped
    queries: :cite:t:`ainslie2023`.

    Example:
        >>> q, k, v = torch.ones(2, 4), torch.ones(3, 4), torch.arange(3.0).unsqueeze(-1)
        >>> scaled_dot_product_attention(q, k, v)
        tensor([[1.],
                [1.]])
    """
    if has_torch_function((query, key, value)):  # a mode sees the call, as it sees PyTorch's own
        result: Tensor | tuple[Tensor, Tensor] = handle_torch_function(
            scaled_dot_product_attention,
            (query, key, value),
            query,
            key,
            value,
            attn_mask,
            dropout_p,
            is_causal,
            scale=scale,
            rescaling=rescaling,
            enable_gqa=enable_gqa,
            return_weights=return_weights,
        )
        return result
    fit = fit_at_a_glance(query, key, value)
    ordinary = fit and attn_mask is None and isinstance(is_causal, bool)
    ordinary = ordinary and isinstance(dropout_p, float) and 0.0 <= dropout_p <= 1.0
    if ordinary and scale is None and not (enable_gqa or return_weights):
        # Where there is little to compute, all that follows takes as long as PyTorch's function.
        constant = checked_constant(get_rescaling(rescaling), _d_k(query))
        if constant is not None:
            return _PYTORCHS(query, key, value, None, dropout_p, is_causal, scale=1.0 / constant)
    if not fit:
        check_query_key(query, key)
        check_value(key, value)
    dropout_p = as_number("dropout_p", dropout_p)
    if not 0.0 <= dropout_p <= 1.0:
        raise ValueError(f"dropout_p must be a probability in [0, 1], got {dropout_p}")
    groups = _groups(query, key) if enable_gqa else 1
    of_value = _groups(query, value) if enable_gqa else 1
    batch: tuple[int, ...] = query.shape[:-2]
    whole = batch
    if not fit:
        batch = _batch(enable_gqa, query=query, key=key)
        whole = _batch(enable_gqa, query=query, key=key, value=value)
    if return_weights:
        scores = attention_scores(
            query,
            key,
            attn_mask,
            is_causal,
            scale=scale,
            rescaling=rescaling,
            enable_gqa=enable_gqa,
        )  # (..., L, S)
        weights = _softmax(scores)
        dropped = F.dropout(weights, dropout_p) if dropout_p > 0.0 else weights
        output = dropped @ _repeat_heads(value, of_value).to(weights.dtype)  # (..., L, Ev)
        return output.to(query.dtype), weights.to(query.dtype)
    attn_mask, is_causal, visible = _visible(query, key, attn_mask, is_causal, batch, groups)
    divide, is_number = _divide_by(query, key, visible, batch, scale, rescaling)
    divided = query
    if isinstance(divide, Tensor):
        # A divisor lies between sqrt(d_k) and n times that, typically. A half-precision query,
        # divided by no more than what differs from the root, keeps its digits; the kernel applies
        # the root, in float32.
        scale = 1.0
        if query.dtype != divide.dtype:
            scale = power_of_d_k(query.shape[-1], -0.5)
            divide = divide * scale
        divided = query / divide
        if divided.dtype != query.dtype:
            divided = divided.to(query.dtype)
    else:
        scale = divide
    output = _PYTORCHS(
        divided, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )
    # Where there is nothing to add up PyTorch's function has the query's batch.
    if output.shape[:-2] != whole:
        output = output.expand(*whole, *output.shape[-2:])
    if attn_mask is not None and not query.is_cpu:
        # A GPU's kernels for half precision give a blend of all values to a row that sees nothing.
        hides = ~attn_mask if attn_mask.dtype == torch.bool else attn_mask == -math.inf
        output = output.masked_fill(hides.all(-1, keepdim=True), 0.0)
    if not is_number:
        # PyTorch's kernels give zeros, as to a row that sees nothing, where all scores of a short
        # row are NaN: a divisor that is not a number must not look like that.
        output = output.masked_fill(torch.as_tensor(divide).isnan(), math.nan)
    return output


@_cast_by_autocast
def attention_weights(
    query: Tensor,
    key: Tensor,
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    rescaling: AnyRescaling = "sqrt_d_k",
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
        query,
        key,
        attn_mask,
        is_causal,
        scale=scale,
        rescaling=rescaling,
        enable_gqa=enable_gqa,
    )
    return _softmax(scores).to(query.dtype)


@_cast_by_autocast
def attention_scores(
    query: Tensor,
    key: Tensor,
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    rescaling: AnyRescaling = "sqrt_d_k",
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
    groups = _groups(query, key) if enable_gqa else 1
    batch = _batch(enable_gqa, query=query, key=key)
    mask, _, visible = _visible(query, key, attn_mask, is_causal, batch, groups)
    divide, is_number = _divide_by(query, key, visible, batch, scale, rescaling)
    wide = computation_dtype(query.dtype)
    queries = query.to(wide)
    keys = _repeat_heads(key, groups).to(wide)  # (..., S, d_k)
    if isinstance(divide, Tensor):  # first, since products of long keys may not fit
        scores = (queries / divide) @ keys.mT  # (..., L, S)
    else:
        scores = (queries @ keys.mT) * divide
    if mask is not None and mask.dtype != torch.bool:
        return scores + mask.to(wide)
    if not isinstance(visible, EveryKey):
        rows = torch.arange(query.shape[-2], device=query.device)
        scores = scores.masked_fill(~visible.matrix(rows), -math.inf)
    if not is_number:
        scores = scores.masked_fill(torch.as_tensor(divide).isnan(), math.nan)
    return scores


def _softmax(scores: Tensor) -> Tensor:
    """Softmax over each row; zeros where every score is -inf."""
    sees_nothing = (scores == -math.inf).all(-1, keepdim=True)  # (..., L, 1)
    return torch.softmax(scores.masked_fill(sees_nothing, 0.0), dim=-1).masked_fill(
        sees_nothing, 0.0
    )


def _divide_by(
    query: Tensor,
    key: Tensor,
    visible: Visible,
    batch: tuple[int, ...],
    scale: float | None,
    rescaling: AnyRescaling,
) -> tuple[float | Tensor, bool]:
    """A number to multiply all dot products by; or, of a rescaling that is not constant, the
    divisors of the rows, broadcastable to (..., L, 1). And whether it is known that they are
    numbers.
    """
    chosen = get_rescaling(rescaling)
    if scale is not None:
        if rescaling != "sqrt_d_k":
            raise ValueError(
                f"scale and rescaling exclude each other, got {scale} and {chosen.name}: "
                f"write PowerOfDk(0, factor=1 / scale), or a multiple of the rescaling"
            )
        return as_number("scale", scale), True
    d_k = _d_k(query)
    constant = checked_constant(chosen, d_k)
    if constant is not None:
        return 1.0 / constant, True
    divisor = checked_divisor(chosen, key, visible, (*batch, query.shape[-2], 1))
    seen = peek_range(divisor)
    are_numbers = False
    if seen is not None:
        if seen[0] < 0.0:
            raise ValueError(f"the divisor of {chosen.name} must not be negative, got {seen[0]}")
        are_numbers = seen[1] < math.inf
        if are_numbers and seen[0] > 0.0:
            return divisor, True
    # No key is seen, or every key that is has length zero: so has every dot product.
    divisor = divisor.masked_fill(divisor == 0, power_of_d_k(d_k, 0.5))
    return divisor.masked_fill(~((divisor > 0) & (divisor < math.inf)), math.nan), are_numbers


def _d_k(query: Tensor) -> int:
    """The last dimension, which is a tensor under torch.jit.trace."""
    d_k: Any = query.shape[-1]
    return int(d_k) if isinstance(d_k, Tensor) else d_k


def _visible(
    query: Tensor,
    key: Tensor,
    attn_mask: Tensor | None,
    is_causal: bool,
    batch: tuple[int, ...],
    groups: int,
) -> tuple[Tensor | None, bool, Visible]:
    """What each row may see, from a mask or the causal order; and both as PyTorch's function takes
    them.
    """
    n_queries, n_keys = query.shape[-2], key.shape[-2]
    if not isinstance(is_causal, bool):
        raise TypeError(f"is_causal must be a bool, got {type_of(is_causal)}")
    if attn_mask is None:
        everything = EveryKey(n_keys, groups)
        causal = CausalOrder(n_queries, n_keys, groups) if is_causal else everything
        return None, is_causal, causal
    if not isinstance(attn_mask, Tensor):
        raise TypeError(f"attn_mask must be a torch.Tensor, got {type_of(attn_mask)}")
    if is_causal:
        raise ValueError(
            "attn_mask and is_causal=True exclude each other: put the causal order into attn_mask"
        )
    if _is_causal_bias(attn_mask):
        order = _order_of(attn_mask, n_queries, n_keys, groups)
        if order.offset == 0:
            return None, True, order
        return order.matrix(torch.arange(n_queries, device=query.device)), False, order
    if attn_mask.dtype not in (torch.bool, query.dtype, torch.float32):
        raise TypeError(
            f"attn_mask must be boolean, float32 or have the dtype of query, {query.dtype}, got "
            f"{attn_mask.dtype}"
        )
    if attn_mask.device != query.device:
        raise ValueError(
            f"attn_mask must be on the device of query, {query.device}, got {attn_mask.device}"
        )
    try:
        attn_mask.expand(*batch, n_queries, n_keys)
    except RuntimeError:
        raise ValueError(
            f"attn_mask must broadcast to (..., L, S) = {(*batch, n_queries, n_keys)}, got "
            f"{tuple(attn_mask.shape)}"
        ) from None
    if attn_mask.dim() < 2:
        attn_mask = attn_mask.expand(1, n_keys)
    if attn_mask.dtype == torch.float32 and (query.dtype == torch.float64 or not query.is_cpu):
        attn_mask = attn_mask.to(query.dtype)  # PyTorch's kernels take it, and read it wrongly
    return attn_mask, False, Masked(attn_mask, n_keys, groups)


def _order_of(bias: CausalBias, n_queries: int, n_keys: int, groups: int) -> CausalOrder:
    """The order that PyTorch's class stands for."""
    from torch.nn.attention.bias import CausalVariant

    if (bias.seq_len_q, bias.seq_len_kv) != (n_queries, n_keys):
        raise ValueError(
            f"attn_mask must be a CausalBias of {n_queries} queries and {n_keys} keys, got "
            f"{bias.seq_len_q} and {bias.seq_len_kv}"
        )
    lower_right = bias.variant == CausalVariant.LOWER_RIGHT
    return CausalOrder(n_queries, n_keys, groups, n_keys - n_queries if lower_right else 0)


def _batch(enable_gqa: bool, **tensors: Tensor) -> tuple[int, ...]:
    """What the batch dimensions, the query's heads among them, broadcast to."""
    query = tensors["query"]
    shapes = [
        (*x.shape[:-3], query.shape[-3]) if enable_gqa else x.shape[:-2] for x in tensors.values()
    ]
    if all(shape == shapes[0] for shape in shapes):
        return shapes[0]
    try:
        return torch.broadcast_shapes(*shapes)  # type: ignore[no-untyped-call,no-any-return]
    except RuntimeError:
        came = " and ".join(f"{name} {tuple(x.shape)}" for name, x in tensors.items())
        heads, *others = (x.shape[-3] if x.dim() > 2 else 1 for x in tensors.values())
        grouped = not enable_gqa and all(other and heads % other == 0 for other in others)
        hint = "; for grouped queries pass enable_gqa=True" if grouped else ""
        raise ValueError(f"batch dimensions must broadcast, got {came}{hint}") from None


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


def _repeat_heads(shared: Tensor, groups: int) -> Tensor:
    """Repeat key or value heads to the number of query heads."""
    return shared.repeat_interleave(groups, dim=-3) if groups > 1 else shared
