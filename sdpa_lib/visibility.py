"""Which keys each query may see: all that a divisor has to know of a mask."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from sdpa_lib.device import widest_dtype


class Visible(ABC):
    """Which keys each query may see: all that a divisor has to know of a mask.

    Args:
        n_keys: the number of keys S.
        groups: with grouped queries, how many query heads share a key head.
    """

    def __init__(self, n_keys: int, groups: int = 1) -> None:
        self.n_keys, self.groups = n_keys, groups

    @abstractmethod
    def matrix(self, rows: Tensor) -> Tensor:
        """The rule as a boolean matrix of some ``rows``, given by their numbers (R,): broadcastable
        to (..., R, S).
        """

    @abstractmethod
    def _sum(self, per_key: Tensor) -> Tensor:
        """(..., S) to (..., L, 1), or to (..., 1, 1) where all rows see the same keys."""

    def sum(self, per_key: Tensor) -> Tensor:
        """Each row's sum of ``per_key`` (..., S) over the keys it sees, in double precision where
        the device has it.
        """
        if self.groups > 1:
            # from key heads to query heads
            per_key = per_key.repeat_interleave(self.groups, dim=-2)
        return self._sum(per_key.to(widest_dtype(per_key.device))).to(per_key.dtype)

    def count(self, like: Tensor) -> Tensor:
        """How many keys each row sees, (..., L, 1) or (1, 1), in the dtype and on the device of
        ``like``.
        """
        return self._sum(torch.ones(self.n_keys, dtype=like.dtype, device=like.device))


class EveryKey(Visible):
    """Every row sees every key."""

    def matrix(self, rows: Tensor) -> Tensor:
        return torch.ones(1, self.n_keys, dtype=torch.bool, device=rows.device)

    def _sum(self, per_key: Tensor) -> Tensor:
        return per_key.sum(-1, keepdim=True).unsqueeze(-1)


class CausalOrder(Visible):
    """Row i sees keys 0 ... i: sums are running sums, and no matrix is made."""

    def __init__(self, n_queries: int, n_keys: int, groups: int = 1) -> None:
        super().__init__(n_keys, groups)
        self.n_queries = n_queries

    def matrix(self, rows: Tensor) -> Tensor:
        return rows.unsqueeze(-1) >= torch.arange(self.n_keys, device=rows.device)

    def _sum(self, per_key: Tensor) -> Tensor:
        running = per_key.cumsum(-1)[..., : self.n_queries]
        beyond = self.n_queries - running.shape[-1]  # rows that see all keys
        if beyond > 0:
            running = torch.cat(
                [running, running[..., -1:].expand(*running.shape[:-1], beyond)], dim=-1
            )
        return running.unsqueeze(-1)


class Masked(Visible):
    """Row i sees the keys where a boolean matrix (..., L, S), the caller's, is True."""

    def __init__(self, mask: Tensor, groups: int = 1) -> None:
        super().__init__(mask.shape[-1], groups)
        while mask.dim() > 2 and mask.shape[0] == 1:
            mask = mask.squeeze(0)
        self.mask = mask

    def matrix(self, rows: Tensor) -> Tensor:
        return self.mask[..., rows, :]

    def _sum(self, per_key: Tensor) -> Tensor:
        numbers = self.mask.to(per_key.dtype)
        if numbers.dim() == 2:
            return (per_key @ numbers.mT).unsqueeze(-1)  # one matrix for the whole batch
        return numbers @ per_key.unsqueeze(-1)
