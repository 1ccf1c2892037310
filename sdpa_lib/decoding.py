"""Decoding, a few tokens at a time: the divisor of a cache, without reading the cache again.

A divisor that is made of keys takes their lengths, one more pass over all of them, which a single
query does not pay for. What earlier keys contribute does not change, so it need not be computed
again: a sum goes on from where it was.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from sdpa_lib._checks import check_count, check_tensor
from sdpa_lib.device import widest_dtype
from sdpa_lib.rescaling import Rescaling, get_rescaling
from sdpa_lib.visibility import CausalOrder, EveryKey, Pattern, Visible


class RunningDivisor(Rescaling):
    """A rescaling that remembers the keys of a cache: whoever appends keys to the cache appends
    them here, too, and attends with this as ``rescaling``.

    It serves every cache, since it does not look at it: one that grows; one of fixed size, whose
    empty places a mask hides; and, given its ``window``, one that slides. It is for inference:
    gradients reach the keys that were appended last, no others. Every layer needs its own.

    Args:
        rescaling: what it computes: a name or an instance that makes its divisor of the sums, norms
            and counts of :class:`~sdpa_lib.visibility.Visible`, as all in this library do.
        window: how many keys a query sees, its own included; ``None`` means all before it.
        groups: how many query heads share a key head, where the rescaling has a number of its own
            for each query head. Without one it is not needed.

    Example:
        >>> from sdpa_lib import scaled_dot_product_attention as attention
        >>> shape = 1, 2, 9, 8  # batch, heads, tokens, d_k
        >>> q, k, v = (torch.randn(shape) for _ in range(3))
        >>> running, rows = RunningDivisor("k_rss"), []
        >>> for i in range(9):
        ...     running.append(k[..., i : i + 1, :])
        ...     query, seen = q[..., i : i + 1, :], slice(0, i + 1)
        ...     keys, values = k[..., seen, :], v[..., seen, :]
        ...     rows.append(attention(query, keys, values, rescaling=running))
        >>> whole = attention(q, k, v, is_causal=True, rescaling="k_rss")
        >>> torch.allclose(torch.cat(rows, dim=-2), whole, atol=1e-6)
        True
    """

    def __init__(
        self, rescaling: str | Rescaling, *, window: int | None = None, groups: int = 1
    ) -> None:
        self.rescaling: Rescaling = get_rescaling(rescaling)
        self.window: int | None = None if window is None else check_count("window", window)
        self.groups: int = check_count("groups", groups)
        # of each sum or norm that the rescaling takes, in order
        self._past: list[Tensor] = []
        self._rows: Tensor | None = None
        self._n_new = 0

    @property
    def name(self) -> str:
        return f"running {self.rescaling.name}"

    @property
    def formula(self) -> str:
        return self.rescaling.formula

    def constant(self, d_k: int) -> float | None:
        return self.rescaling.constant(d_k)

    def append(self, key: Tensor, visible: Tensor | None = None) -> None:
        """Take account of new keys. The attention that follows has one query for each of them, and
        query i sees all keys before, and keys 0 ... i of these.

        Args:
            key: (..., T, d_k), T at least 1.
            visible: boolean, broadcastable to (..., T): False for keys that nobody may see, such as
                padding. ``None`` means that all may be seen.
        """
        check_tensor("key", key, min_dim=2, shape="(..., T, d_k)")
        if key.shape[-2] == 0:
            raise ValueError(f"key must hold at least one new key, got shape {tuple(key.shape)}")
        if visible is not None:
            if not isinstance(visible, Tensor) or visible.dtype != torch.bool:
                came = visible.dtype if isinstance(visible, Tensor) else type(visible).__name__
                raise TypeError(f"visible must be a boolean torch.Tensor, got {came}")
            try:
                visible.expand(key.shape[:-1])
            except RuntimeError:
                raise ValueError(
                    f"visible must broadcast to (..., T) = {tuple(key.shape[:-1])}, got "
                    f"{tuple(visible.shape)}"
                ) from None
        if self.constant(key.shape[-1]) is None:
            going_on = _GoingOn(self._past, key.shape[-2], visible, self.window, self.groups)
            self._rows = self.rescaling.divisor(key, going_on)  # (..., T or 1, 1)
            self._n_new = key.shape[-2]
            self._past = going_on.past

    def divisor(self, key: Tensor, visible: Visible) -> Tensor:
        if self._rows is None:
            raise ValueError("append must be given the new keys before they are attended to")
        rows = self._rows
        if visible.n_rows not in (1, self._n_new):
            raise ValueError(
                f"query must have a row for each of the {self._n_new} keys that were appended "
                f"last, got {visible.n_rows} rows"
            )
        if self.groups == 1 and visible.groups > 1 and rows.dim() > 2 and rows.shape[-3] > 1:
            return rows.repeat_interleave(visible.groups, dim=-3)  # from key heads to query heads
        return rows


class _GoingOn(Visible):
    """What new keys see, on top of what was seen before.

    A sum or norm of the past stands in for all its keys, as one key more. A window forgets, so its
    past is kept key by key.
    """

    def __init__(
        self,
        past: list[Tensor],
        n_new: int,
        visible: Tensor | None,
        window: int | None,
        groups: int,
    ) -> None:
        super().__init__(n_new, n_new, groups)
        self.past = list(past)
        self.visible, self.window, self.asked = visible, window, 0

    def sum(self, per_key: Tensor) -> Tensor:
        return self._go_on(per_key, lambda order, numbers: order.sum(numbers))

    def norm(self, lengths: Tensor, p: float) -> Tensor:
        return self._go_on(lengths, lambda order, numbers: order.norm(numbers, p))

    def max(self, per_key: Tensor) -> Tensor:
        return self._go_on(per_key, lambda order, numbers: order.max(numbers))

    def count(self, like: Tensor) -> Tensor:
        return self.sum(like.new_ones(self.n_keys))

    def _go_on(self, numbers: Tensor, take: Callable[[Visible, Tensor], Tensor]) -> Tensor:
        if self.visible is not None:
            numbers = numbers * self.visible
        if numbers.dim() > 1 and numbers.shape[-2] > 1:
            numbers = self._of_query_heads(numbers)
        numbers = numbers.to(widest_dtype(numbers.device))
        if self.asked < len(self.past):
            past = self.past.pop(self.asked)
            batch = torch.broadcast_shapes(past.shape[:-1], numbers.shape[:-1])  # type: ignore[no-untyped-call]
            numbers = torch.cat([x.expand(*batch, x.shape[-1]) for x in (past, numbers)], dim=-1)
        n_numbers = numbers.shape[-1]
        if self.window is not None:
            rows = take(_Window(self.n_rows, n_numbers, self.window), numbers)
            kept = numbers[..., max(0, n_numbers - self.window + 1) :]
        else:
            order = CausalOrder(self.n_rows, n_numbers, offset=n_numbers - self.n_rows)
            rows = take(EveryKey(n_numbers) if self.n_rows == 1 else order, numbers)
            kept = rows[..., -1, :]
        self.past.insert(self.asked, kept.detach())
        self.asked += 1
        return rows


class _Window(Pattern):
    """Each row sees ``window`` keys, or as many as there are; the last row's are the last keys."""

    def __init__(self, n_rows: int, n_keys: int, window: int) -> None:
        super().__init__(n_rows, n_keys)
        self.window = window

    def matrix(self, rows: Tensor) -> Tensor:
        keys = torch.arange(self.n_keys, device=rows.device)
        back = rows.unsqueeze(-1) + (self.n_keys - self.n_rows) - keys
        return (back >= 0) & (back < self.window)

    def _sum(self, per_key: Tensor) -> Tensor:
        missing = self.window - 1 + self.n_rows - self.n_keys
        return F.pad(per_key, (missing, 0)).unfold(-1, self.window, 1).sum(-1)

    def _max(self, per_key: Tensor) -> Tensor:
        missing = self.window - 1 + self.n_rows - self.n_keys
        return F.pad(per_key, (missing, 0), value=-math.inf).unfold(-1, self.window, 1).amax(-1)

    def count(self, like: Tensor) -> Tensor:
        return self.sum(like.new_ones(self.n_keys))
