r"""The divisors :math:`c_K`: what the dot products are divided by before softmax.

A rescaling is one small object with a name, a formula and one method from keys to divisor. To add one, write a class below and
put an instance into ``RESCALINGS``; every chapter, plot and test that lists rescalings picks it up.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import torch
from torch import Tensor

from sdpa_lib._checks import check_number, check_tensor, unknown_name


def wide_dtype(dtype: torch.dtype) -> torch.dtype:
    """float32 for the half precisions, and the dtype itself otherwise: what lengths and scores are computed in."""
    return torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype


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
        """The rule as a boolean matrix of some ``rows``, given by their numbers (R,): broadcastable to (..., R, S)."""

    @abstractmethod
    def _sum(self, per_key: Tensor) -> Tensor:
        """(..., S) to (..., L, 1), or to (..., 1, 1) where all rows see the same keys."""

    def sum(self, per_key: Tensor) -> Tensor:
        """Each row's sum of ``per_key`` (..., S) over the keys it sees, in double precision where the device has it."""
        if self.groups > 1:
            per_key = per_key.repeat_interleave(self.groups, dim=-2)  # from key heads to query heads
        return self._sum(per_key.to(_widest(per_key.device))).to(per_key.dtype)

    def count(self, like: Tensor) -> Tensor:
        """How many keys each row sees, (..., L, 1) or (1, 1), in the dtype and on the device of ``like``."""
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
            running = torch.cat([running, running[..., -1:].expand(*running.shape[:-1], beyond)], dim=-1)
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


def _widest(device: torch.device) -> torch.dtype:
    """float64, or float32 on MPS, which has no float64: what sums over the keys are made in."""
    return torch.float32 if device.type == "mps" else torch.float64


class Rescaling(ABC):
    """What a query's dot products with its keys are divided by before softmax."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name people type, such as ``"sqrt_d_k"``."""

    @property
    @abstractmethod
    def formula(self) -> str:
        """The divisor in LaTeX, without dollar signs."""

    @abstractmethod
    def divisor(self, key: Tensor, visible: Visible) -> Tensor:
        """The divisor of every row of scores.

        Args:
            key: (..., S, d_k).
            visible: which keys count in each row. Its ``sum`` adds up one number a key, its ``count`` counts keys.

        Returns:
            (..., 1, 1), or (..., L, 1) where it depends on the row; at least float32, never negative, differentiable in ``key``.
        """

    def constant(self, d_k: int) -> float | None:
        """The divisor, if nothing but ``d_k`` decides it, and None otherwise."""
        return None

    def __call__(self, key: Tensor, visible: Tensor | Visible | None = None) -> Tensor:
        """Check the arguments, then compute :meth:`divisor`.

        Args:
            key: (..., S, d_k).
            visible: a :class:`Visible`; or boolean (..., L, S), True where the row's query may see the key; ``None`` means
                everywhere. Hidden keys do not count.
        """
        check_tensor("key", key, min_dim=2, shape="(..., S, d_k)")
        if visible is None:
            visible = EveryKey(key.shape[-2])
        elif isinstance(visible, Tensor):
            if visible.dtype != torch.bool:
                raise TypeError(f"visible must be boolean, True where a key may be seen, got {visible.dtype}")
            if visible.shape[-1] != key.shape[-2]:
                raise ValueError(f"visible must have shape (..., L, S) with S = {key.shape[-2]} keys, got {tuple(visible.shape)}")
            visible = Masked(visible)
        return self.divisor(key, visible)


@dataclass(frozen=True)
class PowerOfDk(Rescaling):
    """A fixed power of the key dimension, :math:`d_k^p`.

    p = 0 does not scale; p = 1/2 is the choice of :cite:t:`vaswani2017`, p = 1 that of :cite:t:`yang2022`.

    Example:
        >>> PowerOfDk(0.5)(torch.ones(3, 64)).item()
        8.0
    """

    power: float = 0.5

    def __post_init__(self) -> None:
        check_number("power", self.power)

    @property
    def name(self) -> str:
        return {0.0: "none", 0.5: "sqrt_d_k", 1.0: "d_k"}.get(self.power, f"d_k^{self._exponent}")

    @property
    def formula(self) -> str:
        return {0.0: "1", 0.5: r"\sqrt{d_k}", 1.0: "d_k"}.get(self.power, f"d_k^{{{self._exponent}}}")

    @property
    def _exponent(self) -> str:
        """The power as a short fraction where it is one, else with four significant digits."""
        fraction = Fraction(self.power).limit_denominator(12)
        return str(fraction) if math.isclose(fraction, self.power) else f"{self.power:.4g}"

    def constant(self, d_k: int) -> float:
        return math.pow(d_k, self.power)

    def divisor(self, key: Tensor, visible: Visible) -> Tensor:
        return torch.full((1, 1), self.constant(key.shape[-1]), dtype=wide_dtype(key.dtype), device=key.device)


@dataclass(frozen=True)
class KeyLengthNorm(Rescaling):
    r"""The p-norm of the key lengths, :math:`(\sum_j \|k_j\|^p)^{1/p}`: p = 1 is ``k_total``, p = 2 ``k_rss``.

    Source: :cite:t:`bernhard2023`, sections 3 and 5.

    Example:
        >>> KeyLengthNorm(1)(torch.tensor([[3.0, 4.0], [0.0, 2.0]])).item()
        7.0
    """

    p: float = 1.0

    def __post_init__(self) -> None:
        check_number("p", self.p, minimum=1.0)

    @property
    def name(self) -> str:
        return {1.0: "k_total", 2.0: "k_rss"}.get(self.p, f"k_norm_{self.p:g}")

    @property
    def formula(self) -> str:
        return {1.0: r"\sum_j \|k_j\|", 2.0: r"\sqrt{\sum_j \|k_j\|^2}"}.get(
            self.p, rf"(\sum_j \|k_j\|^{{{self.p:g}}})^{{1/{self.p:g}}}"
        )

    def divisor(self, key: Tensor, visible: Visible) -> Tensor:
        lengths = key_lengths(key)  # (..., S)
        if self.p == 1.0:
            return visible.sum(lengths)
        largest = _at_least_some(lengths.detach().amax((-2, -1) if visible.groups > 1 else -1, keepdim=True))
        # Squares and roots are quicker than powers, and two of them are enough for p = 2 and p = 4.
        powers = (lengths / largest).to(_widest(key.device)).square() ** (self.p / 2)
        return _root(visible.sum(powers), self.p).to(lengths.dtype) * largest.unsqueeze(-1)


@dataclass(frozen=True)
class MeanKeyLength(Rescaling):
    r"""The mean length of the visible keys, :math:`\frac{1}{n}\sum_j \|k_j\|`.

    Source: :cite:t:`bernhard2023`, section 5.

    Example:
        >>> MeanKeyLength()(torch.tensor([[3.0, 4.0], [0.0, 2.0]])).item()
        3.5
    """

    @property
    def name(self) -> str:
        return "k_mean"

    @property
    def formula(self) -> str:
        return r"\frac{1}{n}\sum_j \|k_j\|"

    def divisor(self, key: Tensor, visible: Visible) -> Tensor:
        lengths = key_lengths(key)  # (..., S)
        return visible.sum(lengths) / visible.count(lengths).clamp(min=1)


@dataclass(frozen=True)
class CountTimesRootDk(Rescaling):
    r"""The number of visible keys times the usual root, :math:`n\sqrt{d_k}`.

    Source: :cite:t:`bernhard2023`, section 5.

    Example:
        >>> CountTimesRootDk()(torch.ones(3, 64)).item()
        24.0
    """

    @property
    def name(self) -> str:
        return "n_sqrt_d_k"

    @property
    def formula(self) -> str:
        return r"n\sqrt{d_k}"

    def divisor(self, key: Tensor, visible: Visible) -> Tensor:
        like = torch.empty(0, dtype=wide_dtype(key.dtype), device=key.device)
        return visible.count(like) * math.sqrt(key.shape[-1])


RESCALINGS: dict[str, Rescaling] = {
    rescaling.name: rescaling
    for rescaling in (
        PowerOfDk(0.0),
        PowerOfDk(0.5),
        PowerOfDk(1.0),
        KeyLengthNorm(1.0),
        MeanKeyLength(),
        KeyLengthNorm(2.0),
        KeyLengthNorm(4.0),
        CountTimesRootDk(),
    )
}
"""The rescalings by name, in the order in which the book lists them."""


def get_rescaling(rescaling: str | Rescaling) -> Rescaling:
    """A rescaling by name; an instance comes back as it is.

    Raises:
        ValueError: the name is not known; the nearest names are suggested.
        TypeError: neither a name nor a rescaling.

    Example:
        >>> get_rescaling("k_total")
        KeyLengthNorm(p=1.0)
    """
    if isinstance(rescaling, Rescaling):
        return rescaling
    if not isinstance(rescaling, str):
        raise TypeError(f"rescaling must be a name or a Rescaling instance, got {type(rescaling).__name__}")
    if rescaling not in RESCALINGS:
        raise unknown_name("rescaling", rescaling, RESCALINGS)
    return RESCALINGS[rescaling]


def key_lengths(key: Tensor) -> Tensor:
    r"""The Euclidean lengths :math:`\|k_j\|` of the keys.

    Args:
        key: (..., S, d_k).

    Returns:
        (..., S), at least float32. The gradient at a key of length zero is zero.

    Example:
        >>> key_lengths(torch.tensor([[3.0, 4.0], [0.0, 2.0]]))
        tensor([5., 2.])
    """
    check_tensor("key", key, min_dim=2, shape="(..., S, d_k)")
    largest = torch.maximum(key.detach().amax(-1, keepdim=True), -key.detach().amin(-1, keepdim=True))
    largest = _at_least_some(largest.to(wide_dtype(key.dtype)))  # scaled by it, no square overflows or underflows
    relative: Tensor = torch.linalg.vector_norm(key / largest, dim=-1)
    return relative * largest.squeeze(-1)


def _at_least_some(largest: Tensor) -> Tensor:
    """1 where the largest of some numbers is 0: something to divide by."""
    return torch.where(largest == 0, 1.0, largest)


def _root(total: Tensor, p: float) -> Tensor:
    """The p-th root, with a gradient of 0 where there is nothing to take it of."""
    return torch.where(total == 0, 0.0, _at_least_some(total).sqrt() ** (2.0 / p))
