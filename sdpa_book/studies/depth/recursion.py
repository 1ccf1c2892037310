r"""What follows the gradient through blocks that have just been started: a mean-field recursion.

It follows three numbers from block to block. Forward these are the variance V of a component of the
residual stream and the correlation :math:`\rho` of two tokens of a sequence, by which their queries
and their keys are correlated as well. Backward it is the gradient's mean square. Article B derives
each of its terms.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from sdpa_book.studies.transformer import NORMS
from sdpa_lib._checks import check_count, check_number, unknown_name
from sdpa_lib.rescaling import get_rescaling

BLOCK = 2**16
"""How many scores are put through softmax at a time: a block's stay in the processor's cache."""


class SoftmaxRows(NamedTuple):
    r"""Averages over rows of weights p, each beside a second row :math:`p'` over the same keys.

    Attributes:
        repeated: :math:`E\sum_a p_a^2`.
        shared: :math:`E\sum_a p_a p'_a`.
        response: :math:`E\lVert g\rVert^2` of :math:`g = (\mathrm{diag}(p) - pp^\top)\,u` with
            independent standard normal u.
        shared_response: :math:`E\,g\cdot g'`, both from the same u.
    """

    repeated: float
    shared: float
    response: float
    shared_response: float


@cache
def softmax_rows(
    spread: float, correlation: float, n_keys: int, *, n_rows: int = 2**15
) -> SoftmaxRows:
    """What softmax makes of normal scores, averaged over rows that fill their space evenly
    (Sobol's sequence): with the default a response is right within about one per cent at a
    spread of 16 among 16 keys, and closer at a smaller one.

    Args:
        spread: the scores' standard deviation, at least 0.
        correlation: of a score with the other row's score for the same key, in [-1, 1].
        n_keys: at least 1.
        n_rows: how many pairs of rows are averaged over, at least 1; a power of 2 fills best.

    Example:
        >>> softmax_rows(0.0, 0.0, 4).repeated
        0.25
    """
    rho = check_correlation(correlation)
    rows = _normal_rows(check_count("n_rows", n_rows), check_count("n_keys", n_keys))
    totals = torch.zeros(4, dtype=torch.float64)
    blocks = (torch.split(x, max(1, BLOCK // n_keys), dim=1) for x in rows)
    for first, second in zip(*blocks, strict=True):
        p = torch.softmax(spread * first, dim=0)
        other = torch.softmax(spread * (rho * first + math.sqrt(1 - rho**2) * second), dim=0)
        square, product = p * p, p * other
        repeated, shared = square.sum(0), product.sum(0)
        response = repeated - 2 * (square * p).sum(0) + repeated.square()
        shared_response = shared - (product * (p + other)).sum(0) + shared.square()
        totals += torch.stack([repeated, shared, response, shared_response]).sum(1)
    return SoftmaxRows(*(totals / n_rows).tolist())


@cache
def _normal_rows(n_rows: int, n_keys: int) -> tuple[Tensor, Tensor]:
    """Two normal numbers for every key of every row, (n_keys, n_rows) each: with the keys first,
    softmax and sums over them run along memory, which takes half the time.
    """
    even = torch.quasirandom.SobolEngine(2 * n_keys, scramble=True, seed=0)  # type: ignore[no-untyped-call]
    uniform = even.draw(n_rows, dtype=torch.float64)
    normal = torch.special.ndtri(uniform.clamp(1e-12, 1 - 1e-12))  # an end point would be infinite
    first, second = normal.T.contiguous().chunk(2)
    return first, second


@cache
def perceptron_products(correlation: float) -> tuple[float, float]:
    """Means of GELU(a) GELU(b) and of GELU'(a) GELU'(b) for standard normal a and b.

    Args:
        correlation: of a and b, in [-1, 1].

    Example:
        >>> value, slope = perceptron_products(1.0)
        >>> round(value, 3), round(slope, 3)
        (0.425, 0.456)
    """
    check_correlation(correlation)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    x, w = torch.from_numpy(nodes), torch.from_numpy(weights / weights.sum())
    a = x[:, None].requires_grad_()
    b = (correlation * x[:, None] + math.sqrt(1 - correlation**2) * x).requires_grad_()
    value_a, value_b = F.gelu(a), F.gelu(b)
    slope_a, slope_b = torch.autograd.grad(value_a.sum() + value_b.sum(), (a, b))
    value, slope = (
        (w[:, None] * w * at_a * at_b).sum().item()
        for at_a, at_b in ((value_a, value_b), (slope_a, slope_b))
    )
    return value, slope


def check_correlation(correlation: float) -> float:
    """The number, if it can be a correlation."""
    if abs(check_number("correlation", correlation)) > 1:
        raise ValueError(f"correlation must lie in [-1, 1], got {correlation}")
    return correlation


class MeanField(NamedTuple):
    """What the recursion predicts at the residual stream, n_layers + 1 entries each, as in
    :class:`~sdpa_book.studies.depth.run.Start`; ``gradient`` is a root mean square.
    """

    variance: list[float]
    correlation: list[float]
    gradient: list[float]


class _Half(NamedTuple):
    """Half a block: an attention, or else a perceptron, with the variance that it reads, that of
    the sum, and the tokens' correlation.
    """

    rows: SoftmaxRows | None
    read: float
    summed: float
    correlation: float


def mean_field(
    n_layers: int,
    r: float,
    *,
    n_tokens: int,
    norm: str = "pre",
    variance: float = 1.0,
    correlation: float = 0.0,
) -> MeanField:
    r"""Follow the residual stream up, and the gradient down, through blocks that have just been
    started.

    Args:
        n_layers: how many blocks, at least 1.
        r: what the scores are divided by, in units of :math:`\sqrt{d_k}`, greater than 0.
        n_tokens: in a sequence, at least 2.
        norm: where the normalisations stand, ``"pre"`` or ``"post"``.
        variance: of the embedded tokens, greater than 0.
        correlation: of two embedded tokens, in [-1, 1].

    Example:
        >>> undivided = mean_field(24, 1 / 8, n_tokens=16).gradient[0]
        >>> undivided > 10 * mean_field(24, 1.0, n_tokens=16).gradient[0]
        True
    """
    check_count("n_layers", n_layers)
    n = check_count("n_tokens", n_tokens, minimum=2)
    check_number("r", r, above=0.0)
    if norm not in NORMS:
        raise unknown_name("norm", norm, NORMS)
    pre = norm == "pre"
    v = check_number("variance", variance, above=0.0)
    shared = v * check_correlation(correlation)
    halves: list[_Half] = []
    stream = [(v, correlation)]
    for _ in range(n_layers):
        for attends in (True, False):
            rho = min(1.0, shared / v)
            if attends:
                rows = softmax_rows(math.sqrt(1 - rho) / r, rho, n)
                added = rho + (1 - rho) * rows.repeated
                added_shared = rho + (1 - rho) * rows.shared
            else:
                rows = None
                added, added_shared = (perceptron_products(x)[0] for x in (1.0, rho))
            halves.append(_Half(rows, v, v + added, rho))
            v, shared = v + added, shared + added_shared
            if not pre:
                v, shared = 1.0, shared / v
        stream.append((v, shared / v))
    # The gradient: the mean square of a token's, and the mean product of two tokens' gradients.
    # What the read-out sends is the same for all tokens, and the last normalisation divides it.
    square = product = 1 / v
    gradients = [square]
    for half in reversed(halves):
        if not pre:
            square, product = square / half.summed, product / half.summed
        more, more_shared = _passed_back(half, square, product, r, n)
        if pre:
            more, more_shared = more / half.read, more_shared / half.read
        square, product = square + more, product + more_shared
        if half.rows:
            gradients.append(square)
    variances, correlations = zip(*stream, strict=True)
    roots = [math.sqrt(gradient) for gradient in reversed(gradients)]
    return MeanField(list(variances), list(correlations), roots)


def _passed_back(
    half: _Half, square: float, product: float, r: float, n: int
) -> tuple[float, float]:
    """What half a block adds to the gradient's mean square and to the mean product of two tokens'
    gradients, where its inputs have variance 1.
    """
    rho, rows = half.correlation, half.rows
    if rows is None:
        return perceptron_products(1.0)[1] * square, perceptron_products(rho)[1] * product
    others = (n - 1) * product
    values = rows.repeated * square + rows.shared * others
    # the weights of a row sum to 1: over all tokens nothing is lost
    values_shared = (square + others - values) / (n - 1)
    queries = ((1 - rho) / r) ** 2 * rows.response * square
    queries_shared = ((1 - rho) / r) ** 2 * rows.shared_response * product
    keys = (1 - rho) / r**2 * (rows.response * square + rho * rows.shared_response * others)
    # the gradients at the scores of a row sum to 0, and so do those at the keys
    keys_shared = -keys / (n - 1)
    return values + queries + keys, values_shared + queries_shared + keys_shared


def relative_divisor(scaling: str, n_keys: int, d_k: int) -> float:
    r"""What a rescaling divides by when all keys have length :math:`\sqrt{d_k}`, in units of
    :math:`\sqrt{d_k}`.

    Example:
        >>> relative_divisor("none", 16, 64)
        0.125
    """
    keys = torch.ones(n_keys, d_k, dtype=torch.float64)
    return get_rescaling(scaling)(keys).item() / math.sqrt(d_k)
