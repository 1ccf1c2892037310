"""Exercises of the lab of an hour that no chapter has."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor

from sdpa_book.exercises.exercise import PER_CENT, Exercise
from sdpa_book.studies import lookup
from sdpa_lib.sampling import sample


def _dots(d_k: int) -> Tensor:
    q, noise = (sample(500, d_k, seed=8, stream=s, device="cpu") for s in (0, 1))
    right = 0.25 * q + (1 - 0.25**2) ** 0.5 * noise
    others = q.norm(dim=-1, keepdim=True) * sample(500, 1023, seed=8, stream=2, device="cpu")
    return torch.cat(((q * right).sum(-1, keepdim=True), others), -1)


def _queries_and_keys(d_k: int, size: float) -> tuple[Tensor, Tensor]:
    q, k = (sample(300, d_k, seed=9, stream=s, device="cpu") for s in (0, 1))
    return q, size * k


def _share_and_weight(scores: Tensor, dim: int = -1) -> list[float]:
    """The share of the queries whose largest weight is the first key's, and its mean weight."""
    weights = torch.softmax(scores, dim=dim)
    return [(weights.argmax(-1) == 0).double().mean().item(), weights[:, 0].mean().item()]


@cache
def _batches() -> list[tuple[Tensor, Tensor, Tensor]]:
    return lookup.draw_batches()


def _train(
    divisor: str,
    steps: int,
    *,
    order: tuple[str, ...] = ("clear", "backward", "step"),
    sign: int = 1,
    optimiser: type[torch.optim.Optimizer] = torch.optim.Adam,
) -> Tensor:
    """The mean loss of the eight lookup layers before each of their steps."""
    W_Q, W_K = lookup.matrices(64)
    update = optimiser([W_Q, W_K], lr=0.003)  # type: ignore[call-arg]
    losses = []
    for batch in _batches()[:steps]:
        loss = lookup.lookup_loss(W_Q, W_K, *batch, divisor)
        losses.append(loss.detach().mean())
        lines: dict[str, Callable[[], Any]] = {
            "clear": update.zero_grad,
            "backward": (sign * loss).sum().backward,
            "step": update.step,
        }
        for line in order:
            lines[line]()
    return torch.stack(losses)


def _winners(d_k: int, divisor: float) -> list[float]:
    weights = torch.softmax(_dots(d_k) / divisor, dim=-1)
    return [_share_and_weight(_dots(d_k))[0], weights.amax(-1).mean().item()]


def _above_half(d_k: int, divisor: float) -> list[float]:
    weights = torch.softmax(_dots(d_k) / divisor, dim=-1)[:, 0]
    return [(weights > 0.5).double().mean().item(), weights.mean().item()]


def _above_average(d_k: int, divisor: float) -> list[float]:
    first, others = _dots(d_k)[:, :1], _dots(d_k)[:, 1:]
    above = (first > others.mean(-1, keepdim=True)).double().mean().item()
    return [above, _share_and_weight(_dots(d_k) / divisor)[1]]


EXERCISES: dict[str, Exercise] = {
    "spread": Exercise(
        answer=lambda queries, keys: (queries @ keys.T).std(),
        # in the last case each query is its own key, so that the pairs alone spread otherwise
        cases=(
            *(_queries_and_keys(*case) for case in ((16, 1.0), (64, 3.0), (1024, 1.0))),
            (sample(300, 64, seed=9, stream=0, device="cpu").sign(),) * 2,
        ),
        tolerance=0.05,  # with the mean taken off or not
        mistakes={
            "This has each query with its own key alone: take every query with every key.": (
                lambda queries, keys: (queries * keys).sum(-1).std()
            ),
            "This is the variance: take its root.": lambda queries, keys: (queries @ keys.T).var(),
            "This is the mean size of a dot product. A standard deviation is the root of a mean "
            "square.": lambda queries, keys: (queries @ keys.T).abs().mean(),
            "A dot product adds its terms up: sum them, and take no mean.": lambda queries, keys: (
                (queries @ keys.T).std() / queries.shape[-1]
            ),
            "This is the spread of one term. Add up the terms of each pair first.": (
                lambda queries, keys: (queries * keys).std()
            ),
            "So it is if all components have variance 1. These keys are larger: measure the dot "
            "products.": lambda queries, _keys: math.sqrt(queries.shape[-1]),
        },
    ),
    "power": Exercise(
        answer=1 / 2,
        tolerance=0.04,  # it is measured
        mistakes={
            "That is the power of the variance.": 1,
            "That is the power of the spread's root. The spread is a root already.": 0.25,
            "That is how many times as far they spread. Which power of 64 is it?": 8,
            "The other way round: which power of 64 is 8?": 2,
        },
    ),
    "train": Exercise(
        answer=_train,
        cases=(("sqrt_d_k", 5), ("none", 4)),
        mistakes={
            # also where step() comes between the two, or zero_grad() does
            "The weights stay where they are: right after backward() call "
            "update.step().": lambda divisor, steps: _train(
                divisor, steps, order=("clear", "backward")
            ),
            "The gradients of all steps add up: call update.zero_grad() before "
            "backward().": lambda divisor, steps: _train(
                divisor, steps, order=("backward", "step")
            ),
            "This steps along the gradients of the batch before: call update.step() after "
            "backward().": lambda divisor, steps: _train(
                divisor, steps, order=("step", "clear", "backward")
            ),
            "This is plain gradient descent: let update, which is Adam, take the "
            "step.": lambda divisor, steps: _train(divisor, steps, optimiser=torch.optim.SGD),
            "This goes up the loss: backward() belongs to loss.sum(), without a "
            "minus.": lambda divisor, steps: _train(divisor, steps, sign=-1),
        },
    ),
    "together": Exercise(
        answer=lambda k, c: k * c / (1 + (k - 1) * c),
        cases=((1, 0.3), (20, 0.02), (60, 0.25), (4, 1.0)),
        mistakes={
            "That is beyond 1 for many batches. The shared part stays as it is; what becomes of "
            "the noise?": lambda k, c: k * c,
            "The noise gets √k times shorter; but the cosine is a share of squared "
            "lengths.": lambda k, c: k**0.5 * c,
            "This leaves the noise as it is. Unlike noises partly cancel in an "
            "average.": lambda k, c: c,
            "Close, but the noise has 1 - c of the squared length, not all of it.": lambda k, c: (
                k * c / (1 + k * c)
            ),
            "The noise gets shorter with the root of k, so its square with k: the cosine is a "
            "share of squares.": lambda k, c: c / (c + (1 - c) / k**0.5),
            "This is the cosine of an average and the shared part itself. Between two averages the "
            "noise of both counts: square it.": lambda k, c: (k * c / (1 + (k - 1) * c)) ** 0.5,
            "c is a share of the squared length already: it is not squared once "
            "more.": lambda k, c: k * c**2 / (1 + (k - 1) * c**2),
            "c and 1 - c are squared lengths already: square neither of them.": lambda k, c: (
                c**2 / (c**2 + (1 - c) ** 2 / k)
            ),
            "It comes near 1, but never bends so sharply: noise is left in every "
            "average.": lambda k, c: min(1, k * c),
            "The noise falls to (1 - c)/k, and with it the whole: divide the shared part by all "
            "that is left.": lambda k, c: 1 - (1 - c) / k,
            "Of the noise 1/k² is left only if it is the same in each batch: squared lengths of "
            "unlike noises add up.": lambda k, c: c / (c + (1 - c) / k**2),
        },
    ),
    "found": Exercise(
        answer=lambda d_k, divisor: _share_and_weight(_dots(d_k) / divisor),
        cases=((64, 8.0), (128, 128**0.5), (256, 16.0), (256, 1.0)),
        tolerance=0.3,  # an answer may have drawn queries of its own
        mistakes={
            "The share first, then the weight.": lambda d_k, divisor: _share_and_weight(
                _dots(d_k) / divisor
            )[::-1],
            "The divisor is not used, or multiplied with.": lambda d_k, divisor: _share_and_weight(
                _dots(d_k)
            ),
            "Softmax ran over the queries; each query's weights must sum to "
            "1.": lambda d_k, divisor: _share_and_weight(_dots(d_k) / divisor, dim=0),
            "This is the winner's weight, whichever key it is; the right key is the first "
            "one.": _winners,
            PER_CENT: lambda d_k, divisor: [
                100 * x for x in _share_and_weight(_dots(d_k) / divisor)
            ],
            "The largest weight need not be above one half.": _above_half,
            "The right key has to beat the best of the others, not their average.": _above_average,
        },
    ),
}
