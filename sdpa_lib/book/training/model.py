r"""A small pre-norm Transformer, multi-head, in which nothing but the scaling of the scores
changes.

The key dimension d_k is set by itself: a wider d_k widens the queries and keys and nothing else.
Every matrix starts with entries of variance 1/(inputs), so that normalised inputs give queries and
keys of unit variance, the assumption of chapter 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sdpa_lib._checks import check_count, unknown_name
from sdpa_lib.attention import attention_scores, scaled_dot_product_attention
from sdpa_lib.rescaling import RESCALINGS
from sdpa_lib.sampling import standard_normal

SCALINGS: dict[str, str] = {name: rescaling.formula for name, rescaling in RESCALINGS.items()} | {
    "learned": r"\sqrt{d_k}/e^{s}",
    "log_n": r"\sqrt{d_k}/(e^{s}\ln n)",
    "qk_norm": r"\|q\|\,\|k\|/e^{s}",
    "t5_start": r"1,\ W_Q \text{ starts } \sqrt{d_k} \text{ times smaller}",
}
"""What a model's scores may be divided by: every rescaling, and four ways that hold parameters or
start elsewhere, with formulas.

``learned``, ``log_n`` and ``qk_norm`` have one learned s a head, which starts where the scores have
unit variance.
"""


def draw(*shape: int) -> Tensor:
    """Normal numbers to start parameters from, the same on every processor.

    They come from PyTorch's global generator, which ``make_model`` seeds.
    """
    return standard_normal(shape, torch.default_generator)


class Attention(nn.Module):
    """Multi-head self-attention with values of d_model / n_heads components."""

    def __init__(self, d_model: int, n_heads: int, d_k: int, scaling: str, n_tokens: int) -> None:
        super().__init__()
        self.n_heads, self.scaling = n_heads, scaling
        self.query = nn.Linear(d_model, n_heads * d_k, bias=False)
        self.key = nn.Linear(d_model, n_heads * d_k, bias=False)
        self.value = nn.Linear(d_model, d_model, bias=False)
        self.output = nn.Linear(d_model, d_model, bias=False)
        start = {
            "learned": 0.0,
            "log_n": -math.log(math.log(n_tokens)),
            "qk_norm": math.log(d_k) / 2,
        }.get(scaling)
        self.log_scale = None if start is None else nn.Parameter(torch.full((n_heads, 1, 1), start))

    def forward(self, x: Tensor) -> Tensor:  # (B, n, d_model)
        query, key, rescaling = self.query_and_key(x)
        value = self._heads(self.value(x))  # (B, heads, n, d_model / heads)
        blended = scaled_dot_product_attention(query, key, value, rescaling=rescaling)
        assert isinstance(blended, Tensor)  # no weights were asked for
        output: Tensor = self.output(blended.transpose(1, 2).flatten(2))
        return output

    def query_and_key(self, x: Tensor) -> tuple[Tensor, Tensor, str]:
        """The queries and keys, (B, heads, n, d_k), and the rescaling that completes their
        scores.
        """
        query, key = self._heads(self.query(x)), self._heads(self.key(x))
        if self.log_scale is None:
            return query, key, "none" if self.scaling == "t5_start" else self.scaling
        if self.scaling == "qk_norm":
            return (
                self.log_scale.exp() * F.normalize(query, dim=-1),
                F.normalize(key, dim=-1),
                "none",
            )
        factor = math.log(x.shape[1]) if self.scaling == "log_n" else 1.0
        return factor * self.log_scale.exp() * query, key, "sqrt_d_k"

    def scores(self, x: Tensor) -> Tensor:
        """What goes into softmax, (B, heads, n, n)."""
        query, key, rescaling = self.query_and_key(x)
        return attention_scores(query, key, rescaling=rescaling)

    def _heads(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:-1], self.n_heads, -1).transpose(
            1, 2
        )  # (B, n, heads * d) to (B, heads, n, d)


class Block(nn.Module):
    """Attention, then a two-layer perceptron, each on normalised inputs and added to what came
    in.
    """

    def __init__(self, d_model: int, n_heads: int, d_k: int, scaling: str, n_tokens: int) -> None:
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attention = Attention(d_model, n_heads, d_k, scaling, n_tokens)
        self.perceptron = nn.Sequential(
            nn.Linear(d_model, 4 * d_model), nn.GELU(), nn.Linear(4 * d_model, d_model)
        )

    def forward(self, x: Tensor) -> Tensor:  # (B, n, d_model)
        x = x + self.attention(self.norm_1(x))
        output: Tensor = x + self.perceptron(self.norm_2(x))
        return output


class Transformer(nn.Module):
    """Blocks between an embedding of the task's tokens and a linear read-out.

    Args:
        embedding: a module from the task's inputs to (B, n, d_model).
        n_tokens: how many tokens n a training sequence has.
        n_classes: how many answers there are.
        d_model, n_heads, d_k, n_layers: at least 1; n_heads divides d_model.
        scaling: a name in ``SCALINGS``.
    """

    blocks: Iterable[Block]

    def __init__(
        self,
        embedding: nn.Module,
        n_tokens: int,
        n_classes: int,
        *,
        d_model: int = 32,
        n_heads: int = 2,
        d_k: int = 64,
        n_layers: int = 2,
        scaling: str = "sqrt_d_k",
    ) -> None:
        super().__init__()
        for name, count in {
            "d_model": d_model,
            "n_heads": n_heads,
            "d_k": d_k,
            "n_layers": n_layers,
        }.items():
            check_count(name, count)
        if d_model % n_heads:
            raise ValueError(f"n_heads must divide d_model = {d_model}, got {n_heads}")
        if scaling not in SCALINGS:
            raise unknown_name("scaling", scaling, SCALINGS)
        self.embedding = embedding
        self.blocks = nn.ModuleList(
            Block(d_model, n_heads, d_k, scaling, n_tokens) for _ in range(n_layers)
        )  # type: ignore[assignment]
        self.norm = nn.LayerNorm(d_model)
        self.read_out = nn.Linear(d_model, n_classes)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                module.weight.data = draw(*module.weight.shape) * module.in_features**-0.5
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        if scaling == "t5_start":
            for block in self.blocks:
                block.attention.query.weight.data /= math.sqrt(d_k)

    def forward(self, *inputs: Tensor) -> Tensor:
        """Features of every token, (B, n, n_classes)."""
        x = self.embedding(*inputs)
        for block in self.blocks:
            x = block(x)
        features: Tensor = self.read_out(self.norm(x))
        return features
