"""Which keys each query may see: all that a divisor has to know of a mask."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
import torch.nn.functional as F
from torch import Tensor

from sdpa_lib._checks import check_number
from sdpa_lib.device import computation_dtype, is_tracing, widest_dtype

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

    What it gives broadcasts to the scores' rows, (..., L, 1), and is (..., 1, 1) where all rows see
    the same keys; with grouped queries it has the heads of the query.

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
        """(..., S) to (..., L), or to (..., 1) where all rows see the same keys, in the precision
        of :meth:`sum`.
        """

    @abstractmethod
    def _max(self, per_key: Tensor) -> Tensor:
        """The same for the largest of at least one key, in its dtype; -inf where none is seen."""

    @abstractmethod
    def count(self, like: Tensor) -> Tensor:
        """How many keys each row sees, on the device of ``like`` and in its dtype: float32, if that
        is half precision, which does not hold them.
        """

    def sum(self, per_key: Tensor) -> Tensor:
        """Each row's sum of ``per_key`` (..., S) over the keys it sees. In double precision where
        the device has it.
        """
        return self._sum(per_key).unsqueeze(-1)

    def norm(self, lengths: Tensor, p: float) -> Tensor:
        r"""Each row's p-norm :math:`(\sum_j \ell_j^p)^{1/p}` of the lengths (..., S) of the keys it
        sees, for a finite p of at least 1, in the precision of :meth:`sum`. Keys shorter than
        :math:`10^{-300/p}` times the longest, which may be one that is hidden, count as of length
        zero.
        """
        if p == 1.0 or self.n_keys == 0:
            return self.sum(lengths)
        check_number("p", p, minimum=1.0)
        wide = lengths.to(widest_dtype(lengths.device))
        # Measured by the longest, no power is too large. That is no number if a key is not one:
        # then rows that see others alone need a unit, too.
        unit = wide.detach().amax(-1, keepdim=True).nan_to_num(1.0, 1.0)
        unit = unit.clamp(min=torch.finfo(lengths.dtype).tiny)
        shares = wide / unit
        powers = shares.square().square() if p == 4.0 else shares**p  # squares are quicker
        return (root(self._sum(powers), p) * self._of_query_heads(unit)).unsqueeze(-1)

    def max(self, per_key: Tensor) -> Tensor:
        """The largest of ``per_key`` (..., S) among the keys that each row sees, 0 where it sees
        none.
        """
        if self.n_keys == 0:
            return self.sum(per_key)
        largest = self._max(per_key)
        return largest.masked_fill(largest == -math.inf, 0.0).unsqueeze(-1)

    def _of_query_heads(self, per_head: Tensor) -> Tensor:
        """(..., H, any) to (..., Hq, any)."""
        if self.groups == 1 or per_head.dim() < 2 or per_head.shape[-2] == 1:
            return per_head
        return per_head.repeat_interleave(self.groups, dim=-2)


class EveryKey(Visible):
    """Every row sees every key."""

    def __init__(self, n_keys: int, groups: int = 1) -> None:
        super().__init__(1, n_keys, groups)

    def matrix(self, rows: Tensor) -> Tensor:
        return torch.ones(1, self.n_keys, dtype=torch.bool, device=rows.device)

    def _sum(self, per_key: Tensor) -> Tensor:
        wide = widest_dtype(per_key.device)
        return self._of_query_heads(per_key.sum(-1, keepdim=True, dtype=wide))

    def _max(self, per_key: Tensor) -> Tensor:
        return self._of_query_heads(per_key.amax(-1, keepdim=True))

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

    def _of_rows(self, running: Tensor, nothing: float) -> Tensor:
        """What goes on from key to key, (..., S), where each row ends; ``nothing`` before them."""
        # Without the question the graph that torch.compile makes does for all lengths.
        if is_tracing() or self.n_rows != self.n_keys or self.offset != 0:
            running = F.pad(running, (1, 0), value=nothing)[..., self._how_many(running.device)]
        return self._of_query_heads(running)

    def _sum(self, per_key: Tensor) -> Tensor:
        return self._of_rows(per_key.cumsum(-1, dtype=widest_dtype(per_key.device)), 0.0)

    def _max(self, per_key: Tensor) -> Tensor:
        return self._of_rows(per_key.cummax(-1).values, -math.inf)

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
        return self._seen(mask)

    def _seen(self, mask: Tensor) -> Tensor:
        """As booleans, (..., L or 1, S); nothing is repeated for batch or heads."""
        seen = mask if mask.dtype == torch.bool else mask > HIDES
        return seen.expand(*seen.shape[:-1], self.n_keys)

    def _sum(self, per_key: Tensor) -> Tensor:
        per_key = self._of_query_heads(per_key).to(widest_dtype(per_key.device))
        numbers = self._seen(self.mask).to(per_key.dtype)
        if numbers.dim() == 2:
            return per_key @ numbers.mT
        return torch.einsum("...s,...ls->...l", per_key, numbers)

    def _max(self, per_key: Tensor) -> Tensor:
        """The one sum, norm or maximum that makes a matrix."""
        per_key = self._of_query_heads(per_key).unsqueeze(-2)
        return per_key.masked_fill(~self._seen(self.mask), -math.inf).amax(-1)

    def count(self, like: Tensor) -> Tensor:
        seen = self._seen(self.mask)
        return seen.sum(-1, keepdim=True, dtype=computation_dtype(like.dtype))


def root(total: Tensor, p: float) -> Tensor:
    """The p-th root, whose first and second derivatives at 0 are 0."""
    nothing = total == 0
    return (total.masked_fill(nothing, 1.0) ** (1.0 / p)).masked_fill(nothing, 0.0)
