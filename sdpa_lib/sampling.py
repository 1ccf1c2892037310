"""Seeded queries, keys and values whose components come from named distributions.

Every draw is made on the CPU from an explicit seed, computed in double precision, rounded to
float32 and only then moved and cast, so a seed gives the same numbers on every processor, on every
device and in every dtype.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Generator, Tensor

from sdpa_lib._checks import check_count, check_number, unknown_name
from sdpa_lib.device import get_device, get_dtype

BLOCK = 2**15
"""How many normal numbers are computed at a time: a block's stay in the processor's cache."""


@dataclass(frozen=True)
class Distribution:
    """A symmetric distribution of one component, known with its mean, variance and excess kurtosis.

    Attributes:
        name: what the registry calls it.
        mean: its expectation.
        variance: its variance, greater than 0.
        excess_kurtosis: fourth central moment over squared variance, less 3 (0 for a normal).
            Infinite where the fourth moment does not exist.
    """

    name: str
    standard_draw: Callable[[tuple[int, ...], Generator], Tensor]
    excess_kurtosis: float
    mean: float = 0.0
    variance: float = 1.0

    def shifted(self, mean: float) -> Distribution:
        """The same distribution moved to another mean.

        Example:
            >>> get_distribution("normal").shifted(2.0).mean
            2.0
        """
        return replace(self, mean=check_number("mean", mean))

    def scaled(self, std: float) -> Distribution:
        """The same distribution stretched to another standard deviation ``std`` > 0.

        Example:
            >>> get_distribution("uniform").scaled(3.0).variance
            9.0
        """
        return replace(self, variance=check_number("std", std, above=0.0) ** 2)

    def draw(self, shape: tuple[int, ...], generator: Generator) -> Tensor:
        """Draw a float32 CPU tensor of ``shape`` from ``generator``."""
        # Whatever torch.set_default_device says. A device's context, needed or not, looks at each
        # operation, a quarter of the time of drawing a thousand numbers.
        anyway = torch.empty(0).device.type == "cpu"
        with nullcontext() if anyway else torch.device("cpu"):
            drawn = self.standard_draw(shape, generator)
        return (drawn * math.sqrt(self.variance)).add_(self.mean)


def student_t(df: float) -> Distribution:
    """Student's t with ``df`` > 2 degrees of freedom, scaled to variance 1, drawn by the polar
    method of :cite:t:`bailey1994`.

    The uniform numbers behind a draw have 24 bits, and so the tails have an end. Of the variance
    0.5 % lies beyond it at df = 3, 4 % at 2.5 and 46 % at 2.1.

    Example:
        >>> student_t(10.0).excess_kurtosis
        1.0
    """
    df = check_number("df", df, above=2.0)

    def draw(shape: tuple[int, ...], generator: Generator) -> Tensor:
        u = 1.0 - torch.rand(shape, generator=generator).double()  # in (0, 1]: no division by zero
        angle = 2.0 * math.pi * torch.rand(shape, generator=generator).double()
        power = -2.0 / df
        # u^power - 1: at many degrees 1 would be taken from what rounds to 1. At few, where nothing
        # is lost, expm1 would change a draw in a hundred million, by its last bit.
        grown = u**power - 1.0 if df <= 1000.0 else torch.expm1(power * torch.log(u))
        t = torch.sqrt(df * grown) * torch.cos(angle)
        return (t * math.sqrt((df - 2.0) / df)).float()

    return Distribution(f"student_t({df:g})", draw, 6.0 / (df - 4.0) if df > 4.0 else math.inf)


def standard_normal(shape: tuple[int, ...], generator: Generator) -> Tensor:
    """What :func:`torch.randn` draws, to the last bit on every processor.

    PyTorch's own float32 draws differ between processors by about 1e-7, because their vectorised
    logarithm and cosine do. Here the uniform numbers, which agree everywhere, go through the
    method of :cite:t:`box1958` in double precision. They are used in the order in which PyTorch
    uses them: sixteen at a time, eight for the radius and eight for the angle, and if the number
    of draws is no multiple of sixteen, the last sixteen come from fresh ones.

    Args:
        shape: of the result.
        generator: on the CPU; it is left in the state in which :func:`torch.randn` leaves it.

    Returns:
        A float32 CPU tensor of ``shape``, within 2e-6 of PyTorch's.

    Example:
        >>> ours = standard_normal((2, 50), make_generator(0))
        >>> theirs = torch.randn(2, 50, generator=make_generator(0))
        >>> torch.allclose(ours, theirs, atol=2e-6)
        True
    """
    size = math.prod(shape)
    if size < 16:  # too few to be vectorised: PyTorch computes these in double precision
        return torch.randn(shape, generator=generator, device="cpu")
    drawn = torch.rand(size, generator=generator, device="cpu")
    whole = size // 16 * 16
    # Memory is asked for once: with new memory for each step and block large draws took a third
    # longer.
    room = torch.empty(3, min(BLOCK, size) // 16, 8, dtype=torch.float64, device="cpu")
    for start in range(0, whole, BLOCK):
        _box_muller(drawn[start : min(start + BLOCK, whole)], room)
    if whole < size:
        last = torch.rand(16, generator=generator, device="cpu")
        _box_muller(last, room)
        drawn[-16:] = last
    return drawn.view(shape)


def _box_muller(drawn: Tensor, room: Tensor) -> None:
    """Uniform numbers become normal ones, by double precision, sixteen at a time."""
    first, second = drawn.view(-1, 2, 8).unbind(1)
    radius, angle, part = room[:, : len(first)]
    radius.copy_(first).neg_().add_(1.0)  # 1 - u lies in (0, 1]
    radius.log_().mul_(-2.0).sqrt_()
    angle.copy_(second).mul_(2.0 * math.pi)
    torch.mul(radius, torch.cos(angle, out=part), out=first)
    torch.mul(radius, torch.sin(angle, out=part), out=second)


def _uniform(shape: tuple[int, ...], generator: Generator) -> Tensor:
    return (2.0 * torch.rand(shape, generator=generator) - 1.0) * math.sqrt(3.0)


def _rademacher(shape: tuple[int, ...], generator: Generator) -> Tensor:
    return 2.0 * torch.randint(0, 2, shape, generator=generator).float() - 1.0


def _laplace(shape: tuple[int, ...], generator: Generator) -> Tensor:
    u = 1.0 - torch.rand(shape, generator=generator).double()  # in (0, 1]: the logarithm is finite
    return (torch.log(u) * _rademacher(shape, generator) / math.sqrt(2.0)).float()


DISTRIBUTIONS: dict[str, Distribution] = {
    "normal": Distribution("normal", standard_normal, 0.0),
    "uniform": Distribution("uniform", _uniform, -1.2),
    "rademacher": Distribution("rademacher", _rademacher, -2.0),
    "laplace": Distribution("laplace", _laplace, 3.0),
    "student_t": replace(student_t(10.0), name="student_t"),
}
"""The named distributions, each with mean 0 and variance 1; ``student_t`` has 10 degrees of
freedom.
"""


def get_distribution(distribution: str | Distribution) -> Distribution:
    """A distribution by name; an instance comes back as it is.

    Raises:
        ValueError: the name is not known; the nearest names are suggested.
        TypeError: neither a name nor a distribution.

    Example:
        >>> get_distribution("laplace").excess_kurtosis
        3.0
    """
    if isinstance(distribution, Distribution):
        return distribution
    if not isinstance(distribution, str):
        raise TypeError(
            "distribution must be a name or a Distribution instance, got "
            f"{type(distribution).__name__}"
        )
    if distribution not in DISTRIBUTIONS:
        raise unknown_name("distribution", distribution, DISTRIBUTIONS)
    return DISTRIBUTIONS[distribution]


def make_generator(seed: int, stream: int = 0) -> Generator:
    """A CPU generator; streams of one seed are independent of each other.

    Args:
        seed: 0 or more.
        stream: 0 or more; the book uses one stream each for queries, keys and values.

    Example:
        >>> first, second = (torch.rand(3, generator=make_generator(0)) for _ in range(2))
        >>> first.equal(second)
        True
    """
    state = seed_sequence(seed, stream).generate_state(1, np.uint32)
    return torch.Generator("cpu").manual_seed(int(state[0]))


def seed_sequence(seed: int, stream: int = 0) -> np.random.SeedSequence:
    """What every generator is seeded from, PyTorch's and NumPy's.

    Arguments as in :func:`make_generator`.

    Example:
        >>> generator = np.random.default_rng(seed_sequence(0, stream=2))
        >>> generator.integers(10, size=3).tolist()
        [9, 0, 2]
    """
    entropy = [check_count("seed", seed, minimum=0), check_count("stream", stream, minimum=0)]
    return np.random.SeedSequence(entropy)


def sample(
    *shape: int,
    seed: int,
    distribution: str | Distribution = "normal",
    stream: int = 0,
    device: str | torch.device | None = None,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """A tensor of independent components.

    Args:
        shape: its sizes, each 0 or more.
        seed: 0 or more; the same seed and stream draw the same numbers.
        distribution: a name in ``DISTRIBUTIONS`` or a :class:`Distribution`.
        device: as in :func:`~sdpa_lib.device.get_device`.
        dtype: default :func:`~sdpa_lib.device.get_dtype`.

    Example:
        >>> sample(2, 3, seed=0).shape
        torch.Size([2, 3])
    """
    sizes = tuple(check_count("shape", size, minimum=0) for size in shape)
    drawn = get_distribution(distribution).draw(sizes, make_generator(seed, stream))
    return drawn.to(device=get_device(device), dtype=dtype or get_dtype(device))


class QKV(NamedTuple):
    """Queries (n_queries, d_k), keys (n_keys, d_k) and values (n_keys, d_v)."""

    query: Tensor
    key: Tensor
    value: Tensor


def sample_qkv(
    n_queries: int,
    n_keys: int,
    d_k: int,
    d_v: int | None = None,
    *,
    seed: int,
    distribution: str | Distribution = "normal",
    device: str | torch.device | None = None,
    dtype: torch.dtype | None = None,
) -> QKV:
    """Independent queries, keys and values; ``d_v`` defaults to ``d_k``.

    The three come from separate streams: asking for more queries leaves keys and values as they
    were.

    Example:
        >>> q, k, v = sample_qkv(5, 32, 16, seed=0)
        >>> q.shape, k.shape, v.shape
        (torch.Size([5, 16]), torch.Size([32, 16]), torch.Size([32, 16]))
    """
    d_v = d_k if d_v is None else d_v
    shapes = ((n_queries, d_k), (n_keys, d_k), (n_keys, d_v))
    return QKV(
        *(
            sample(
                *shape,
                seed=seed,
                stream=stream,
                distribution=distribution,
                device=device,
                dtype=dtype,
            )
            for stream, shape in enumerate(shapes)
        )
    )
