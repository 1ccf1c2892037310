r"""The divisors :math:`c_K`: what the dot products are divided by before softmax.

A rescaling is one small object with a name, a formula and one method from keys to divisor.
Your own is a class with that method, and works wherever a rescaling is asked for;
:func:`register` gives it a name. To add one to the book, put an instance into ``RESCALINGS``: every
chapter, figure, explorable, benchmark and test that lists rescalings picks it up.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import torch
from torch import Tensor

from sdpa_lib._checks import check_count, check_number, check_tensor, unknown_name
from sdpa_lib.device import computation_dtype, is_tracing, peek_range, widest_dtype
from sdpa_lib.visibility import EveryKey, Masked, Visible, root


class Rescaling(ABC):
    """What a query's dot products with its keys are divided by before softmax."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name people type, such as ``"sqrt_d_k"``."""

    @property
    def formula(self) -> str:
        """The divisor in LaTeX, without dollar signs; by default the name."""
        name = self.name.replace("_", r"\_")
        return rf"\mathrm{{{name}}}"

    def divisor(self, key: Tensor, visible: Visible) -> Tensor:
        """The divisor of every row of scores. A rescaling defines this, or :meth:`constant`.

        Args:
            key: (..., S, d_k).
            visible: which keys count in each row. Of one number a key it gives each row's ``sum``
                and ``max``, of lengths a p-``norm``, and the ``count`` of keys: (..., L, 1), with
                the query's heads. What is taken of keys otherwise counts hidden ones, too, and what
                depends on the query's place is not supported.

        Returns:
            Broadcastable to (..., L, 1), where L is 1 if every row has the same. At least float32,
            differentiable in ``key``, and never negative, which is refused on the CPU and is NaN
            elsewhere and in compiled graphs. Where it is 0, as of keys of length zero,
            the scores are divided by the usual root.
        """
        constant = checked_constant(self, key.shape[-1])
        if constant is None:
            raise NotImplementedError(f"{type(self).__name__} defines neither divisor nor constant")
        return key.new_full((1, 1), constant, dtype=computation_dtype(key.dtype))

    @property
    def remembers(self) -> bool:
        """Whether it is of one layer, whose keys it keeps, as a
        :class:`~sdpa_lib.decoding.RunningDivisor` does: then it has no name, and serves no other.
        """
        return False

    def constant(self, d_k: int) -> float | None:
        """The divisor, if nothing but ``d_k`` decides it, and None otherwise. What it gives is
        what counts: :meth:`divisor` is not asked then.
        """
        return None

    def __call__(self, key: Tensor, visible: Tensor | Visible | None = None) -> Tensor:
        """The divisor, with the arguments and the result checked.

        Args:
            key: (..., S, d_k).
            visible: a :class:`Visible`; or boolean (..., L, S), True where the row's query may see
                the key; ``None`` means everywhere. Hidden keys do not count.

        Returns:
            Broadcastable to (..., L, 1), as in :meth:`divisor`.
        """
        check_tensor("key", key, min_dim=2, shape="(..., S, d_k)")
        if visible is None:
            visible = EveryKey(key.shape[-2])
        elif isinstance(visible, Tensor):
            if visible.dtype != torch.bool:
                raise TypeError(
                    f"visible must be boolean, True where a key may be seen, got {visible.dtype}"
                )
            if visible.dim() < 2 or visible.shape[-1] != key.shape[-2]:
                raise ValueError(
                    f"visible must have shape (..., L, S) with S = {key.shape[-2]} keys, got "
                    f"{tuple(visible.shape)}"
                )
            visible = Masked(visible, key.shape[-2])
        if self.constant(key.shape[-1]) is not None:
            return Rescaling.divisor(self, key, visible)
        return checked_divisor(self, key, visible)

    def __init_subclass__(cls) -> None:
        """In ``class Mine(torch.nn.Module, Rescaling)`` a call goes to ``forward``, and from there
        to the divisor.
        """
        super().__init_subclass__()
        module: Any = cls
        if issubclass(module, torch.nn.Module) and module.forward is torch.nn.Module.forward:
            module.forward = Rescaling.__call__

    def __mul__(self, factor: float) -> Multiple:
        return Multiple(self, factor)

    def __rmul__(self, factor: float) -> Multiple:
        return Multiple(self, factor)


AnyRescaling: TypeAlias = str | Rescaling | Callable[[Tensor, Visible], Tensor]
"""What is taken where a rescaling is asked for: a name, an instance, or a function of ``(key,
visible)`` that gives the divisor (..., L, 1).
"""


def checked_constant(rescaling: Rescaling, d_k: int) -> float | None:
    """What ``rescaling.constant`` gives, if that is a divisor."""
    constant = rescaling.constant(d_k)
    if constant is not None and not isinstance(
        constant, (int, float, torch.SymInt, torch.SymFloat)
    ):
        raise TypeError(
            f"{type(rescaling).__name__}.constant must give None or a number, got "
            f"{type(constant).__name__}: what is learned is for divisor to give"
        )
    # Compared, not given to math.isfinite, so that torch.compile may have a symbol for d_k.
    if constant is not None and not 0.0 < constant < math.inf:
        raise ValueError(
            f"{type(rescaling).__name__}.constant must give None or a finite number greater than "
            f"0, got {constant} for d_k = {d_k}"
        )
    return constant


def checked_divisor(
    rescaling: Rescaling, key: Tensor, visible: Visible, rows: tuple[int, ...] | None = None
) -> Tensor:
    """What ``rescaling.divisor`` gives, in the dtype of lengths, if it is one number a row.

    Args:
        rows: the shape (..., L, 1) to which it must broadcast; ``None`` checks only that there is
            one number a row.
    """
    divisor = rescaling.divisor(key, visible)
    if not isinstance(divisor, Tensor) or not divisor.is_floating_point():
        came = divisor.dtype if isinstance(divisor, Tensor) else type(divisor).__name__
        raise TypeError(
            f"the divisor of {rescaling.name} must be a floating-point torch.Tensor, "
            f"broadcastable to (..., L, 1), got {came}: a number that d_k alone decides is for the "
            "method constant(d_k) to give"
        )
    shape = divisor.shape
    if rows is None:
        rows = (*shape[:-1], 1)
    # from the last dimension on, which zip takes as far as the shorter goes
    # (compared one by one: torch.compile takes no symbol for equal within a tuple)
    fits = all(o == 1 or o == r for o, r in zip(shape[::-1], rows[::-1], strict=False))
    if not fits or len(shape) > len(rows):
        raise ValueError(
            f"the divisor of {rescaling.name} must give one number a row, broadcastable to "
            f"(..., L, 1) = {rows}, got shape {tuple(shape)}"
        )
    if divisor.dim() < 2:
        divisor = divisor.reshape(1, 1)
    return divisor.to(computation_dtype(key.dtype))


@dataclass(frozen=True)
class Function(Rescaling):
    """The rescaling whose divisor a function of ``(key, visible)`` gives.

    Example:
        >>> def largest(key, visible):
        ...     return visible.max(key_lengths(key))
        >>> Function(largest)(torch.tensor([[3.0, 4.0], [0.0, 2.0]])).item()
        5.0
    """

    function: Callable[[Tensor, Visible], Tensor]

    @property
    def name(self) -> str:
        name: str = getattr(self.function, "__name__", type(self.function).__name__)
        return name

    def divisor(self, key: Tensor, visible: Visible) -> Tensor:
        return self.function(key, visible)


@dataclass(frozen=True)
class Multiple(Rescaling):
    """A factor times another rescaling: ``2 * KeyLengthNorm(1)``. The parameters of one that is an
    ``nn.Module`` are not found through it: keep the module itself beside it.

    Example:
        >>> (2 * KeyLengthNorm(1))(torch.tensor([[3.0, 4.0], [0.0, 2.0]])).item()
        14.0
    """

    rescaling: Rescaling
    factor: float

    def __post_init__(self) -> None:
        if not isinstance(self.rescaling, Rescaling):
            raise not_a_rescaling("a Rescaling", self.rescaling)
        check_number("factor", self.factor, above=0.0)

    @property
    def name(self) -> str:
        return f"{self.factor:.4g}*{self.rescaling.name}"

    @property
    def formula(self) -> str:
        return rf"{self.factor:.4g}\,{self.rescaling.formula}"

    @property
    def remembers(self) -> bool:
        return self.rescaling.remembers

    def constant(self, d_k: int) -> float | None:
        constant = self.rescaling.constant(d_k)
        return None if constant is None else self.factor * constant

    def divisor(self, key: Tensor, visible: Visible) -> Tensor:
        return self.factor * self.rescaling.divisor(key, visible)


@dataclass(frozen=True)
class PowerOfDk(Rescaling):
    """A fixed power of the key dimension, :math:`d_k^p`, times a factor.

    p = 0 does not scale; p = 1/2 is the choice of :cite:t:`vaswani2017`, p = 1 that of
    :cite:t:`yang2022`.

    Example:
        >>> PowerOfDk(0.5)(torch.ones(3, 64)).item()
        8.0
    """

    power: float = 0.5
    factor: float = 1.0

    def __post_init__(self) -> None:
        check_number("power", self.power)
        check_number("factor", self.factor, above=0.0)

    @property
    def name(self) -> str:
        name = {0.0: "none", 0.5: "sqrt_d_k", 1.0: "d_k"}.get(self.power, f"d_k^{self._exponent}")
        return name if self.factor == 1.0 else f"{self.factor:.4g}*{name}"

    @property
    def formula(self) -> str:
        formula = {0.0: "1", 0.5: r"\sqrt{d_k}", 1.0: "d_k"}.get(
            self.power, f"d_k^{{{self._exponent}}}"
        )
        return formula if self.factor == 1.0 else rf"{self.factor:.4g}\,{formula}"

    @property
    def _exponent(self) -> str:
        """The power as a short fraction where it is one, else with four significant digits."""
        fraction = Fraction(self.power).limit_denominator(12)
        return str(fraction) if math.isclose(fraction, self.power) else f"{self.power:.4g}"

    def constant(self, d_k: int) -> float:
        return self.factor * power_of_d_k(d_k, self.power)


@dataclass(frozen=True)
class KeyLengthNorm(Rescaling):
    r"""The p-norm of the key lengths, :math:`(\sum_j \|k_j\|^p)^{1/p}`: p = 1 is ``k_total``, p = 2
    ``k_rss``.

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
        return visible.norm(key_lengths(key), self.p)


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
        return visible.count(key) * power_of_d_k(key.shape[-1], 0.5)


@dataclass(frozen=True)
class LogCount(Rescaling):
    r"""A power of the key dimension over the logarithm of the number of visible keys, :math:`d_k^p
    / (s \ln n)`.

    p = 1/2 is Scalable-Softmax, in which s is learned :cite:p:`nakanishi2025`, and, with s = 1/ln
    512, Su's rule :cite:p:`su8823`; p = 1 joins it with 1/d :cite:p:`su9034`. A single visible key
    gets all the weight, whatever its score: there n counts as 2.

    Example:
        >>> LogCount(s=0.43)(torch.ones(1024, 64)).item()  # 8 / (0.43 ln 1024)
        2.684...
    """

    s: float = 1.0
    power: float = 0.5

    def __post_init__(self) -> None:
        check_number("s", self.s, above=0.0)
        check_number("power", self.power)

    @property
    def name(self) -> str:
        return f"{PowerOfDk(self.power).name}/{self.s:.4g}*ln_n"

    @property
    def formula(self) -> str:
        return rf"{PowerOfDk(self.power).formula} / ({self.s:.4g} \ln n)"

    def divisor(self, key: Tensor, visible: Visible) -> Tensor:
        growth = self.s * visible.count(key).clamp(min=2).log()
        return power_of_d_k(key.shape[-1], self.power) / growth


@dataclass(frozen=True)
class LogBeyond(Rescaling):
    r"""The usual root, divided by :math:`\ln n / \ln n_0` from :math:`n_0` visible keys on.

    Source: the first Qwen, at inference, with :math:`n_0` the length it was trained at
    :cite:p:`bai2023`.

    Example:
        >>> LogBeyond(32)(torch.ones(1024, 64)).item()  # ln 1024 is twice ln 32
        4.0
    """

    n_0: int

    def __post_init__(self) -> None:
        check_count("n_0", self.n_0, minimum=2)

    @property
    def name(self) -> str:
        return f"sqrt_d_k, ln_n beyond {self.n_0}"

    @property
    def formula(self) -> str:
        return rf"\sqrt{{d_k}} / \max(1, \ln n / \ln {self.n_0})"

    def divisor(self, key: Tensor, visible: Visible) -> Tensor:
        growth = visible.count(key).clamp(min=1).log() / math.log(self.n_0)
        return power_of_d_k(key.shape[-1], 0.5) / growth.clamp(min=1.0)


@dataclass(frozen=True)
class LogSteps(Rescaling):
    r"""The usual root, divided by :math:`1 + \beta \ln(1 + \lfloor n/n_0 \rfloor)`, n the number of
    visible keys.

    Source: the code of Llama 4 in Hugging Face Transformers 5.23, for its layers without
    positions. In causal order n is the query's position, from 1.

    Example:
        >>> LogSteps(8192, 0.1)(torch.ones(8191, 64)).item()
        8.0
    """

    n_0: int
    beta: float

    def __post_init__(self) -> None:
        check_count("n_0", self.n_0)
        check_number("beta", self.beta, minimum=0.0)

    @property
    def name(self) -> str:
        return f"sqrt_d_k, {self.beta:g}*ln_n in steps of {self.n_0}"

    @property
    def formula(self) -> str:
        return rf"\sqrt{{d_k}} / (1 + {self.beta:g} \ln(1 + \lfloor n/{self.n_0} \rfloor))"

    def divisor(self, key: Tensor, visible: Visible) -> Tensor:
        steps = (visible.count(key) / self.n_0).floor()
        return power_of_d_k(key.shape[-1], 0.5) / (1.0 + self.beta * steps.log1p())


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
"""The rescalings that the book compares, by name, in the order in which it lists them."""

MODEL_RESCALINGS: dict[str, Rescaling] = {
    "deberta": PowerOfDk(0.5, factor=math.sqrt(3)),
    "gemma_2_27b": PowerOfDk(0.0, factor=math.sqrt(144)),
    "mup": PowerOfDk(1.0, factor=1 / 8),
    "yarn_32": PowerOfDk(0.5, factor=(0.1 * math.log(32) + 1) ** -2),
    "ssmax": LogCount(s=0.43),
    "su": LogCount(s=1 / math.log(512)),
    "qwen_1": LogBeyond(2048),
    "llama_4": LogSteps(8192, 0.1),
}
"""What published models divide by, where it is none of ``RESCALINGS``: the notes of chapter 11 have
the sources and the others.
"""


_REGISTERED: dict[str, Rescaling] = {}
_ON_REGISTER: list[Callable[[Rescaling, str], object]] = []
"""Who is told of a rescaling and its name before these are known here: what raises keeps them from
being known.
"""


def register(
    rescaling: Rescaling | Callable[[Tensor, Visible], Tensor], name: str | None = None
) -> str:
    """Make a rescaling known by name, wherever a rescaling is asked for.

    Args:
        rescaling: an instance, or a function of ``(key, visible)`` that gives the divisor.
        name: what to call it, by default its own name, which a lambda has not. A name that was
            registered before is given to the new one; those of ``RESCALINGS`` and
            ``MODEL_RESCALINGS`` belong to these. Transformers takes a name with "flash" or
            "flex_attention" in it for its own.

    Returns:
        The name.

    Raises:
        TypeError: no rescaling, or no name.
        ValueError: a name that is taken, or a rescaling that remembers the keys of one layer.

    Example:
        >>> register(KeyLengthNorm(3.0))
        'k_norm_3'
        >>> get_rescaling("k_norm_3")
        KeyLengthNorm(p=3.0)
    """
    check_order(rescaling, name)
    if isinstance(rescaling, str):
        raise not_a_rescaling("a Rescaling or a function of (key, visible)", rescaling)
    rescaling = get_rescaling(rescaling)
    name = checked_name(rescaling, name)
    store(rescaling, name)
    return name


def check_order(rescaling: object, name: object) -> None:
    """Refuse the arguments of a ``register`` where one stands in the other's place."""
    if isinstance(rescaling, str) and name is not None and not isinstance(name, str):
        raise TypeError(
            f"register takes the rescaling first, and then its name: register(..., "
            f"{rescaling!r}), got the name first"
        )


def checked_name(rescaling: Rescaling, name: str | None) -> str:
    """The name that a rescaling gets, ``None`` meaning its own: one rule for every ``register``."""
    if rescaling.remembers:
        raise ValueError(
            f"rescaling must serve every layer, and {rescaling.name!r} remembers the keys of one: "
            "register what it was made of"
        )
    name = rescaling.name if name is None else name
    if not isinstance(name, str) or not name or "<lambda>" in name:
        raise TypeError(f"name must be a str that is not empty, nor <lambda>, got {name!r}")
    if {**RESCALINGS, **MODEL_RESCALINGS}.get(name, rescaling) != rescaling:
        raise ValueError(f"name {name!r} is taken: register the rescaling under another one")
    if "flash" in name or "flex_attention" in name:
        raise ValueError(
            f"name must not contain 'flash' or 'flex_attention', which Transformers takes for its "
            f"own, got {name!r}"
        )
    return name


def store(rescaling: Rescaling, name: str) -> None:
    """Have a rescaling known by a name that was checked."""
    for tell in _ON_REGISTER:
        tell(rescaling, name)
    if name not in RESCALINGS and name not in MODEL_RESCALINGS:
        _REGISTERED[name] = rescaling


def known_rescalings() -> dict[str, Rescaling]:
    """Every name that is accepted where a rescaling is asked for: ``RESCALINGS``,
    ``MODEL_RESCALINGS``, and what :func:`register` was given.

    Example:
        >>> known_rescalings()["ssmax"]
        LogCount(s=0.43, power=0.5)
    """
    return {**RESCALINGS, **MODEL_RESCALINGS, **_REGISTERED}


def get_rescaling(rescaling: AnyRescaling) -> Rescaling:
    """A rescaling by name, or from a function of ``(key, visible)`` that gives its divisor; an
    instance comes back as it is.

    Raises:
        ValueError: the name is not known; the nearest names are suggested.
        TypeError: neither a name nor a rescaling nor a function.

    Example:
        >>> get_rescaling("k_total")
        KeyLengthNorm(p=1.0)
    """
    if isinstance(rescaling, str):
        for names in (RESCALINGS, MODEL_RESCALINGS, _REGISTERED):
            if rescaling in names:
                return names[rescaling]
        raise unknown_name("rescaling", rescaling, known_rescalings())
    if isinstance(rescaling, Rescaling):
        return rescaling
    if callable(rescaling) and not isinstance(rescaling, type):
        return Function(rescaling)
    raise not_a_rescaling("a name, a Rescaling or a function of (key, visible)", rescaling)


def not_a_rescaling(expected: str, came: object) -> TypeError:
    """The error for what is no rescaling, with a hint for a class in place of an instance."""
    if isinstance(came, type):
        name = came.__name__
        return TypeError(f"rescaling must be {expected}, got the class {name}: write {name}()")
    return TypeError(f"rescaling must be {expected}, got {type(came).__name__}")


def key_lengths(key: Tensor) -> Tensor:
    r"""The Euclidean lengths :math:`\|k_j\|` of the keys, whatever their size: no square leaves the
    range of its dtype.

    Args:
        key: (..., S, d_k).

    Returns:
        (..., S), at least float32. The gradient at a key of length zero is zero.

    Example:
        >>> key_lengths(torch.tensor([[3.0, 4.0], [0.0, 2.0]]))
        tensor([5., 2.])
    """
    check_tensor("key", key, min_dim=2, shape="(..., S, d_k)")
    known: Callable[[], Tensor] | None = getattr(key, "known_lengths", None)
    if known is not None:  # in decoding: see with_lengths there
        return known()
    wide, widest = computation_dtype(key.dtype), widest_dtype(key.device)
    if wide != widest:
        if not key.is_cpu:
            exact: Tensor = torch.linalg.vector_norm(key, dim=-1, dtype=widest)
            return exact.to(wide)
        lengths = _norms(key, wide)
        if _squares_fit(key, lengths):
            return lengths
    # Divided by its largest component, no key has squares that do not fit.
    key = key.to(wide)
    largest = key.detach().abs().amax(-1, keepdim=True) if key.shape[-1] else key.new_ones(1)
    largest = largest.masked_fill((largest == 0) | largest.isinf(), 1.0)
    return root((key / largest).square().sum(-1), 2.0) * largest.squeeze(-1)


BLOCK = 2**17
"""Entries of keys that a thread makes wide at once: they stay in its processor's cache."""


def _norms(key: Tensor, dtype: torch.dtype) -> Tensor:
    """The norms (..., S) computed in ``dtype``. Where that is not the key's own, blocks are made
    wide one after the other, in the same memory: PyTorch's norm of one dtype in another takes
    longer. A graph that is compiled needs no blocks.
    """
    blocks = 1
    if key.dtype != dtype and not key.requires_grad and not is_tracing(key):
        blocks += (key.numel() - 1) // (BLOCK * torch.get_num_threads())
    if blocks <= 1:
        norms: Tensor = torch.linalg.vector_norm(key, dim=-1, dtype=dtype)
        return norms
    pieces = key.tensor_split(blocks, dim=-2)
    memory = torch.empty_like(pieces[0], dtype=dtype)  # the first is none of the smaller ones
    each = []
    for piece in pieces:
        wide = memory[..., : piece.shape[-2], :].copy_(piece)
        each.append(torch.linalg.vector_norm(wide, dim=-1))
    return torch.cat(each, dim=-1)


def _squares_fit(key: Tensor, lengths: Tensor) -> bool:
    """Whether it is known that float32 held the squares under these lengths, and that second
    derivatives, which a norm does not have at 0, are not asked for there.
    """
    seen = peek_range(lengths)
    if seen is None or not seen[1] < 1e18:
        return False
    if seen[0] > 1e-15:
        return True
    return not key.requires_grad and not bool(key[lengths <= 1e-15].any())  # all of them are zeros


def power_of_d_k(d_k: int, power: float) -> float:
    """d_k^power, also where torch.compile or torch.export has a symbol for d_k; 1 without
    components, of which every product is 0.
    """
    result: float = max(d_k, 1) ** power
    return result
