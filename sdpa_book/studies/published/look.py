"""Into a model of Hugging Face Transformers: the queries, keys and scores of each layer, and other
scores in their place.

A model computes its attention through :mod:`sdpa_lib.transformers`, with its own scaling, and each
layer is looked at on the way: its queries and keys as they are multiplied, so after the norms and
rotations that the model has, and with keys that several query heads share given to each. What that
module refuses, such as capped scores, is refused here.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sdpa_book.studies.heads.look import other_scores
from sdpa_book.studies.heads.measure import (
    LEAST,
    STRIDE,
    effective_rank,
    head_figures,
    position_part,
    unturned_figures,
)
from sdpa_book.studies.published.plan import DIVIDED
from sdpa_book.writing.measured import mean_and_error
from sdpa_lib.attention import attention_scores
from sdpa_lib.transformers import PREFIX, attention_function, register

Figures = dict[str, Tensor]
"""By name a number for each layer and head."""

See = Callable[[int, Tensor, Tensor, Tensor], Tensor | None]
"""Is given the number of a layer, its queries and keys (B, H, n, d_k) and its scores (B, H, n, n),
-inf at hidden keys; may give other scores.
"""

OF_PASSAGES = (
    "sigma",
    "ratio",
    "squares",
    "squares_normal",
    "first_weight",
    "rest_sigma",
    "rest_squares",
    "rest_squares_normal",
)
"""The figures that have an error from passage to passage."""


@contextmanager
def attending(model: Any, see: See) -> Iterator[None]:
    """Within it ``see`` is called for each layer that the model computes, and the scores that it
    gives are those that softmax gets; where it gives ``None``, the model's own.
    """
    transformers = _transformers()
    register()
    own = attention_function(None)
    numbers: dict[nn.Module, int] = {}

    def attention(
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        scaling: float | None = None,
        **others: Any,
    ) -> tuple[Tensor, Tensor | None]:
        groups = query.shape[1] // key.shape[1]
        key, value = (x.repeat_interleave(groups, dim=1) for x in (key, value))
        causal = attention_mask is None and getattr(module, "is_causal", True)
        scores = attention_scores(query, key, attention_mask, causal, scale=scaling)
        other = see(numbers.setdefault(module, len(numbers)), query, key, scores)
        if other is None:
            return own(module, query, key, value, attention_mask, scaling=scaling, **others)
        return (other.softmax(-1).to(value) @ value).transpose(1, 2).contiguous(), None

    name, before = f"{PREFIX}:looked_at", model.config._attn_implementation
    transformers.AttentionInterface.register(name, attention)
    mask = transformers.AttentionMaskInterface()[PREFIX]
    transformers.AttentionMaskInterface.register(name, mask)
    model.set_attn_implementation(name)
    try:
        yield
    finally:
        model.set_attn_implementation(before)
    if not numbers:
        raise ValueError(
            f"model must use Transformers' attention interface, got {type(model).__name__}, which "
            f"does not, or has read nothing"
        )


@torch.no_grad()
def token_figures(model: Any, tokens: Tensor) -> tuple[Figures, Figures]:
    """The figures of a model's heads on a text.

    They are those of :data:`~sdpa_book.studies.heads.measure.FIGURES`, and of the variance within
    rows ``position``, of :func:`~sdpa_book.studies.heads.measure.position_part`, and ``key``, of
    :func:`key_part`; both stand with ``rest_`` before their name without the first key. Of a model
    that turns queries and keys by places those of
    :func:`~sdpa_book.studies.heads.measure.unturned_figures` follow, and ``unturned_query_rank``
    and ``unturned_key_rank``.

    Args:
        model: of Transformers; it is left as it was.
        tokens: (B, n) token numbers, B at least 2 and n at least 8, without padding.

    Returns:
        By name (layers, heads), float64: the figures, and the standard errors of ``OF_PASSAGES``.

    Raises:
        ImportError: Transformers is not installed.
        ValueError: passages are too few or too short, or the model does what no rescaling can
            express.
    """
    if tokens.shape[0] < 2 or tokens.shape[1] < 8:
        raise ValueError(
            f"tokens must be (B, n) with B at least 2 and n at least 8, got {tuple(tokens.shape)}"
        )
    layers: list[dict[str, Tensor]] = []
    errors: list[dict[str, Tensor]] = []

    def see(_: int, query: Tensor, key: Tensor, scores: Tensor) -> None:
        least = min(LEAST, tokens.shape[1] // 2) if _hides(scores) else 2
        figures = head_figures(query, key, scores, least=least)
        passages = [
            head_figures(*one, least=least)
            for one in zip(*(x.unsqueeze(1) for x in (query, key, scores)), strict=True)
        ]
        rest = scores.index_fill(-1, torch.tensor(0, device=scores.device), -torch.inf)
        for name, x in (("", scores), ("rest_", rest)):
            figures[f"{name}position"] = position_part(x, least=least)
            figures[f"{name}key"] = key_part(x, least=least)
        if unturned := projected.pop("both", None):
            heads = query.shape[1]
            q, k = (_by_heads(x, heads, query.shape[-1]) for x in unturned)
            figures |= unturned_figures(q, k)
            figures |= {f"unturned_{x}_rank": _rank(y) for x, y in (("query", q), ("key", k))}
        layers.append(figures)
        of_each = {name: torch.stack([x[name] for x in passages]) for name in OF_PASSAGES}
        errors.append(
            {
                name: torch.tensor([mean_and_error(x).error for x in values.unbind(1)])
                for name, values in of_each.items()
            }
        )

    with _projected(model) as projected, attending(model, see):
        model.base_model(tokens.to(model.device))
    return _stacked(layers), _stacked(errors)


def key_part(scores: Tensor, *, least: int = LEAST, stride: int = STRIDE) -> Tensor:
    """The part of the variance within rows that is the same whichever query looks, and so follows
    from the key alone: the mean product of a key's scores with two different queries, each less its
    row's mean, over their mean square.

    Args:
        scores: (B, H, n, n), -inf at hidden keys.
        least, stride: as in :func:`~sdpa_book.studies.heads.measure.head_figures`.

    Returns:
        (H,), float64: 1 if queries change nothing, 0 if keys are not alike to any two of them.

    Example:
        >>> scores = torch.arange(16.0).expand(1, 1, 16, 16)
        >>> f"{key_part(scores, least=2).item():.4f}"
        '1.0000'
    """
    rows = torch.arange(least - 1, scores.shape[-2], stride, device=scores.device)
    scores = scores[:, :, rows].double()
    visible = scores > -torch.inf
    known = scores.masked_fill(~visible, 0.0)
    mean = known.sum(-1, keepdim=True) / visible.sum(-1, keepdim=True)
    centred = (known - mean) * visible
    squares = centred.square().sum(-2)  # (B, H, n)
    pairs = (centred.sum(-2).square() - squares) / (visible.sum(-2) - 1).clamp(min=1)
    seen_twice = visible.sum(-2) > 1
    return (pairs * seen_twice).sum((0, 2)) / (squares * seen_twice).sum((0, 2))


def swapped_scores(query: Tensor, key: Tensor, scores: Tensor, name: str) -> Tensor:
    """A layer's scores with another divisor.

    Args:
        query, key: (B, H, n, d_k).
        scores: (B, H, n, n), the model's own, -inf at hidden keys.
        name: in :data:`~sdpa_book.studies.heads.look.SWAPS` or ``DIVIDED``, or ``"uniform"``.

    Returns:
        (B, H, n, n).

    Example:
        >>> query, key = torch.ones(1, 1, 2, 4), torch.ones(1, 1, 2, 4)
        >>> swapped_scores(query, key, query @ key.mT / 2, "twice")[0, 0, 0].tolist()
        [1.0, 1.0]
    """
    if name == "uniform":
        return torch.zeros_like(scores).masked_fill(scores == -torch.inf, -torch.inf)
    if name in DIVIDED:
        return scores / DIVIDED[name]
    return other_scores(query, key, name, is_causal=_hides(scores))


@torch.no_grad()
def factors(model: Any, tokens: Tensor, name: str) -> list[Tensor]:
    """For each layer and passage what scores with another divisor are multiplied by to come nearest
    to the model's own on *the other half of the passages*: those of odd number for one of even
    number, and the other way round.

    Args:
        model: of Transformers.
        tokens: (B, n), B at least 2.
        name: as in :func:`swapped_scores`.

    Returns:
        (B, H) a layer, float64.
    """
    of_layers: list[Tensor] = []

    def see(_: int, query: Tensor, key: Tensor, scores: Tensor) -> None:
        own, other = (_less_mean(x) for x in (scores, swapped_scores(query, key, scores, name)))
        both, square = (own * other).sum((-2, -1)), other.square().sum((-2, -1))  # (B, H)
        of_halves = [both[i::2].sum(0) / square[i::2].sum(0) for i in range(2)]
        of_layers.append(torch.stack([of_halves[1 - i % 2] for i in range(len(tokens))]))

    with attending(model, see):
        model.base_model(tokens.to(model.device))
    return of_layers


@torch.no_grad()
def outcomes(
    model: Any, tokens: Tensor, name: str | None = None, by: list[Tensor] | None = None
) -> Tensor:
    """What a model makes of each passage, with its own divisor or another.

    Args:
        model: causal, with a head for the next token, or an encoder.
        tokens: (B, n).
        name: as in :func:`swapped_scores`; None leaves the model's own scores.
        by: what the scores are multiplied by, as :func:`factors` gives it.

    Returns:
        The loss in nats a token, (B,), float64; of an encoder the embedding, the mean of the last
        hidden states, at length 1, (B, d_model).
    """
    results = []

    def see(layer: int, query: Tensor, key: Tensor, scores: Tensor) -> Tensor:
        other = scores if name is None else swapped_scores(query, key, scores, name)
        if by is None:
            return other
        return other * by[layer][row : row + 1, :, None, None].to(other)

    with attending(model, see):
        for row in range(len(tokens)):
            passage = tokens[row : row + 1].to(model.device)
            output = model(passage)
            if "logits" in output:
                loss = F.cross_entropy(output["logits"][0, :-1].double(), passage[0, 1:])
                results.append(loss)
            else:
                states = output["last_hidden_state"][0].double()
                results.append(F.normalize(states.mean(0), dim=-1))
    return torch.stack(results)


def _hides(scores: Tensor) -> bool:
    return bool((scores == -torch.inf).any())


def _less_mean(scores: Tensor) -> Tensor:
    """Scores less their row's mean over the keys seen, in float64; 0 at hidden keys."""
    visible = scores > -torch.inf
    known = scores.double().masked_fill(~visible, 0.0)
    return (known - known.sum(-1, keepdim=True) / visible.sum(-1, keepdim=True)) * visible


def _rank(vectors: Tensor) -> Tensor:
    """The effective rank of the covariance of (B, H, n, d_k), (H,)."""
    x = vectors.double().transpose(0, 1).flatten(1, 2)
    x = x - x.mean(1, keepdim=True)
    return effective_rank(x.mT @ x / x.shape[1])


def _by_heads(projected: Tensor, heads: int, d_k: int) -> Tensor:
    """(B, n, H' d_k) as (B, H, n, d_k), with keys that several heads share given to each."""
    parts = projected.view(*projected.shape[:2], -1, d_k).transpose(1, 2)
    return parts.repeat_interleave(heads // parts.shape[1], dim=1)


@contextmanager
def _projected(model: Any) -> Iterator[dict[str, list[Tensor]]]:
    """Within it, what the last ``q_proj`` and ``k_proj`` that were computed gave, if the model
    turns that.
    """
    last: dict[str, list[Tensor]] = {}
    turns = getattr(model.config, "rope_parameters", None) is not None
    layers = [m for m in model.modules() if turns and hasattr(m, "q_proj") and hasattr(m, "k_proj")]

    def keep(_module: nn.Module, _inputs: Any, output: Tensor) -> None:
        last["both"] = [*last.get("both", []), output]

    hooks = [p.register_forward_hook(keep) for m in layers for p in (m.q_proj, m.k_proj)]
    try:
        yield last
    finally:
        for hook in hooks:
            hook.remove()


def _stacked(layers: list[dict[str, Tensor]]) -> Figures:
    return {name: torch.stack([layer[name].double() for layer in layers]) for name in layers[0]}


def _transformers() -> Any:
    try:
        return importlib.import_module("transformers")
    except ImportError as error:
        raise ImportError(
            "sdpa_book.studies.published needs Hugging Face Transformers: pip install transformers"
        ) from error
