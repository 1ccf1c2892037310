"""A small layer that learns to look something up: chapter 5's example of a training."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import torch
from torch import Tensor

from sdpa_book.writing.names import known_rescaling
from sdpa_lib import attention_weights, scaled_dot_product_attention
from sdpa_lib._checks import check_count
from sdpa_lib.device import get_device
from sdpa_lib.rescaling import RESCALINGS
from sdpa_lib.sampling import sample

SEEDS = range(3, 11)
BATCHES, QUERIES, KEYS, WIDTH = 120, 32, 16, 24
HELD_OUT, MOST_STEPS = 512, 480


def train(
    name: str,
    d_k: int,
    optimiser: type[torch.optim.Optimizer] = torch.optim.Adam,
    rate: float = 3e-3,
    steps: int = 120,
) -> Tensor:
    """The losses of eight layers, one a seed, that share their steps and nothing else.

    A query is a noisy copy of the first of ``KEYS`` keys, each of which has a value. The loss is
    the squared error between the output and the first value. ``W_Q`` and ``W_K`` are trained.

    Args:
        name: of the rescaling.
        d_k: of the layers.
        optimiser: of PyTorch, such as ``torch.optim.SGD``.
        rate: its learning rate.
        steps: after ``BATCHES`` of them the batches come again.

    Returns:
        (8, steps).

    Raises:
        ValueError: ``d_k`` or ``steps`` is below 1, or ``name`` is of no rescaling.

    Example:
        >>> train("sqrt_d_k", 64, steps=2).shape
        torch.Size([8, 2])
    """
    W_Q, W_K = matrices(d_k)
    update = optimiser([W_Q, W_K], lr=rate)  # type: ignore[call-arg]
    batches, losses = draw_batches(), []
    for step in range(check_count("steps", steps)):
        loss = lookup_loss(W_Q, W_K, *batches[step % BATCHES], name)
        update.zero_grad()
        loss.sum().backward()  # type: ignore[no-untyped-call]
        update.step()
        losses.append(loss.detach().double())
    return torch.stack(losses, dim=1)


def steps_to_learn(name: str, d_k: int, queries: int, rate: float = 3e-3) -> Tensor:
    """How many of Adam's steps eight layers need, on fresh batches of ``queries`` each.

    The loss is that of ``HELD_OUT`` queries on which no layer is trained, the same for every size
    of batch, so that a layer's first loss below a level does not depend on the noise of its batch.

    Args:
        name: of the rescaling, one that d_k alone decides.
        d_k: of the layers.
        queries: in a batch.
        rate: of Adam.

    Returns:
        (2, 8): the steps to half of a layer's loss at the start, and to a loss of 0.3; infinite
        where ``MOST_STEPS`` of them are not enough.

    Raises:
        ValueError: the divisor depends on keys, or a number is below 1.

    Example:
        >>> steps_to_learn("sqrt_d_k", 16, 32, rate=0.03).shape
        torch.Size([2, 8])
    """
    W_Q, W_K = matrices(d_k)
    update = torch.optim.Adam([W_Q, W_K], lr=rate)
    held_out = _draw_batch(HELD_OUT, stream=4)
    start = _held_out_loss(W_Q, W_K, held_out, name)
    levels = torch.stack([start / 2, torch.full_like(start, 0.3)])
    first = torch.full_like(levels, torch.inf)
    for step in range(MOST_STEPS + 1):
        below = _held_out_loss(W_Q, W_K, held_out, name) < levels
        first = torch.where(below & first.isinf(), step, first)
        if first.isfinite().all() or step == MOST_STEPS:
            break
        _step(update, W_Q, W_K, _draw_batch(queries, stream=6 + 2 * step), name)
    return first


def first_move(name: str, d_k: int, rate: float = 3e-3) -> Tensor:
    """How far the first step of Adam, on a batch of ``QUERIES``, moves the held-out scores: the
    root mean square change, after dividing, about a query's mean change, which softmax ignores.

    Args:
        name: of the rescaling, one that d_k alone decides.
        d_k: of the layers.
        rate: of Adam.

    Returns:
        (8,), one for each layer.

    Example:
        >>> bool((first_move("none", 64) > first_move("sqrt_d_k", 64)).all())
        True
    """
    W_Q, W_K = matrices(d_k)
    tokens, keys, _ = _draw_batch(HELD_OUT, stream=4)
    before = tokens @ _table(W_Q, W_K, name).unsqueeze(1) @ keys.mT
    _step(torch.optim.Adam([W_Q, W_K], lr=rate), W_Q, W_K, _draw_batch(QUERIES, stream=6), name)
    moved = tokens @ _table(W_Q, W_K, name).unsqueeze(1) @ keys.mT - before
    return moved.var(-1, correction=0).mean((1, 2)).sqrt().detach()


def _step(
    update: torch.optim.Optimizer,
    W_Q: Tensor,
    W_K: Tensor,
    batch: tuple[Tensor, Tensor, Tensor],
    name: str,
) -> None:
    update.zero_grad()
    lookup_loss(W_Q, W_K, *batch, name).sum().backward()  # type: ignore[no-untyped-call]
    update.step()


def _table(W_Q: Tensor, W_K: Tensor, name: str) -> Tensor:
    """What a token and a key's input are multiplied with to give a score, (8, WIDTH, WIDTH)."""
    known_rescaling(name)
    c = RESCALINGS[name].constant(W_Q.shape[-1])
    if c is None:
        raise ValueError(f"name must be of a divisor that d_k alone decides, got {name!r}")
    return W_Q @ W_K.mT / c


@torch.no_grad()
def _held_out_loss(
    W_Q: Tensor, W_K: Tensor, held_out: tuple[Tensor, Tensor, Tensor], name: str
) -> Tensor:
    """``lookup_loss`` with the same scores, of products as wide as a token in place of the head."""
    table = _table(W_Q, W_K, name)
    one = torch.eye(WIDTH, dtype=table.dtype, device=table.device)
    return lookup_loss(table, one.expand_as(table), *held_out, "none")


def first_gradients(name: str, d_k: int, batches: int = 2) -> Tensor:
    """The gradients of ``W_Q`` before training, of several batches.

    Returns:
        (batches, 8, WIDTH * d_k).

    Example:
        >>> first_gradients("none", 4).shape
        torch.Size([2, 8, 96])
    """
    W_Q, W_K = matrices(d_k)
    if check_count("batches", batches) > BATCHES:
        raise ValueError(f"batches must be at most {BATCHES}, got {batches}")
    gradients = []
    for batch in draw_batches()[:batches]:
        loss = lookup_loss(W_Q, W_K, *batch, name).sum()
        gradients.append(torch.autograd.grad(loss, W_Q)[0].flatten(1))
    return torch.stack(gradients)


def batches_agree(name: str, d_k: int) -> dict[str, Tensor]:
    """How long the first gradients of ``W_Q`` are, and how far the ``BATCHES`` batches agree on
    them.

    The product of two batches' gradients is, on average, the squared length of the part that all
    of them share: what is a batch's own adds nothing.

    Returns:
        Of each layer, (8,): the mean ``length`` of a batch's gradient, the length of the ``shared``
        part, the mean ``cosine`` of two batches, and the ``cosine of halves``, of two batches of
        half of all queries each.

    Example:
        >>> agree = batches_agree("sqrt_d_k", 4)
        >>> bool((agree["cosine"] < agree["cosine of halves"]).all())
        True
    """
    gradients = first_gradients(name, d_k, BATCHES)
    lengths = gradients.norm(dim=-1)
    first, second = (half.mean(0) for half in gradients.chunk(2))
    return {
        "length": lengths.mean(0),
        "shared": _mean_product(gradients).clamp(min=0).sqrt(),
        "cosine": _mean_product(gradients / lengths[..., None]),
        "cosine of halves": torch.cosine_similarity(first, second, dim=-1),
    }


def agreement_by_weight(
    name: str, d_k: int, least: float = 0.02, seeds: Iterable[int] = SEEDS
) -> dict[str, Tensor]:
    """How far batches agree on the first gradient of ``W_Q`` if they hold only queries that attend
    to their right key, with at least some weight, or only others.

    A query adds its token times its own gradient to that of ``W_Q``. From the products of all pairs
    of queries follows the cosine of two batches of ``QUERIES`` of them: the squared length that
    they share, over a batch's.

    Args:
        name: of the rescaling.
        d_k: of the layers.
        least: the weight, between 0 and 1, from which on a query attends to its key.
        seeds: one for each layer.

    Returns:
        Of each layer, (len(seeds),): the ``share`` of the queries that attend to their key, and
        the cosine of batches of ``all`` queries, of those ``attending``, of the ``others``, and of
        the ``undecided others``, which have no weight above 0.9.

    Example:
        >>> agree = agreement_by_weight("none", 64)
        >>> bool((agree["attending"] > 10 * agree["others"]).all())
        True
    """
    W_Q, W_K = (W.detach() for W in matrices(d_k, seeds))
    tokens, keys, values = (torch.cat(x, 1) for x in zip(*draw_batches(seeds), strict=True))
    queries, known = (tokens @ W_Q.unsqueeze(1)).requires_grad_(), known_rescaling(name)
    weights = attention_weights(queries, keys @ W_K.unsqueeze(1), rescaling=known)
    loss = (weights @ values - values[..., :1, :]).square().sum()
    (at_queries,) = torch.autograd.grad(loss, queries)
    tokens, at_queries = tokens.squeeze(-2), at_queries.squeeze(-2)
    to_right, largest = weights[..., 0, 0], weights.amax((-2, -1))
    attending = to_right >= least
    everyone = torch.ones_like(attending)
    sorts = {"all": everyone, "attending": attending, "others": ~attending}
    sorts["undecided others"] = ~attending & (largest < 0.9)
    cosines = {
        sort: torch.stack(
            [_cosine(x[of], g[of]) for x, g, of in zip(tokens, at_queries, which, strict=True)]
        )
        for sort, which in sorts.items()
    }
    return {"share": attending.double().mean(-1), **cosines}


def _cosine(tokens: Tensor, at_queries: Tensor) -> Tensor:
    """Of n queries, (n, WIDTH) and (n, d_k), the cosine of two batches of ``QUERIES``: the mean
    product of two queries' tables ``token x gradient`` over a batch's mean square.
    """
    n, tokens, at_queries = len(tokens), tokens.double(), at_queries.double()
    of_all = (tokens.mT @ at_queries).square().sum()  # the pairs, and each with itself
    own = (tokens.square().sum(-1) * at_queries.square().sum(-1)).sum()
    both = (of_all - own) / (n * (n - 1))
    return both / (own / n / QUERIES + (1 - 1 / QUERIES) * both)


def _mean_product(vectors: Tensor) -> Tensor:
    """Of (n, 8, d), the product of two of the n, on average over the pairs: (8,)."""
    n = len(vectors)
    of_all = vectors.sum(0).square().sum(-1)  # the pairs, and each with itself
    return (of_all - vectors.square().sum((0, -1))) / (n * (n - 1))


def matrices(d_k: int, seeds: Iterable[int] = SEEDS) -> tuple[Tensor, Tensor]:
    """Fresh W_Q and W_K of the eight layers, each (8, WIDTH, d_k)."""
    check_count("d_k", d_k)
    first, second = (_draw(WIDTH, d_k, stream=s, seeds=seeds) / WIDTH**0.5 for s in (0, 1))
    return first.requires_grad_(), second.requires_grad_()


def draw_batches(seeds: Iterable[int] = SEEDS) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Queries (8, QUERIES, 1, WIDTH), and keys and values (8, QUERIES, KEYS, WIDTH)."""
    return _batches(tuple(seeds), get_device())


@lru_cache(maxsize=2)  # drawing them is two fifths of a training
def _batches(seeds: tuple[int, ...], _device: torch.device) -> list[tuple[Tensor, Tensor, Tensor]]:
    data = _draw(BATCHES, QUERIES, KEYS, 2 * WIDTH, stream=2, seeds=seeds)
    noise = 0.3 * _draw(BATCHES, QUERIES, 1, WIDTH, stream=3, seeds=seeds)
    keys, values = data[..., :WIDTH], data[..., WIDTH:]
    return list(zip(*(x.unbind(1) for x in (keys[..., :1, :] + noise, keys, values)), strict=True))


def _draw_batch(queries: int, stream: int) -> tuple[Tensor, Tensor, Tensor]:
    """Fresh queries, keys and values, in the shapes of one of ``draw_batches``."""
    check_count("queries", queries)
    data = _draw(queries, KEYS, 2 * WIDTH, stream=stream)
    noise = 0.3 * _draw(queries, 1, WIDTH, stream=stream + 1)
    keys, values = data[..., :WIDTH], data[..., WIDTH:]
    return keys[..., :1, :] + noise, keys, values


def lookup_loss(
    W_Q: Tensor, W_K: Tensor, queries: Tensor, keys: Tensor, values: Tensor, name: str
) -> Tensor:
    """The squared error of an output that should be the first value, (8,)."""
    q = (queries.flatten(1, 2) @ W_Q).reshape(*queries.shape[:3], -1)
    k = (keys.flatten(1, 2) @ W_K).reshape(*keys.shape[:3], -1)
    out = scaled_dot_product_attention(q, k, values, rescaling=known_rescaling(name))
    return (out - values[..., :1, :]).square().mean((1, 2, 3))


def _draw(*shape: int, stream: int, seeds: Iterable[int] = SEEDS) -> Tensor:
    return torch.stack([sample(*shape, seed=seed, stream=stream) for seed in seeds])
