"""The same figures for the heads of any causal model of Hugging Face Transformers.

A model computes its attention through :mod:`sdpa_lib.transformers`, with its own scaling, and each
layer's queries and keys are looked at on the way: as they are multiplied, so after the norms and
rotations that the model has, and with keys that several query heads share given to each. What that
module refuses, such as capped scores, is refused here.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from sdpa_book.studies.heads.look import Figures, length_figures
from sdpa_book.studies.heads.measure import LEAST, head_figures, position_part
from sdpa_lib.attention import attention_scores
from sdpa_lib.transformers import PREFIX, attention_function, register


class Looked(list[tuple[Tensor, Tensor, Tensor]]):
    """Query, key and scores of each layer that has been computed."""


def token_figures(model: Any, tokens: Tensor) -> Figures:
    """The figures of a model's heads on a text.

    Args:
        model: a causal model of Transformers; it is left as it was.
        tokens: (B, n) token numbers, B at least 2 and n at least 8.

    Returns:
        As :func:`~sdpa_book.studies.heads.look.model_figures`, without ``weight_rank``.

    Raises:
        ImportError: Transformers is not installed.
        ValueError: passages are too short, or the model does what no rescaling can express.
    """
    if tokens.shape[1] < 8:
        raise ValueError(f"tokens must be (B, n) with n at least 8, got {tuple(tokens.shape)}")
    figures: Figures = {}
    with looking(model) as layers, torch.enable_grad():
        tokens = tokens.to(model.device)
        loss = model(tokens, labels=tokens, use_cache=False).loss * (tokens.numel() - len(tokens))
        loss.backward()
        model.zero_grad()
    if not layers:
        raise ValueError(
            f"model must use Transformers' attention interface, got {type(model).__name__}, which "
            f"does not"
        )
    for query, key, scores in layers:
        least = min(LEAST, tokens.shape[1] // 2)
        of_layer = head_figures(query.detach(), key.detach(), scores, least=least)
        of_layer["position"] = position_part(scores, least=least)
        for name, vectors in (("query", query), ("key", key)):
            assert vectors.grad is not None
            of_layer |= {
                f"{name}_{summary}": values
                for summary, values in length_figures(vectors.grad.transpose(1, 2)).items()
            }
        for name, values in of_layer.items():
            figures.setdefault(name, []).append(values.tolist())
    return figures


@contextmanager
def looking(model: Any) -> Iterator[Looked]:
    """Within it, each layer that the model computes is looked at."""
    transformers = _transformers()
    register()
    own = attention_function(None)
    layers = Looked()

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
        for vectors in (query, key):
            vectors.retain_grad()
        with torch.no_grad():
            causal = attention_mask is None and getattr(module, "is_causal", True)
            scores = attention_scores(query, key, attention_mask, causal, scale=scaling)
        layers.append((query, key, scores))
        return own(module, query, key, value, attention_mask, scaling=scaling, **others)

    name, before = f"{PREFIX}:looked_at", model.config._attn_implementation
    transformers.AttentionInterface.register(name, attention)
    mask = transformers.AttentionMaskInterface()[PREFIX]
    transformers.AttentionMaskInterface.register(name, mask)
    model.set_attn_implementation(name)
    try:
        yield layers
    finally:
        model.set_attn_implementation(before)


def _transformers() -> Any:
    try:
        return importlib.import_module("transformers")
    except ImportError as error:
        raise ImportError(
            "sdpa_book.studies.heads.hugging_face needs Hugging Face Transformers: pip install "
            "transformers"
        ) from error
