"""Softmax of given scores, and the way back from published weights to the scores that would give
them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from sdpa_book.ledger.checks.difference import difference
from sdpa_book.ledger.verdict import Finding, finding
from sdpa_lib.sampling import sample
from sdpa_lib.saturation import jacobian_norm, softmax_jacobian

DOG_BITES_MAN = ((1.25, 0.80, -0.20), (0.80, 1.09, -0.40), (-0.20, -0.40, 1.16))
PUBLISHED = ((0.44, 0.35, 0.21), (0.38, 0.41, 0.21), (0.19, 0.15, 0.66))


def _softmax(scores: Sequence[float]) -> Tensor:
    return torch.softmax(torch.tensor(scores, dtype=torch.float64), dim=-1)


def softmax(scores: Sequence[float], published: Sequence[float] | None = None) -> Finding:
    """The weights; with published ones, the gap of scores that those imply and the scores divided
    by their sum, too.
    """
    weights, gap = _softmax(scores).tolist(), scores[0] - scores[1]
    if published is None:
        return finding(weights, gap=gap, of_sum=[x / sum(scores) for x in scores])
    implied = math.log(published[0] / published[1])
    return finding(weights, gap=gap, implied=implied, divisor=gap / implied)


def weight(scores: Sequence[float]) -> Finding:
    """The weight of the first of the scores."""
    return finding(_softmax(scores)[0].item())


def entries_of_softmax(scores: Sequence[float]) -> Finding:
    """How many numbers softmax gives."""
    return finding(float(len(_softmax(scores))))


def ratio_of_weights(gap: float) -> Finding:
    """The ratio of two weights whose scores differ by ``gap``, and by how much it grows with one
    more.
    """
    weights, more = _softmax([gap, 0.0]), _softmax([gap + 1.0, 0.0])
    ratio = (weights[0] / weights[1]).item()
    return finding(ratio, one_more=(more[0] / more[1]).item() / ratio)


def sums_of_published_rows() -> Finding:
    """The sums of the weights published for "dog bites man"."""
    return finding([sum(row) for row in PUBLISHED])


def keys_matter_to_softmax(running: bool = False) -> Finding:
    """The smallest relative change of any weight when one more key is added; or, with ``running``,
    the largest when the keys come one by one, and only their maximum and their sum so far are kept.
    """
    z = sample(1000, 33, seed=5, device="cpu")
    fewer, more = torch.softmax(z[:, :-1], dim=-1), torch.softmax(z, dim=-1)
    if not running:
        return finding((1 - more[:, :-1] / fewer).min().item())
    largest, total = torch.full((1000,), -math.inf, dtype=z.dtype), torch.zeros(1000, dtype=z.dtype)
    for score in z.unbind(-1):
        before, largest = largest, torch.maximum(largest, score)
        total = total * (before - largest).exp() + (score - largest).exp()
    weights = (z - largest.unsqueeze(-1)).exp() / total.unsqueeze(-1)
    return finding(difference(weights / more, 1.0))


def one_weight(row: int, column: int) -> Finding:
    """One weight of "dog bites man", with the temperature at which its row comes nearest to the
    published one.
    """
    T = torch.linspace(0.5, 5, 901, dtype=torch.float64).unsqueeze(-1)
    scores, published = (
        torch.tensor(x[row], dtype=torch.float64) for x in (DOG_BITES_MAN, PUBLISHED)
    )
    off = (torch.softmax(scores / T, dim=-1) - published).abs().amax(-1)
    best = int(off.argmin())
    return finding(
        _softmax(DOG_BITES_MAN[row])[column].item(),
        temperature=T[best].item(),
        miss=off[best].item(),
    )


def change_under_shift(scores: Sequence[float], shift: float, only_first: bool = False) -> Finding:
    """The largest change of a weight when all scores, or the first alone, move by ``shift``; and
    the Jacobian's prediction.
    """
    z = torch.tensor(scores, dtype=torch.float64)
    step = torch.full_like(z, shift)
    if only_first:
        step[1:] = 0.0
    weights = torch.softmax(z, -1)
    predicted = softmax_jacobian(weights) @ step
    # the first is 1, less what the others gain
    change = (torch.softmax(z + step, -1) - weights)[1:].abs().max().item()
    if change < 1e-12 * weights.min().item():
        change = 0.0
    return finding(change, predicted=predicted[1:].abs().max().item())


def jacobian(scores: Sequence[float]) -> Finding:
    """The spectral norm of softmax's derivative at these scores; as a fact, at even ones."""
    norm = jacobian_norm(_softmax(scores), "spectral").item()
    return finding(norm, even=jacobian_norm(_softmax([0.0] * len(scores)), "spectral").item())


def distance_from_one_hot(gap: float, n: int = 3) -> Finding:
    """The weight off the largest score when it leads all others by ``gap``."""
    weights = _softmax([gap] + [0.0] * (n - 1))
    return finding(weights[1:].sum().item())  # 1 less the first would be 0 by rounding


def divided_before_softmax(d_k: int = 64) -> Finding:
    """The largest change of a weight when softmax's input is divided by the root; as a fact, when
    its output is.
    """
    z = math.sqrt(d_k) * sample(1000, 32, seed=4, device="cpu")
    weights = torch.softmax(z, -1)
    after = weights / math.sqrt(d_k)
    after = after / after.sum(-1, keepdim=True)
    before = torch.softmax(z / math.sqrt(d_k), -1)
    return finding(difference(before, weights), after=difference(after, weights))


def perturbation_shows_gradient(scores: Sequence[float], shift: float) -> Finding:
    """The change of a weight when all scores move together, over that when the first moves
    alone.
    """
    together, one = (change_under_shift(scores, shift, alone).ours[0] for alone in (False, True))
    return finding(
        together / one,
        one=one,
        saturated=change_under_shift((100.0, -50.0, -50.0), shift, only_first=True).ours[0],
    )
