"""Into a decoder: its queries, keys and scores, what arrives at them from the loss, and what
becomes of the loss with another divisor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sdpa_book.studies.heads.measure import (
    LEAST,
    head_figures,
    position_part,
    unturned_figures,
)
from sdpa_book.studies.heads.train import passage_losses
from sdpa_book.studies.transformer import Attention, Transformer
from sdpa_lib._checks import unknown_name
from sdpa_lib.attention import attention_scores
from sdpa_lib.rescaling import RESCALINGS, LogCount, PowerOfDk

SWAPS = (*RESCALINGS, "log_n", "qk_norm")
"""What a decoder is given in place of its own divisor: every rescaling, the root over ln n, and the
lengths of query and key.
"""

Figures = dict[str, list[list[float]]]
"""By name a number for each layer and head."""


class Layer(NamedTuple):
    """What one layer does with some passages: queries and keys (B, H, n, d_k) as W_Q and W_K give
    them, turned by their places if the model turns them, and the scores (B, H, n, n) that go into
    softmax, -inf at hidden keys.
    """

    query: Tensor
    key: Tensor
    scores: Tensor


@torch.no_grad()
def layers_of(model: Transformer, tokens: Tensor) -> Iterator[Layer]:
    """Layer by layer what a decoder does with tokens (B, n)."""
    x = model.embedded(tokens)
    for block in model.blocks:
        looked_at = block.attended(x)
        query, key = block.attention.projected(looked_at)
        yield Layer(query, key, block.attention.scores(looked_at))
        x = block(x)


def model_figures(model: Transformer, passages: Tensor, *, least: int = LEAST) -> Figures:
    """Every figure of a decoder's heads.

    They are those of :data:`~sdpa_book.studies.heads.measure.FIGURES`; ``position``, of
    :func:`~sdpa_book.studies.heads.measure.position_part`; ``weight_rank``, the effective rank of
    W_Q^T W_K; and of the gradients that arrive at queries and keys, as lengths, root mean square
    and median: ``query_gradient``, ``query_gradient_median``, ``key_gradient`` and
    ``key_gradient_median``. The gradients are of the sum of a passage's losses. Where places turn
    queries and keys, those of :func:`~sdpa_book.studies.heads.measure.unturned_figures` follow.

    Args:
        model: the decoder.
        passages: (B, n + 1), B at least 2.
        least: as in :func:`~sdpa_book.studies.heads.measure.head_figures`.
    """
    figures: dict[str, list[list[float]]] = {}
    for layer in layers_of(model, passages[:, :-1]):
        of_layer = head_figures(*layer, least=least)
        of_layer["position"] = position_part(layer.scores, least=least)
        for name, values in of_layer.items():
            figures.setdefault(name, []).append(values.tolist())
    figures["weight_rank"] = [weight_rank(block.attention).tolist() for block in model.blocks]
    return figures | gradient_figures(model, passages) | _unturned(model, passages[:, :-1])


@torch.no_grad()
def _unturned(model: Transformer, tokens: Tensor) -> Figures:
    """The figures of a rotary decoder's queries and keys before turning; of others none."""
    figures: Figures = {}
    x = model.embedded(tokens)
    for block in model.blocks:
        if block.attention.rotary:
            pair = block.attention.unturned(block.attended(x))
            for name, values in unturned_figures(*pair).items():
                figures.setdefault(name, []).append(values.tolist())
        x = block(x)
    return figures


@torch.no_grad()
def weight_rank(attention: Attention) -> Tensor:
    """The effective rank of each head's W_Q^T W_K, (H,): that of its squared singular values. Where
    places turn queries and keys, it is about a query and a key at one place.
    """
    query, key = (
        w.double().reshape(attention.n_heads, -1, w.shape[-1])
        for w in (attention.query.weight, attention.key.get_parameter("weight"))
    )
    # (W_Q^T W_K)^T (W_Q^T W_K) has the eigenvalues of W_Q W_Q^T W_K W_K^T, a matrix of d_k rows
    product = query @ query.mT @ key @ key.mT  # (H, d_k, d_k)
    trace = product.diagonal(dim1=-2, dim2=-1).sum(-1)
    return trace.square() / (product @ product).diagonal(dim1=-2, dim2=-1).sum(-1)


def gradient_figures(model: Transformer, passages: Tensor) -> Figures:
    """The lengths of the gradients at queries and keys, as in :func:`model_figures`."""
    outputs: dict[str, list[Tensor]] = {"query": [], "key": []}
    n_heads = model.blocks[0].attention.n_heads

    def keep(name: str) -> Any:
        def hook(_module: nn.Module, _inputs: Any, output: Tensor) -> None:
            output.retain_grad()
            outputs[name].append(output)

        return hook

    hooks = [
        getattr(block.attention, name).register_forward_hook(keep(name))
        for block in model.blocks
        for name in outputs
    ]
    try:
        logits = model(passages[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), passages[:, 1:].flatten(), reduction="sum")
        model.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
    finally:
        for hook in hooks:
            hook.remove()
    model.zero_grad()
    figures: Figures = {}
    for name, of_blocks in outputs.items():
        for output in of_blocks:
            assert output.grad is not None
            of_heads = output.grad.view(*output.grad.shape[:2], n_heads, -1)
            for summary, values in length_figures(of_heads).items():
                figures.setdefault(f"{name}_{summary}", []).append(values.tolist())
    return figures


def length_figures(gradient: Tensor) -> dict[str, Tensor]:
    """Root mean square and median of the lengths of gradients (B, n, H, d_k), each (H,)."""
    lengths = gradient.double().norm(dim=-1).flatten(0, 1)  # (B n, H)
    return {
        "gradient": lengths.square().mean(0).sqrt(),
        "gradient_median": lengths.median(0).values,
    }


def other_scores(query: Tensor, key: Tensor, name: str, is_causal: bool = True) -> Tensor:
    """Scores with another divisor than the model's.

    Args:
        query, key: (B, H, n, d_k), as W_Q and W_K give them.
        name: in ``SWAPS``.
        is_causal: whether later keys are hidden.

    Returns:
        (B, H, n, n), -inf at hidden keys.

    Example:
        >>> other_scores(torch.ones(1, 1, 2, 4), torch.ones(1, 1, 2, 4), "d_k")
        tensor([[[[1., -inf],
                  [1., 1.]]]])
    """
    if name not in SWAPS:
        raise unknown_name("name", name, SWAPS)
    if name == "qk_norm":
        query, key = F.normalize(query, dim=-1), F.normalize(key, dim=-1)
    own = {"qk_norm": PowerOfDk(0.0), "log_n": LogCount()}
    return attention_scores(query, key, is_causal=is_causal, rescaling=own.get(name, name))


@torch.no_grad()
def temperatures(model: Transformer, passages: Tensor, name: str) -> list[Tensor]:
    """For each layer the numbers, (H,), that scores with another divisor are multiplied by to come
    nearest to the model's own: by least squares over all rows, each less its mean.

    Args:
        model: the decoder.
        passages: (B, n + 1).
        name: in ``SWAPS``.
    """
    factors = []
    for layer in layers_of(model, passages[:, :-1]):
        own, other = (
            _less_mean(scores)
            for scores in (layer.scores, other_scores(layer.query, layer.key, name))
        )
        factors.append((own * other).sum((0, 2, 3)) / other.square().sum((0, 2, 3)))
    return factors


def swapped_losses(
    model: Transformer, passages: Tensor, name: str, factors: Sequence[Tensor] | None = None
) -> Tensor:
    """A decoder's loss in nats a byte with another divisor, on each passage.

    Args:
        model: the decoder; it is left as it was.
        passages: (B, n + 1).
        name: in ``SWAPS``.
        factors: what the scores are multiplied by, (H,) a layer, as :func:`temperatures` gives
            them; ``None`` leaves them.

    Returns:
        (B,), float64.
    """

    def swapped(layer: int, attention: Attention, looked_at: Tensor) -> Tensor:
        scores = other_scores(*attention.projected(looked_at), name)
        return scores if factors is None else scores * factors[layer].to(scores).view(-1, 1, 1)

    with _scored(model, swapped):
        return passage_losses(model, passages)


def uniform_losses(model: Transformer, passages: Tensor, *heads: tuple[int, int]) -> Tensor:
    """A decoder's loss on each passage, (B,), float64, if some heads give every key they see the
    same weight.

    Args:
        model: the decoder; it is left as it was.
        passages: (B, n + 1).
        heads: layer and head of each, from 0; all of them if none is named.
    """

    def uniform(layer: int, attention: Attention, looked_at: Tensor) -> Tensor:
        scores = attention.scores(looked_at)
        for head in range(attention.n_heads):
            if not heads or (layer, head) in heads:
                hidden = scores[:, head] == -torch.inf
                scores[:, head] = torch.zeros_like(scores[:, head]).masked_fill(hidden, -torch.inf)
        return scores

    with _scored(model, uniform):
        return passage_losses(model, passages)


def place_losses(model: Transformer, passages: Tensor, places: Sequence[Tensor]) -> Tensor:
    """A decoder's loss on each passage, (B,), float64, if scores follow from places alone.

    Args:
        model: the decoder; it is left as it was.
        passages: (B, n + 1).
        places: (H, n, n) a layer, as :func:`place_scores` gives them.
    """
    with _scored(model, lambda layer, _, x: places[layer].to(x).expand(len(x), -1, -1, -1)):
        return passage_losses(model, passages)


@torch.no_grad()
def place_scores(model: Transformer, passages: Tensor, at_a_time: int = 8) -> list[Tensor]:
    """For each layer the mean over passages of scores less their row's mean, (H, n, n), float64,
    -inf at hidden keys: what follows of the scores from the places of query and key.

    Args:
        model: the decoder.
        passages: (B, n + 1).
        at_a_time: how many are held in memory.
    """
    sums: list[Tensor] = []
    for first in range(0, len(passages), at_a_time):
        part = passages[first : first + at_a_time, :-1]
        for i, layer in enumerate(layers_of(model, part)):
            summed = _less_mean(layer.scores).sum(0)
            hidden = layer.scores[0] == -torch.inf
            if i == len(sums):
                sums.append(torch.zeros_like(summed).masked_fill(hidden, -torch.inf))
            sums[i] += summed / len(passages)
    return sums


@contextmanager
def _scored(
    model: Transformer, scores: Callable[[int, Attention, Tensor], Tensor]
) -> Iterator[None]:
    """Within it, each layer's scores are what a function makes of what its attention looks at."""

    def give(layer: int) -> Any:
        def hook(attention: Attention, inputs: tuple[Tensor], _output: Tensor) -> Tensor:
            return attention.attend(inputs[0], scores(layer, attention, inputs[0]))

        return hook

    hooks = [
        block.attention.register_forward_hook(give(layer))
        for layer, block in enumerate(model.blocks)
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _less_mean(scores: Tensor) -> Tensor:
    """Scores less their row's mean over the keys seen, in float64; 0 at hidden keys."""
    visible = scores > -torch.inf
    known = scores.double().masked_fill(~visible, 0.0)
    return (known - known.sum(-1, keepdim=True) / visible.sum(-1, keepdim=True)) * visible
