"""Which keys each query may see: all that a divisor has to know of a mask."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
import torch.nn.functional as F
from torch import Tensor

from sdpa_lib.device import computation_dtype, is_tracing, peek_range, widest_dtype

HIDES = -9984.0
"""An additive mask hides a key from the divisor where it is at or below this: -10,000 as bfloat16
rounds it.

So the ways in which masks are written all hide: -inf, ``torch.finfo(dtype).min``, -1e9 and -1e4.
The scores get what the mask says, as in PyTorch: a key with -1e4 keeps a weight of exp(-1e4),
which is 0 in every dtype, beside a key with 0. A bias that falls with distance without an end, as
ALiBi's does, reaches the threshold some ten thousand keys away, where its weight has long been 0.
"""


class Visible(ABC):
    """Which keys each query may see: all that a divisor has to know of a mask.

    Args:
        n_rows: the number of queries L, or 1 where all see the same keys.
        n_keys: the number of keys S.
        groups: with grouped queries, how many query heads share a key head.
    """

    def __init__(self, n_rows: int, n_keys: int, groups: int = 1) -> None:
        self.n_rows: int = n_rows
        self.n_keys: int = n_keys
        self.groups: int = groups

    @abstractmethod
    def matrix(self, rows: Tensor) -> Tensor:
        """The rule as a boolean matrix of some ``rows``, given by their numbers (R,): broadcastable
        to (..., R, S).
        """

    @abstractmethod
    def _sum(self, per_key: Tensor) -> Tensor:
        """(..., S) to (..., L), or to (..., 1) where all rows see the same keys."""

    @abstractmethod
    def count(self, like: Tensor) -> Tensor:
        """How many keys each row sees, broadcastable to (..., L, 1), on the device of ``like`` and
        in its dtype: float32, if that is half precision, which does not hold them.
        """

    def sum(self, per_key: Tensor) -> Tensor:
        """Each row's sum of ``per_key`` (..., S) over the keys it sees, (..., L, 1), or (..., 1, 1)
        where all rows see the same keys. In double precision where the device has it.
        """
        wide = self._of_query_heads(per_key).to(widest_dtype(per_key.device))
        return self._sum(wide).unsqueeze(-1)

    def norm(self, lengths: Tensor, p: float) -> Tensor:
        r"""Each row's p-norm :math:`(\sum_j \ell_j^p)^{1/p}` of the lengths (..., S) of the keys it
        sees. As :meth:`sum` in shape and precision.
        """
        if p == 1.0:
            return self.sum(lengths)
        wide = self._of_query_heads(lengths).to(widest_dtype(lengths.device))
        # Up to p = 6 double precision holds the powers of all float32 numbers. Beyond, and where
        # lengths are in double precision, it must be seen to hold them.
        known = _powers_fit(wide, p) if p > 6.0 or lengths.dtype == wide.dtype else True
        if known:
            return _root(self._sum(_power(wide, p)), p)
        if known is None and p <= 6.0:
            largest = _largest(wide)  # (..., 1)
            return _root(self._sum(_power(wide / largest, p)), p) * largest.unsqueeze(-1)
        # the one case that makes a matrix: each row is measured by its own largest length
        rows = self.matrix(torch.arange(self.n_rows, device=lengths.device))
        seen = wide.unsqueeze(-2).where(rows, 0.0)  # (..., L, S)
        largest = _largest(seen)
        return _root(_power(seen / largest, p).sum(-1), p) * largest

    def _of_query_heads(self, per_key: Tensor) -> Tensor:
        return per_key.repeat_interleave(self.groups, dim=-2) if self.groups > 1 else per_key


class EveryKey(Visible):
    """Every row sees every key."""

    def __init__(self, n_keys: int, groups: int = 1) -> None:
        super().__init__(1, n_keys, groups)

    def matrix(self, rows: Tensor) -> Tensor:
        return torch.ones(1, self.n_keys, dtype=torch.bool, device=rows.device)

    def _sum(self, per_key: Tensor) -> Tensor:
        return per_key.sum(-1, keepdim=True)

    def sum(self, per_key: Tensor) -> Tensor:
        total = per_key.sum(-1, keepdim=True, dtype=widest_dtype(per_key.device))
        return self._of_query_heads(total).unsqueeze(-1)

    def norm(self, lengths: Tensor, p: float) -> Tensor:
        widest = widest_dtype(lengths.device)
        if p != 2.0 or lengths.dtype == widest:
            return super().norm(lengths, p)
        norms = torch.linalg.vector_norm(lengths, dim=-1, keepdim=True, dtype=widest)
        return self._of_query_heads(norms).unsqueeze(-1)

    def count(self, like: Tensor) -> Tensor:
        return like.new_full((1, 1), self.n_keys, dtype=computation_dtype(like.dtype))


class CausalOrder(Visible):
    """Row i sees keys 0 ... i + ``offset``: sums are running sums, and no matrix is made.

    With an offset of S - L the last row sees every key, as in decoding.
    """

    def __init__(self, n_queries: int, n_keys: int, groups: int = 1, offset: int = 0) -> None:
        super().__init__(n_queries, n_keys, groups)
        self.offset = offset

    def matrix(self, rows: Tensor) -> Tensor:
        return rows.unsqueeze(-1) + self.offset >= torch.arange(self.n_keys, device=rows.device)

    def _how_many(self, device: torch.device) -> Tensor:
        """How many keys each row sees, (L,)."""
        first = 1 + self.offset
        return torch.arange(first, first + self.n_rows, device=device).clamp(0, self.n_keys)

    def _sum(self, per_key: Tensor) -> Tensor:
        running = per_key.cumsum(-1)  # (..., S)
        # Without the question the graph that torch.compile makes does for all lengths.
        if not is_tracing() and self.n_rows == self.n_keys and self.offset == 0:
            return running
        return F.pad(running, (1, 0))[..., self._how_many(per_key.device)]

    def count(self, like: Tensor) -> Tensor:
        return self._how_many(like.device).to(computation_dtype(like.dtype)).unsqueeze(-1)


class Masked(Visible):
    """Row i sees the keys that a mask lets it see.

    Args:
        mask: broadcastable to (..., L, S), at least two dimensions. Boolean: True where a key may
            be seen. Floating point: a key is hidden at or below :data:`HIDES`.
    """

    def __init__(self, mask: Tensor, n_keys: int, groups: int = 1) -> None:
        super().__init__(mask.shape[-2], n_keys, groups)
        self.mask = mask

    def matrix(self, rows: Tensor) -> Tensor:
        mask = self.mask[..., rows, :] if self.n_rows > 1 else self.mask
        return mask if mask.dtype == torch.bool else mask > HIDES

    def _numbers(self, dtype: torch.dtype) -> Tensor:
        """The mask as ones and zeros, (..., L or 1, S); nothing is repeated for batch or heads."""
        seen = self.mask if self.mask.dtype == torch.bool else self.mask > HIDES
        return seen.to(dtype).expand(*seen.shape[:-1], self.n_keys)

    def _sum(self, per_key: Tensor) -> Tensor:
        numbers = self._numbers(per_key.dtype)
        if numbers.dim() == 2:
            return per_key @ numbers.mT
        return torch.einsum("...s,...ls->...l", per_key, numbers)

    def count(self, like: Tensor) -> Tensor:
        return self._numbers(computation_dtype(like.dtype)).sum(-1, keepdim=True)


def _powers_fit(lengths: Tensor, p: float) -> bool | None:
    """Whether double precision holds the sum of the powers of the lengths, all that are not 0;
    ``None`` where they cannot be looked at.
    """
    if lengths.numel() == 0:
        return True
    seen = peek_range(lengths)
    if seen is None:
        return None
    smallest, largest = seen
    if smallest == 0.0 and largest > 0.0:
        smallest = float(lengths.detach()[lengths > 0].amin())
    range_of_powers = 1e250 ** (1.0 / p)
    return largest == 0.0 or (1.0 / range_of_powers < smallest and largest < range_of_powers)


def _power(x: Tensor, p: float) -> Tensor:
    """x^p: squares are quicker than powers."""
    if p == 4.0:
        x, p = x.square(), 2.0
    return x.square() if p == 2.0 else x**p


def _root(total: Tensor, p: float) -> Tensor:
    """(..., L) to the p-th roots (..., L, 1), with a gradient of 0 where there is nothing to take
    it of.
    """
    seen = peek_range(total)
    nothing = None if seen is not None and seen[0] > 0.0 else total == 0
    if nothing is not None:
        total = total.masked_fill(nothing, 1.0)
    roots = total.sqrt() if p == 2.0 else total ** (1.0 / p)
    return (roots if nothing is None else roots.masked_fill(nothing, 0.0)).unsqueeze(-1)


def _largest(x: Tensor) -> Tensor:
    """The largest of the last dimension, (..., 1), to divide by: 1 where there is none, or all are
    0.
    """
    largest = x.detach().amax(-1, keepdim=True) if x.shape[-1] else x.new_ones(*x.shape[:-1], 1)
    return largest.masked_fill(largest == 0, 1.0)
