r"""What each row of an attention does, without its table of weights.

A row's scores are made again, a few rows of a few heads at a time, so that they never leave the
processor's cache: beside the output of a fused kernel that costs about two calls more, and no
memory that grows with L times S. On a GPU, where a block of scores would travel to memory and back,
:mod:`sdpa_lib._fused` asks the fused kernels instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import torch
from torch import Tensor

from sdpa_lib import _fused
from sdpa_lib._checks import check_query_key
from sdpa_lib.attention import _batch, _divide_by, _groups, _visible
from sdpa_lib.device import computation_dtype
from sdpa_lib.rescaling import AnyRescaling
from sdpa_lib.visibility import HIDES, CausalOrder

ENTRIES = 2**18
"""How many scores a thread has at a time: 1 MB in float32, which stays in a processor's cache."""

ON_A_GPU = 2**22
"""The same in all on a GPU, where each block waits for its kernels to be launched."""

ROWS = 64
"""Rows of a head to take at once: fewer make small products of matrices, and more would compute
more of what causal order hides.
"""

LOW = -1e30
"""The score of a hidden key."""

LEAST = -87.0
"""Scores further below the row's highest count as being here: exp(-87) = 2e-38 is the last that is
no subnormal number, of which exp takes fifty times as long.
"""


class RowFigures(NamedTuple):
    """Of each row, (B, H, R), in float64 for float64 and else in float32.

    ``keys`` is how many keys it sees, ``spread`` the standard deviation of its scores over them,
    ``scale`` what its dot products are multiplied by. A row that sees no key has ``keys`` 0, and
    its other figures mean nothing.
    """

    keys: Tensor
    spread: Tensor
    entropy: Tensor
    effective_keys: Tensor
    largest_weight: Tensor
    largest_score: Tensor
    first_key: Tensor
    scale: Tensor


@dataclass(frozen=True)
class Call:
    """An attention as :func:`figures_of_rows` takes it: heads in groups G that share a key head.

    Attributes:
        query: (B, H, G, L, d_k).
        key: (B, H, S, d_k).
        scale: (B, H, G, L, 1), or a number.
        mask: (B or 1, H or 1, G or 1, L or 1, S), boolean or additive; or None.
        offset: in causal order row i sees keys 0 ... i + offset; None: there is no such order.
    """

    query: Tensor
    key: Tensor
    scale: Tensor | float
    mask: Tensor | None
    offset: int | None

    def of_rows(self, sequences: Tensor, rows: Tensor) -> tuple[Call, Tensor]:
        """Some rows (R,) of some sequences (b,) of the batch; and the rows' numbers."""

        def sequences_of(x: Tensor) -> Tensor:
            whole = x.shape[0] in (1, len(sequences))
            return x if whole else x.index_select(0, sequences)

        def chosen(x: Tensor) -> Tensor:
            return sequences_of(x if x.shape[-2] == 1 else x.index_select(-2, rows))

        return Call(
            chosen(self.query),
            sequences_of(self.key),
            chosen(self.scale) if isinstance(self.scale, Tensor) else self.scale,
            None if self.mask is None else chosen(self.mask),
            self.offset,
        ), rows


def prepare(
    query: Tensor,
    key: Tensor,
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    rescaling: AnyRescaling = "sqrt_d_k",
    enable_gqa: bool = False,
) -> Call:
    """The arguments of :func:`~sdpa_lib.attention.scaled_dot_product_attention` in one shape. Two
    dimensions are one head, and all that lie before the heads are one batch.
    """
    check_query_key(query, key)
    query, key = query.detach(), key.detach()
    groups = _groups(query, key) if enable_gqa else 1
    batch = _batch(enable_gqa, query=query, key=key)
    mask, _, visible = _visible(query, key, attn_mask, is_causal, batch, groups)
    divide, _ = _divide_by(query, key, visible, batch, scale, rescaling)
    if isinstance(divide, Tensor):
        divide = divide.detach().expand(*batch, query.shape[-2], 1)
    n_keys, d_k = key.shape[-2:]
    heads = batch[-1] if batch else 1
    n_batch = math.prod(batch[:-1])
    of_heads = heads // groups

    def in_groups(x: Tensor) -> Tensor:
        """(..., Hq, n, m) to (B, H, G, n, m)."""
        whole = x.expand(*batch, *x.shape[-2:])
        return whole.reshape(n_batch, of_heads, groups, *x.shape[-2:])

    key_batch = (*batch[:-1], of_heads) if batch else ()
    offset = visible.offset if isinstance(visible, CausalOrder) else None
    if offset is not None:
        mask = None
    elif mask is not None:
        mask = mask.detach()
        own = mask.shape[:-2]
        if math.prod(own[:-1]) == 1:  # nothing is repeated for the sequences of a batch
            of_head = own[-1] if own else 1
            split = (1, 1) if of_head == 1 else (of_heads, groups)
            mask = mask.reshape(1, *split, *mask.shape[-2:])
        elif len(own) == 2 and len(batch) == 2:
            split = (1, 1) if own[1] == 1 else (of_heads, groups)
            mask = mask.reshape(own[0], *split, *mask.shape[-2:])
        else:
            mask = in_groups(mask)
        mask = mask.expand(*mask.shape[:-1], n_keys)
    return Call(
        query=in_groups(query),
        key=key.expand(*key_batch, n_keys, d_k).reshape(n_batch, of_heads, n_keys, d_k),
        scale=in_groups(1.0 / divide) if isinstance(divide, Tensor) else divide,
        mask=mask,
        offset=offset,
    )


def figures_of_rows(
    call: Call, numbers: Tensor | None = None, *, road: str | None = None
) -> RowFigures:
    """The figures of every row.

    Args:
        call: of no query or key there are no rows.
        numbers: (L,), the place of each row in causal order; by default they are 0 ... L - 1.
        road: ``"blocks"`` or ``"fused"``; None takes the quicker one of those that are possible.
    """
    if call.query.numel() == 0 or call.key.numel() == 0:
        return RowFigures._make(call.query.new_zeros(0, 0, 0) for _ in RowFigures._fields)
    if road is None:
        quicker = numbers is None and call.query.is_cuda and _fused.takes(call.query, call.mask)
        road = "fused" if quicker else "blocks"
    of_rows = _by_fused_kernel(call) if road == "fused" else _by_blocks(call, numbers)
    if isinstance(call.scale, Tensor):
        scale = call.scale.flatten(1, 2).squeeze(-1).to(of_rows[0].dtype)
    else:
        scale = torch.full_like(of_rows[0], call.scale)
    return RowFigures._make((*of_rows, scale))


def figures_of_scores(scores: Tensor, scale: float) -> RowFigures:
    """The same of a table of scores (B, H, L, S) that somebody has made, -inf at hidden keys."""
    scores = scores.detach()
    wide = scores.to(computation_dtype(scores.dtype), copy=True)
    hidden = wide == -math.inf
    count = hidden.shape[-1] - hidden.sum(-1)
    figures = _from_sums(torch.stack(_sums(wide, hidden, torch.empty_like(wide))), count)
    return RowFigures._make((*figures, torch.full_like(figures[0], scale)))


def _by_blocks(call: Call, numbers: Tensor | None) -> list[Tensor]:
    """Each figure but the scale, (B, Hq, L)."""
    query, key, mask, offset = call.query, call.key, call.mask, call.offset
    wide = computation_dtype(query.dtype)
    n_batch, n_heads, groups, n_rows, d_k = query.shape
    device, n_keys = query.device, key.shape[-2]
    count = torch.full((n_rows,), n_keys, device=device)
    if offset is not None:
        places = torch.arange(n_rows, device=device) if numbers is None else numbers
        count = (places + 1 + offset).clamp(0, n_keys)
    elif mask is not None:
        count = _seen(mask).sum(-1)
    sums = torch.empty(len(SUMS), *query.shape[:-1], dtype=wide, device=device)
    rows, heads, sequences = _sizes(call)
    largest = sequences * heads * groups * rows * n_keys
    scores, spare = (torch.empty(largest, dtype=wide, device=device) for _ in range(2))
    for of_batch, of_heads in product(_slices(n_batch, sequences), _slices(n_heads, heads)):
        keys = key[of_batch, of_heads].to(wide).flatten(0, 1)  # (b h, S, d_k)
        # Softmax and spread do not see what all scores of a row have in common, and sums of squares
        # lose digits to it.
        mean = keys.mean(-2, keepdim=True)
        keys = (keys - mean).mT
        for of_rows in _slices(n_rows, rows):
            here = (of_batch, of_heads, slice(None), of_rows)
            queries = query[here].to(wide)
            queries = queries * (call.scale[here] if isinstance(call.scale, Tensor) else call.scale)
            shape = queries.shape[:-1]
            queries = queries.reshape(keys.shape[0], -1, d_k)  # (b h, g r, d_k)
            n = n_keys
            if offset is not None and numbers is None:  # of later keys no row of the block sees one
                n = min(n_keys, max(1, of_rows.stop + offset))
            block = scores[: queries.shape[0] * queries.shape[1] * n].view(*queries.shape[:-1], n)
            torch.bmm(queries, keys[..., :n], out=block)
            block = block.view(*shape, n)  # (b, h, g, r, n)
            hidden: Tensor | None = None
            begin: int | None = 0
            if offset is not None:  # and all rows see the keys before ``begin``
                begin = min(n, max(0, of_rows.start + 1 + offset)) if numbers is None else 0
                after = torch.arange(begin, n, device=device)
                hidden = after >= count[of_rows].unsqueeze(-1)  # (r, n - begin)
            elif mask is not None:
                of_mask = mask[
                    tuple(
                        part if size > 1 else slice(None)
                        for size, part in zip(mask.shape, here, strict=False)
                    )
                ]
                hidden, begin = ~_seen(of_mask), None
                if mask.dtype != torch.bool:
                    block.add_(of_mask.to(wide).clamp(min=HIDES))
            parts = _sums(block, hidden, spare[: block.numel()].view(block.shape), begin)
            parts[0].add_(torch.bmm(queries, mean.mT).view(shape))  # the highest score
            sums[(slice(None), *here)] = torch.stack(parts)
    return _from_sums(sums.flatten(2, 3), count.flatten(1, 2) if count.dim() > 1 else count)


def _seen(mask: Tensor) -> Tensor:
    return mask if mask.dtype == torch.bool else ~(mask <= HIDES)  # NaN makes NaN of a row


def _sizes(call: Call) -> tuple[int, int, int]:
    """How many rows, heads and sequences make a block."""
    n_batch, n_heads, groups, n_rows, _ = call.query.shape
    entries = ENTRIES * min(torch.get_num_threads(), 8) if call.query.is_cpu else ON_A_GPU
    of_row = groups * max(1, call.key.shape[-2])
    rows = max(1, min(n_rows, ROWS, entries // of_row))
    heads = max(1, min(n_heads, entries // (of_row * rows)))
    sequences = max(1, min(n_batch, entries // (of_row * rows * heads))) if heads == n_heads else 1
    return rows, heads, sequences


def _slices(total: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, total)) for start in range(0, total, size))


SUMS = ("highest", "total", "length", "normaliser", "of squares", "of scores", "first")
"""What :func:`_sums` gives of each row: its highest score z; sum and root of the sum of squares of
its scores; with weights :math:`w = e^{z - \\max z}` the sum of them, the root of the sum of their
squares, and the sum of :math:`w (z - \\max z)`; and w of the first key that is seen.
"""


def _sums(
    scores: Tensor, hidden: Tensor | None, spare: Tensor, begin: int | None = None
) -> list[Tensor]:
    """The sums of rows (..., n) of scores, which are overwritten, and so is ``spare``, of the same
    shape. ``hidden`` is of the keys from ``begin`` on, and the very first is not among them in any
    row that sees a key; without ``begin`` it is of all.
    """
    if hidden is not None:
        scores[..., begin or 0 :].masked_fill_(hidden, 0.0)
    total = scores.sum(-1)
    length = torch.linalg.vector_norm(scores, dim=-1)
    if hidden is not None:
        scores[..., begin or 0 :].masked_fill_(hidden, LOW)
    highest = scores.amax(-1, keepdim=True)
    scores.sub_(highest).clamp_(min=LEAST)
    weights = torch.exp(scores, out=spare)
    normaliser = weights.sum(-1)
    of_squares = torch.linalg.vector_norm(weights, dim=-1)
    if hidden is None or begin is not None:
        first = weights[..., 0].clone()
    else:
        place = (~hidden).to(torch.uint8).argmax(-1, keepdim=True)
        first = weights.gather(-1, place.expand(*weights.shape[:-1], 1)).squeeze(-1)
    of_scores = weights.mul_(scores).sum(-1)
    return [highest.squeeze(-1), total, length, normaliser, of_squares, of_scores, first]


def _from_sums(sums: Tensor, count: Tensor) -> list[Tensor]:
    """The figures of rows (...) from their sums (7, ...)."""
    highest, total, length, normaliser, of_squares, of_scores, first = sums
    keys = count.to(sums.dtype).expand(highest.shape)
    seen = keys.clamp(min=1.0)
    return [
        keys,
        ((length.square() - total.square() / seen) / seen).clamp(min=0.0).sqrt(),
        (normaliser.log() - of_scores / normaliser).clamp(min=0.0),
        (normaliser / of_squares).square(),
        1.0 / normaliser,
        highest,
        first / normaliser,
    ]


def _by_fused_kernel(call: Call) -> list[Tensor]:
    """The same from what fused kernels return: see :mod:`sdpa_lib._fused`."""
    groups = call.query.shape[2]
    query = call.query.flatten(1, 2)  # (B, Hq, L, d_k)
    if isinstance(call.scale, Tensor):
        query = query * call.scale.flatten(1, 2).to(query.dtype)
    scale = 1.0 if isinstance(call.scale, Tensor) else call.scale
    heads = max(1, ON_A_GPU // (query[:, :groups].numel() + 1))
    parts = []
    for here in _slices(call.key.shape[1], heads):
        of_heads = query[:, here.start * groups : here.stop * groups]
        parts.append(_fused.figures(of_heads, call.key[:, here], scale, call.offset))
    return [torch.cat(part, dim=1) for part in zip(*parts, strict=True)]
