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
    def divisor(self, key: Tensor, visible: Tensor | None = None) -> Tensor:
        """The divisor of every row of scores.

        Args:
            key: (..., S, d_k).
            visible: boolean (..., L, S), True where the row's query may see the key; ``None`` means everywhere. Hidden
                keys do not count.

        Returns:
            (..., 1, 1), or (..., L, 1) where it depends on the row; at least float32, never negative, differentiable in ``key``.
        """

    def __call__(self, key: Tensor, visible: Tensor | None = None) -> Tensor:
        """Check the arguments, then compute :meth:`divisor`."""
        check_tensor("key", key, min_dim=2, shape="(..., S, d_k)")
        if visible is not None and visible.dtype != torch.bool:
            raise TypeError(f"visible must be boolean, True where a key may be seen, got {visible.dtype}")
        if visible is not None and visible.shape[-1] != key.shape[-2]:
            raise ValueError(f"visible must have shape (..., L, S) with S = {key.shape[-2]} keys, got {tuple(visible.shape)}")
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

    def divisor(self, key: Tensor, visible: Tensor | None = None) -> Tensor:
        return torch.full((1, 1), key.shape[-1] ** self.power, dtype=wide_dtype(key.dtype), device=key.device)


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

    def divisor(self, key: Tensor, visible: Tensor | None = None) -> Tensor:
        return _norm(_visible_lengths(key, visible), self.p).unsqueeze(-1)


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

    def divisor(self, key: Tensor, visible: Tensor | None = None) -> Tensor:
        return _visible_lengths(key, visible).sum(-1, keepdim=True) / _visible_count(key, visible).clamp(min=1)


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

    def divisor(self, key: Tensor, visible: Tensor | None = None) -> Tensor:
        return _visible_count(key, visible) * math.sqrt(key.shape[-1])


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
    return _norm(key.to(wide_dtype(key.dtype)), 2.0)


def _norm(x: Tensor, p: float) -> Tensor:
    """The p-norm over the last dimension, scaled by the largest entry so that no power overflows or underflows."""
    largest = x.detach().abs().amax(-1, keepdim=True)
    largest = torch.where(largest == 0, 1.0, largest)
    relative: Tensor = torch.linalg.vector_norm(x / largest, p, dim=-1)
    return relative * largest.squeeze(-1)


def _visible_lengths(key: Tensor, visible: Tensor | None) -> Tensor:
    """Key lengths, (..., 1, S), or (..., L, S) with 0 for the keys that a row may not see."""
    lengths = key_lengths(key).unsqueeze(-2)
    return lengths if visible is None else torch.where(visible, lengths, 0.0)


def _visible_count(key: Tensor, visible: Tensor | None) -> Tensor:
    """How many keys each row sees, (..., L, 1), or (1, 1) where every row sees all."""
    dtype = wide_dtype(key.dtype)
    if visible is None:
        return torch.full((1, 1), key.shape[-2], dtype=dtype, device=key.device)
    return visible.sum(-1, keepdim=True, dtype=dtype)
