"""Rows of as many as 10^100 normal scores, of which only the largest are drawn: for article C."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from sdpa_lib._checks import check_count, check_number
from sdpa_lib.sampling import sample


def border(n: float) -> float:
    r"""The standard deviation above which a few of ``n`` normal scores have the weight,
    :math:`\sqrt{2\ln n}`.

    Example:
        >>> round(border(1024), 2)
        3.72
    """
    return math.sqrt(2 * math.log(n))


def _log_density(x: Tensor) -> Tensor:
    return -x.square() / 2 - math.log(2 * math.pi) / 2


def _from_tail(log_tail: Tensor) -> Tensor:
    """x with log(1 - Phi(x)) = log_tail, by Newton's method."""
    x = (-2 * log_tail).sqrt()
    for _ in range(8):
        value = torch.special.log_ndtr(-x)
        x = x + (value - log_tail) * (value - _log_density(x)).exp()
    return x


def largest_scores(log_n: float, rows: int = 5000, top: int = 100, seed: int = 9) -> Tensor:
    """Rows of normal numbers, (rows, up to 1,024): all of up to 1,024, and of more the ``top``
    largest, from the largest on. On the CPU.

    The i-th largest of n has an upper tail probability of T_i/n, where T_i is a sum of i
    independent exponential waiting times. So these are drawn, and tails are turned into numbers.

    Example:
        >>> largest_scores(math.log(10**100), rows=2).shape
        torch.Size([2, 100])
    """
    check_number("log_n", log_n, minimum=0.0)
    check_count("rows", rows)
    check_count("top", top)
    if log_n <= math.log(1024) + 1e-9:
        return sample(rows, round(math.exp(log_n)), seed=seed, device="cpu", dtype=torch.float64)
    generator = torch.Generator().manual_seed(seed)
    u = torch.rand(rows, top, generator=generator, dtype=torch.float64)
    arrivals = -(1 - u).log().cumsum(-1)
    return _from_tail(arrivals.log() - log_n)


def attend(x: Tensor, log_n: float, sigma: float | Tensor) -> tuple[Tensor, Tensor]:
    r"""Entropy and sum of squared weights, (rows,), of rows whose scores are ``sigma`` times ``x``
    from :func:`largest_scores`.

    The keys that are not drawn are many and none has much weight, so their means stand for them. If
    x is the smallest number drawn, each is a normal number :math:`\zeta` below x, over which
    :math:`e^{\sigma\zeta}` has the mean :math:`e^{\sigma^2/2}\,\Phi(x-\sigma)/\Phi(x)`; scores and
    squares likewise. Everything is done in logarithms.

    Args:
        x: (rows, drawn).
        log_n: the logarithm of the number of keys.
        sigma: a number, or (rows, 1).

    Example:
        >>> entropy, squares = attend(torch.zeros(1, 4).double(), math.log(4), 1.0)
        >>> round(entropy.exp().item(), 6), squares.item()
        (4.0, 0.25)
    """
    sigma = torch.as_tensor(sigma, dtype=torch.float64)
    parts, drawn = [sigma * x], x.shape[-1] * math.exp(-log_n)
    all_drawn = drawn >= 1 - 1e-9
    last = x[:, -1:]
    below = torch.special.log_ndtr(last - sigma)
    if not all_drawn:  # the others, as one term
        mean = sigma**2 / 2 + below - torch.special.log_ndtr(last)
        parts.append(log_n + math.log1p(-drawn) + mean)
    log_z = torch.logsumexp(torch.cat(parts, dim=-1), dim=-1, keepdim=True)
    p = (sigma * x - log_z).exp()
    mean_score = (p * sigma * x).sum(-1, keepdim=True)
    squares = p.square().sum(-1, keepdim=True)
    if not all_drawn:
        score = sigma - (_log_density(last - sigma) - below).exp()
        mean_score = mean_score + (parts[1] - log_z).exp() * sigma * score
        fewer = torch.special.log_ndtr(last - 2 * sigma) - below
        squares = squares + (parts[1] + 1.5 * sigma**2 + fewer - 2 * log_z).exp()
    return (log_z - mean_score).squeeze(-1), squares.squeeze(-1)
