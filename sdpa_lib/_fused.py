r"""What a fused kernel knows of a row: the logarithm of the sum of the exponentials of its scores.

A kernel that makes no table gives, beside the output, :math:`\ln Z(z)` of each row of scores z, and
with another scale :math:`\ln Z(tz)`. With the weights :math:`p_j = e^{z_j} / Z(z)` that is enough:

- :math:`\sum_j p_j^2 = Z(2z) / Z(z)^2`, and so the **effective keys** are
  :math:`e^{2 \ln Z(z) - \ln Z(2z)}`;
- the **entropy** is :math:`-\sum_j p_j \ln p_j = \ln Z(z) - \sum_j p_j z_j`, and the mean of the
  scores is :math:`s\, q \cdot \sum_j p_j k_j`, which is attention with the keys as its values;
- of n keys, :math:`e^{t \max z} \le Z(tz) \le n e^{t \max z}`: the **largest score** lies between
  :math:`(\ln Z(tz) - \ln n) / t` and :math:`\ln Z(tz) / t`, whose middle is off by at most 0.005
  at t = 1,000 and n = 16,384;
- the **weight of one key** is :math:`e^{z_j - \ln Z}`.

The **spread** needs no weights: of keys with mean :math:`\bar k` and covariance C a query's scores
have the variance :math:`s^2\, q^\top C q`, and in causal order mean and covariance are running
sums.

These are PyTorch's private functions, here and nowhere else.
``tests/sdpa_lib/test_watching.py`` fails when they change.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from sdpa_lib.device import widest_dtype

SHARP = 1000.0
"""The t at which ln Z(tz) / t is the largest score, nearly."""


def takes(query: Tensor, mask: Tensor | None) -> bool:
    """Whether the fused kernels of the query's device compute this."""
    if mask is not None or query.shape[-1] > 256 or query.shape[-1] % 8:
        return False
    if query.is_cuda:
        return query.dtype in (torch.float32, torch.float16, torch.bfloat16)
    return query.is_cpu


def with_log_normaliser(
    query: Tensor, key: Tensor, value: Tensor, is_causal: bool, scale: float
) -> tuple[Tensor, Tensor]:
    """Attention of (B, H, L, d_k), and ln Z of each row, (B, H, L)."""
    if query.is_cpu:
        cpus = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        output, log_z = cpus(query, key, value, 0.0, is_causal, scale=scale)
        return output, log_z
    memory_efficient = torch.ops.aten._scaled_dot_product_efficient_attention
    output, log_z, *_ = memory_efficient(query, key, value, None, True, 0.0, is_causal, scale=scale)
    return output, log_z[..., : query.shape[-2]]  # it pads rows


def figures(query: Tensor, key: Tensor, scale: float, offset: int | None) -> tuple[Tensor, ...]:
    """The figures of :class:`~sdpa_lib._rows.RowFigures` but the last, each (B, Hq, L).

    Args:
        query: (B, Hq, L, d_k).
        key: (B, H, S, d_k), each head for Hq / H heads of the query.
        scale: a number.
        offset: 0, or None where each row sees every key.
    """
    is_causal = offset is not None
    if offset not in (None, 0):
        raise ValueError(f"offset must be 0 or None, got {offset}")
    # In half precision the sum of p k, which the entropy is made of, would be rounded too early.
    wide = torch.float64 if query.dtype == torch.float64 else torch.float32
    keys = key.to(wide).repeat_interleave(query.shape[1] // key.shape[1], dim=1)
    mean = keys.mean(-2, keepdim=True)
    keys = keys - mean
    queries = query.to(wide).contiguous()
    n_rows, n_keys = query.shape[-2], key.shape[-2]
    seen = torch.full((n_rows,), float(n_keys), dtype=wide, device=query.device)
    if is_causal:
        seen = torch.arange(1, n_rows + 1, dtype=wide, device=query.device).clamp(max=n_keys)
    blend, log_z = with_log_normaliser(queries, keys, keys, is_causal, scale)
    _, of_squares = with_log_normaliser(queries, keys, keys, is_causal, 2.0 * scale)
    _, sharp = with_log_normaliser(queries, keys, keys, is_causal, SHARP * scale)
    log_z, of_squares, sharp = (x.to(wide) for x in (log_z, of_squares, sharp))
    mean_score = (queries * blend).sum(-1) * scale
    highest = (sharp - 0.5 * seen.log()) / SHARP
    first = (queries @ keys[..., :1, :].mT).squeeze(-1) * scale
    return (
        seen.expand(log_z.shape),
        _spread(queries, keys, scale, is_causal),
        (log_z - mean_score).clamp(min=0.0),
        (2.0 * log_z - of_squares).exp().clamp(min=1.0),
        (highest - log_z).exp().clamp(max=1.0),
        highest + (queries @ mean.mT).squeeze(-1) * scale,
        (first - log_z).exp(),
    )


def _spread(query: Tensor, key: Tensor, scale: float, is_causal: bool, block: int = 64) -> Tensor:
    """The standard deviation of each row's scores over the keys that it sees, (B, Hq, L)."""
    wide = widest_dtype(query.device)
    queries, keys = query.to(wide), key.to(wide)
    n_rows, n_keys = query.shape[-2], key.shape[-2]
    if not is_causal:
        mean = (queries @ keys.mean(-2, keepdim=True).mT).squeeze(-1)
        products = keys.mT @ keys / n_keys  # (B, Hq, d_k, d_k)
        squares = ((queries @ products) * queries).sum(-1)
        return ((squares - mean.square()).clamp(min=0.0).sqrt() * abs(scale)).to(query.dtype)
    # Keys before a block of rows by their sums; those within it by the block's own small table.
    n_blocks = math.ceil(n_rows / block)
    pad = n_blocks * block
    keys = F.pad(keys[..., :pad, :], (0, 0, 0, max(0, pad - n_keys)))
    queries = F.pad(queries, (0, 0, 0, pad - n_rows))
    queries = queries.view(*queries.shape[:-2], n_blocks, block, -1)
    keys = keys.view(*keys.shape[:-2], n_blocks, block, -1)  # (B, Hq, m, block, d_k)
    sums = keys.sum(-2, keepdim=True)
    products = keys.mT @ keys
    sums = sums.cumsum(2) - sums
    products = products.cumsum(2) - products
    within = (queries @ keys.mT).tril()  # (B, Hq, m, block, block)
    total = (queries @ sums.mT).squeeze(-1) + within.sum(-1)
    squares = ((queries @ products) * queries).sum(-1) + within.square().sum(-1)
    seen = torch.arange(1, pad + 1, dtype=wide, device=query.device).clamp(max=n_keys)
    total, squares = total.flatten(-2) / seen, squares.flatten(-2) / seen
    spread = (squares - total.square()).clamp(min=0.0).sqrt() * abs(scale)
    rows: Tensor = spread[..., :n_rows]
    return rows.to(query.dtype)
