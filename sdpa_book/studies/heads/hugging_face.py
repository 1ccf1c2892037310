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
from sdpa_lib._checks import check_count
from sdpa_lib.attention import attention_scores
from sdpa_lib.transformers import PREFIX, attention_function, register

SHOWN = (
    "row_std",
    "sigma",
    "ratio",
    "key_shared",
    "kurtosis",
    "tail_normal",
    "largest",
    "perplexity",
    "squares",
    "squares_normal",
    "first_weight",
    "query_gradient",
)
"""The columns of the table; all figures are in JSON."""


class Looked(list[tuple[Tensor, Tensor, Tensor]]):
    """Query, key and scores of each layer that has been computed."""


def load(name: str) -> tuple[Any, Any]:
    """A causal model and its tokeniser, by name or path.

    Raises:
        ImportError: Transformers is not installed.
    """
    transformers = _transformers()
    model = transformers.AutoModelForCausalLM.from_pretrained(name)
    return model.eval(), transformers.AutoTokenizer.from_pretrained(name)


def measure(
    model: Any, tokenizer: Any, text: str, *, length: int = 256, passages: int = 8
) -> Figures:
    """The figures of a model's heads on a text.

    Args:
        model: a causal model of Transformers; it is left as it was.
        tokenizer: its tokeniser.
        text: what it reads.
        length: tokens a passage, at least 8.
        passages: how many, at least 2, spread evenly over the text.

    Returns:
        As :func:`~sdpa_book.studies.heads.look.model_figures`, without ``weight_rank``.

    Raises:
        ImportError: Transformers is not installed.
        ValueError: the text is too short, or the model does what no rescaling can express.
    """
    tokens = torch.tensor(tokenizer(text, add_special_tokens=False)["input_ids"])
    return token_figures(model, cut(tokens, length, passages))


def cut(tokens: Tensor, length: int, passages: int) -> Tensor:
    """Passages that do not overlap, spread evenly over a text.

    Returns:
        (passages, length).

    Example:
        >>> cut(torch.arange(10), 2, 2)
        tensor([[0, 1],
                [4, 5]])
    """
    check_count("passages", passages)
    whole = tokens[: len(tokens) // check_count("length", length) * length].view(-1, length)
    if len(whole) < passages:
        raise ValueError(
            f"text must have at least passages * length = {passages * length} tokens, got "
            f"{len(tokens)}"
        )
    return whole[[i * len(whole) // passages for i in range(passages)]]


def token_figures(model: Any, tokens: Tensor) -> Figures:
    """The figures of a model's heads on passages (B, n) of token numbers, B at least 2."""
    if tokens.shape[1] < 8:
        raise ValueError(f"length must be at least 8, got {tokens.shape[1]}")
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


def shown(figures: Figures) -> str:
    """A table with a line for each head.

    Example:
        >>> print(shown({"sigma": [[1.0, 2.5]], "perplexity": [[40.0, 7.25]]}))
        layer head sigma perplexity
            0    0 1.000      40.00
            0    1 2.500      7.250
    """
    columns = [name for name in SHOWN if name in figures]
    lines = [["layer", "head", *columns]]
    layers = figures[columns[0]]
    for layer, heads in enumerate(layers):
        for head in range(len(heads)):
            row = [f"{figures[name][layer][head]:#.4g}" for name in columns]
            lines.append([str(layer), str(head), *row])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        " ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )


def _transformers() -> Any:
    try:
        return importlib.import_module("transformers")
    except ImportError as error:
        raise ImportError(
            "sdpa_book.studies.heads needs Hugging Face Transformers for --model: pip install "
            "transformers"
        ) from error
