r"""A small Transformer, multi-head, in which nothing but the scaling of the scores changes.

The key dimension d_k is set by itself: a wider d_k widens the queries and keys and nothing else.
Every matrix starts with entries of variance 1/(inputs), so that normalised inputs give queries and
keys of unit variance, the assumption of chapter 3, or as another of ``STARTS`` has it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sdpa_book.calculations.initialisation import STARTS
from sdpa_lib._checks import check_count, check_number, unknown_name
from sdpa_lib.attention import attention_scores, scaled_dot_product_attention
from sdpa_lib.rescaling import RESCALINGS, PowerOfDk, Rescaling, get_rescaling
from sdpa_lib.sampling import standard_normal

SCALINGS: dict[str, str] = {name: rescaling.formula for name, rescaling in RESCALINGS.items()} | {
    "learned": r"\sqrt{d_k}/e^{s}",
    "log_n": r"\sqrt{d_k}/(e^{s}\ln n)",
    "qk_norm": r"\|q\|\,\|k\|/e^{s}",
    "t5_start": r"1,\ W_Q \text{ starts } \sqrt{d_k} \text{ times smaller}",
    "general": r"1,\ \text{scores } x^\top W y",
    "additive": r"1,\ \text{scores } v^\top\tanh(W_Q x + W_K y)",
}
"""How a model's scores are made, with the formula of what they are divided by: every rescaling,
four ways that hold parameters or start elsewhere, and two rivals of the dot product of queries and
keys.

``learned``, ``log_n`` and ``qk_norm`` have one learned s a head, which starts where the scores have
unit variance. ``general`` is the score with one full matrix a head of :cite:t:`luong2015`, and
``additive`` that of :cite:t:`bahdanau2015`; both start with scores of about unit variance, too.
Besides these, ``"sigma 4"`` divides by a constant that starts the scores at a standard deviation
of 4.
"""

NORMS = ("pre", "post")
"""Where a model's normalisations stand, as :class:`Transformer` says."""

BRANCHES = {"1": 0.0, "1/sqrt(L)": -0.5}
"""What the outputs of attention and perceptron are multiplied by before they are added, as a power
of the number L of a model's blocks.
"""


def check_scaling(scaling: str) -> Rescaling | None:
    """The rescaling that a scaling's name means, or ``None`` where it is one of the model's own.

    Raises:
        ValueError: there is no such scaling.

    Example:
        >>> check_scaling("sigma 4").constant(64)
        2.0
    """
    if scaling.startswith("sigma "):
        try:
            std = check_number("sigma", float(scaling.removeprefix("sigma ")), above=0.0)
        except ValueError:
            raise ValueError(
                f"scaling must have a number greater than 0 after 'sigma', got {scaling!r}"
            ) from None
        return PowerOfDk(0.5, factor=1 / std)
    if scaling not in SCALINGS:
        raise unknown_name("scaling", scaling, SCALINGS)
    return RESCALINGS.get(scaling)


def draw(*shape: int) -> Tensor:
    """Normal numbers to start parameters from, the same on every processor.

    They come from PyTorch's global generator, which ``make_model`` seeds.
    """
    return standard_normal(shape, torch.default_generator)


def turned(x: Tensor) -> Tensor:
    """Queries or keys, (..., n, d_k), turned by their places, as :cite:t:`su2021` do it: of a pair
    of components the angle is the place times 10,000^(-2i/d_k). Pair i are the components i and
    i + d_k/2, as in the code of Llama.

    Example:
        >>> turned(torch.ones(2, 2))  # by no angle, and by 1
        tensor([[ 1.0000,  1.0000],
                [-0.3012,  1.3818]])
    """
    n, d_k = x.shape[-2:]
    speeds = 10_000.0 ** (-torch.arange(0, d_k, 2, device=x.device) / d_k)
    angles = torch.arange(n, device=x.device).unsqueeze(-1) * speeds  # (n, d_k / 2)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, first * sin + second * cos), dim=-1)


class Attention(nn.Module):
    """Multi-head self-attention with values of d_model / n_heads components.

    Attributes:
        rescaling: what the dot products of queries and keys are divided by.
        is_causal: token i sees tokens 0 ... i.
        rotary: queries and keys are turned by their places.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_k: int,
        scaling: str,
        n_tokens: int,
        is_causal: bool = False,
        rotary: bool = False,
    ) -> None:
        super().__init__()
        if is_causal and scaling == "additive":
            raise ValueError("scaling 'additive' must not be causal: it has no dot products")
        if rotary and (scaling in ("general", "additive") or d_k % 2):
            raise ValueError(
                f"rotary must turn pairs of components of queries and keys whose products are "
                f"taken, got scaling {scaling!r} and d_k = {d_k}"
            )
        self.n_heads, self.scaling, self.is_causal = n_heads, scaling, is_causal
        self.rotary = rotary
        width = d_model if scaling == "general" else d_k
        self.query = nn.Linear(d_model, n_heads * width, bias=False)
        self.key = (
            nn.Identity() if scaling == "general" else nn.Linear(d_model, n_heads * d_k, bias=False)
        )
        self.value = nn.Linear(d_model, d_model, bias=False)
        self.output = nn.Linear(d_model, d_model, bias=False)
        self.rescaling = check_scaling(scaling) or get_rescaling(
            "sqrt_d_k" if scaling in ("learned", "log_n") else "none"
        )
        start = {
            "learned": 0.0,
            "log_n": -math.log(math.log(n_tokens)),
            "qk_norm": math.log(d_k) / 2,
        }.get(scaling)
        self.log_scale = None if start is None else nn.Parameter(torch.full((n_heads, 1, 1), start))
        if scaling == "additive":
            self.direction = nn.Parameter(draw(n_heads, d_k) / d_k**0.5)

    def forward(self, x: Tensor) -> Tensor:  # (B, n, d_model)
        value = self._heads(self.value(x))  # (B, heads, n, d_model / heads)
        if self.scaling == "additive":
            return self._output(torch.softmax(self.scores(x), dim=-1) @ value)
        query, key = self.query_and_key(x)
        return self._output(
            scaled_dot_product_attention(
                query, key, value, is_causal=self.is_causal, rescaling=self.rescaling
            )
        )

    def attend(self, x: Tensor, scores: Tensor) -> Tensor:
        """The output for any scores, (B, heads, n, n), that go into softmax."""
        return self._output(torch.softmax(scores, dim=-1) @ self._heads(self.value(x)))

    def unturned(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The queries and keys as W_Q and W_K give them, (B, heads, n, d_k)."""
        query, key = self._heads(self.query(x)), self.key(x)
        if self.scaling == "general":
            return query, key.unsqueeze(1).expand_as(query)  # one full matrix a head, and x itself
        return query, self._heads(key)

    def projected(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """These, turned by their places if ``rotary``."""
        query, key = self.unturned(x)
        return (turned(query), turned(key)) if self.rotary else (query, key)

    def query_and_key(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Queries and keys, (B, heads, n, d_k), whose products are divided."""
        query, key = self.projected(x)
        if self.log_scale is None:
            return query, key
        if self.scaling == "qk_norm":
            query, key = F.normalize(query, dim=-1), F.normalize(key, dim=-1)
        factor = self._log_n(query) if self.scaling == "log_n" else 1.0
        return factor * self.log_scale.exp() * query, key

    def scores(self, x: Tensor) -> Tensor:
        """What goes into softmax, (B, heads, n, n)."""
        query, key = self.query_and_key(x)
        if self.scaling == "additive":  # (B, heads, n, 1, d_k) + (B, heads, 1, n, d_k)
            return torch.einsum(
                "bhijd,hd->bhij",
                torch.tanh(query.unsqueeze(-2) + key.unsqueeze(-3)),
                self.direction,
            )
        return attention_scores(query, key, is_causal=self.is_causal, rescaling=self.rescaling)

    def _output(self, blended: Tensor) -> Tensor:
        output: Tensor = self.output(blended.transpose(1, 2).flatten(2))
        return output

    def _log_n(self, query: Tensor) -> Tensor | float:
        """ln n for each query, n the keys it sees; a single one counts as two, as in LogCount."""
        n_tokens = query.shape[-2]
        if not self.is_causal:
            return math.log(n_tokens)
        seen = torch.arange(1, n_tokens + 1, device=query.device, dtype=query.dtype)
        return seen.clamp(min=2).log().unsqueeze(-1)  # (n, 1)

    def _heads(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:-1], self.n_heads, -1).transpose(
            1, 2
        )  # (B, n, heads * d) to (B, heads, n, d)


class Block(nn.Module):
    """Attention, then a two-layer perceptron, each added to what came in.

    ``norm`` is ``"pre"``, where each works on normalised inputs :cite:p:`xiong2020`, or ``"post"``,
    where the sum is normalised, as in :cite:t:`vaswani2017`. What either adds is multiplied by
    ``branch``.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_k: int,
        scaling: str,
        n_tokens: int,
        norm: str,
        is_causal: bool = False,
        rotary: bool = False,
        branch: float = 1.0,
    ) -> None:
        super().__init__()
        self.pre, self.branch = norm == "pre", branch
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attention = Attention(d_model, n_heads, d_k, scaling, n_tokens, is_causal, rotary)
        self.perceptron = nn.Sequential(
            nn.Linear(d_model, 4 * d_model), nn.GELU(), nn.Linear(4 * d_model, d_model)
        )

    def attended(self, x: Tensor) -> Tensor:
        """What the attention looks at, (B, n, d_model)."""
        looked_at: Tensor = self.norm_1(x) if self.pre else x
        return looked_at

    def forward(self, x: Tensor) -> Tensor:  # (B, n, d_model)
        x = x.add(self.attention(self.attended(x)), alpha=self.branch)
        if self.pre:
            output: Tensor = x.add(self.perceptron(self.norm_2(x)), alpha=self.branch)
        else:
            x = self.norm_1(x)
            output = self.norm_2(x.add(self.perceptron(x), alpha=self.branch))
        return output


class Transformer(nn.Module):
    """Blocks between an embedding of the task's tokens and a linear read-out.

    Args:
        embedding: a module from the task's inputs to (B, n, d_model).
        n_tokens: how many tokens n a training sequence has.
        n_classes: how many answers there are.
        d_model: at least 1, a multiple of ``n_heads``.
        n_heads, d_k, n_layers: at least 1.
        scaling: a name in ``SCALINGS``, or ``"sigma 4"`` and the like.
        norm: where the normalisations stand: ``"pre"``, before attention and perceptron and once
            at the end, or ``"post"``, after them and once at the start.
        is_causal: token i sees tokens 0 ... i.
        rotary: queries and keys are turned by their places.
        start: how the matrices of its linear layers start, a name in
            :data:`~sdpa_book.calculations.initialisation.STARTS`.
        branch: what the outputs of attention and perceptron are multiplied by.
    """

    blocks: Sequence[Block]

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
        norm: str = "pre",
        is_causal: bool = False,
        rotary: bool = False,
        start: str = "1/inputs",
        branch: float = 1.0,
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
        if norm not in NORMS:
            raise unknown_name("norm", norm, NORMS)
        check_scaling(scaling)
        self.embedding = embedding
        self.blocks = nn.ModuleList(
            Block(d_model, n_heads, d_k, scaling, n_tokens, norm, is_causal, rotary, branch)
            for _ in range(n_layers)
        )  # type: ignore[assignment]
        self.pre, self.norm = norm == "pre", nn.LayerNorm(d_model)
        self.read_out = nn.Linear(d_model, n_classes)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                variance = STARTS[start](module.in_features, module.out_features)
                module.weight.data = draw(*module.weight.shape) * variance**0.5
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        shrink = {"t5_start": d_k**-0.5, "general": d_model**-0.5}.get(scaling, 1.0)
        for block in self.blocks:
            block.attention.query.weight.data *= shrink

    def forward(self, *inputs: Tensor) -> Tensor:
        """Features of every token, (B, n, n_classes)."""
        x = self.embedded(*inputs)
        for block in self.blocks:
            x = block(x)
        features: Tensor = self.read_out(self.normalised(x))
        return features

    def embedded(self, *inputs: Tensor) -> Tensor:
        """What enters the first block, (B, n, d_model)."""
        x: Tensor = self.embedding(*inputs)
        return x if self.pre else self.norm(x)

    def normalised(self, x: Tensor) -> Tensor:
        """What the read-out reads of the last block's output, (B, n, d_model)."""
        return self.norm(x) if self.pre else x
