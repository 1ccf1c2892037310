r"""What published models do to their dot products before softmax, from their code.

Each entry of ``MODELS`` turns queries and keys of unit variance, as a fresh layer gives them, into
that model's scores. Most divide by a rescaling; some change the queries and keys first, or bend the
scores after. Learned numbers stand where they start, but for Scalable-Softmax's s, which stands at
0.43, an illustration in the paper's first figure.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from sdpa_lib.attention import attention_scores
from sdpa_lib.rescaling import MODEL_RESCALINGS, Function, PowerOfDk, Rescaling
from sdpa_lib.visibility import Visible

SQRT_D_K = PowerOfDk(0.5)


def _unchanged(x: Tensor) -> Tensor:
    return x


def _unit_length(x: Tensor) -> Tensor:
    return F.normalize(x, dim=-1)


def _rms_norm(x: Tensor) -> Tensor:
    """To components of mean square 1, so to the length sqrt(d_k)."""
    return F.rms_norm(x, x.shape[-1:])


@dataclass(frozen=True)
class Model:
    """How a model, or a family that does the same, makes its scores.

    Attributes:
        formula: in LaTeX, without dollar signs.
        rescaling: what the dot products are divided by.
        query: what is done to the queries before.
        key: what is done to the keys before.
        after: what is done to the scores after.
        d_k: the dimension of a head: 128, as most large models have it, or, where the entry is one
            model's, its own.
    """

    formula: str
    rescaling: Rescaling = SQRT_D_K
    query: Callable[[Tensor], Tensor] = _unchanged
    key: Callable[[Tensor], Tensor] = _unchanged
    after: Callable[[Tensor], Tensor] = _unchanged
    d_k: int = 128

    def scores(self, query: Tensor, key: Tensor, is_causal: bool = False) -> Tensor:
        """The scores that go into softmax.

        Args:
            query: (..., L, d_k), of unit variance a component.
            key: (..., S, d_k), likewise.
            is_causal: query i sees keys 0 ... i.

        Returns:
            (..., L, S), at least float32; -inf at hidden keys.

        Example:
            >>> # Ten times the cosine:
            >>> MODELS["Swin v2"].scores(torch.ones(1, 4), torch.ones(2, 4))
            tensor([[10., 10.]])
        """
        return self.after(
            attention_scores(
                self.query(query), self.key(key), is_causal=is_causal, rescaling=self.rescaling
            )
        )


def _cap(limit: float) -> Callable[[Tensor], Tensor]:
    return lambda z: limit * torch.tanh(z / limit)


def _mistral_4(key: Tensor, visible: Visible) -> Tensor:
    """YaRN's for 128 times the context, with Llama 4's stairs, which begin one key later here."""
    stairs = 1.0 + 0.1 * ((visible.count(key) - 1) / 8192).floor().log1p()
    return math.sqrt(key.shape[-1]) / ((0.1 * math.log(128) + 1) ** 2 * stairs)


def _inkling_2(key: Tensor, visible: Visible) -> Tensor:
    growth = (visible.count(key) / 128_000).clamp(min=1.0).log()
    return math.sqrt(key.shape[-1]) / (1.0 + 0.1 * growth)


def _normalised(formula: str, rescaling: Rescaling, d_k: int = 128) -> Model:
    return Model(formula, rescaling, _rms_norm, _rms_norm, d_k=d_k)


def _cosine(formula: str, times: Rescaling, d_k: int = 128) -> Model:
    return Model(formula, times, _unit_length, _unit_length, d_k=d_k)


MODELS: dict[str, Model] = {
    "GPT-2, BERT, Llama": Model(r"q \cdot k / \sqrt{d}"),
    "GPT-2, option, layer 12": Model(r"q \cdot k / (12\sqrt{d})", PowerOfDk(0.5, factor=12.0)),
    "DeBERTa, content term": Model(r"q \cdot k / \sqrt{3d}", MODEL_RESCALINGS["deberta"]),
    "Gemma 2 27B": Model(
        r"50 \tanh(q \cdot k / (50 \cdot 12))",
        MODEL_RESCALINGS["gemma_2_27b"],
        after=_cap(50.0),
    ),
    "Grok-1": Model(r"30 \tanh(q \cdot k / (30 \sqrt{d}))", after=_cap(30.0)),
    "muP": Model(r"8\, q \cdot k / d", MODEL_RESCALINGS["mup"]),
    "Granite, Cerebras-GPT (muP)": Model(r"q \cdot k / d", PowerOfDk(1.0)),
    "T5, GPT-Neo": Model(
        r"q \cdot k,\ W_Q \text{ starts } \sqrt{d} \text{ times smaller}",
        PowerOfDk(0.0),
        query=lambda q: q / math.sqrt(q.shape[-1]),
    ),
    "Falcon-H1 0.5B": Model(
        r"0.39\, q \cdot k / \sqrt{d}", PowerOfDk(0.5, factor=1 / 0.390625), d_k=64
    ),
    "Zamba 2": Model(r"q \cdot k / \sqrt{d/2}", PowerOfDk(0.5, factor=0.5**0.5), d_k=160),
    "TimesFM": Model(
        r"\ln(1 + e^s)\, q \cdot k / (\ln 2 \sqrt{d})",
        PowerOfDk(0.5, factor=math.log(2) / math.log1p(math.e)),
        d_k=80,
    ),
    "LongCat-Flash": Model(
        r"q \cdot k / \sqrt{d},\ q, k \text{ times } \sqrt{d_\text{model}/r}", d_k=192
    ),
    "Qwen 3, OLMo 2, DeepSeek-V4": _normalised(r"\bar q \cdot \bar k / \sqrt{d}", SQRT_D_K),
    "Muse Glimmer": _normalised(
        r"3.87\, \bar q \cdot \bar k / \sqrt{d}", PowerOfDk(0.5, factor=1 / 3.87)
    ),
    "Muse Spark": _normalised(
        r"5.47\, \bar q \cdot \bar k / \sqrt{d}",
        PowerOfDk(0.5, factor=1 / 5.4730064863875),
        d_k=64,
    ),
    "Inkling": _normalised(r"\bar q \cdot \bar k / d", PowerOfDk(1.0)),
    "Gemma 3n": _normalised(r"\bar q \cdot \bar k", PowerOfDk(0.0), d_k=256),
    "nGPT": _cosine(r"\sqrt{d}\, (g \hat q) \cdot (g \hat k)", PowerOfDk(-0.5)),
    "Swin v2": _cosine(r"10 \cos(q, k)", PowerOfDk(0.0, factor=0.1), d_k=32),
    "YaRN, 32 times the context": Model(
        r"(0.1 \ln 32 + 1)^2\, q \cdot k / \sqrt{d}", MODEL_RESCALINGS["yarn_32"]
    ),
    "Qwen 1": Model(
        r"\max(1, \ln n / \ln 2048)\, q \cdot k / \sqrt{d}", MODEL_RESCALINGS["qwen_1"]
    ),
    "Llama 4, every fourth layer": Model(
        r"(1 + 0.1 \ln(1 + \lfloor n/8192 \rfloor))\, q \cdot k / \sqrt{d}",
        MODEL_RESCALINGS["llama_4"],
    ),
    "Mistral 4": Model(
        r"(0.1 \ln 128 + 1)^2 (1 + 0.1 \ln(1 + \lfloor (n-1)/8192 \rfloor))\, q \cdot k / \sqrt{d}",
        Function(_mistral_4),
    ),
    "Inkling 2": Model(
        r"(1 + 0.1 \ln\max(1, n/128000))\, q \cdot k / \sqrt{d}", Function(_inkling_2)
    ),
    "Mistral Large 4": Model(r"(s \ln n + b)\, q \cdot k / \sqrt{d},\ s = 0,\ b = 1"),
    "Scalable-Softmax": Model(r"0.43 \ln n\; q \cdot k / \sqrt{d}", MODEL_RESCALINGS["ssmax"]),
    "Su": Model(r"(\ln n / \ln 512)\, q \cdot k / \sqrt{d}", MODEL_RESCALINGS["su"]),
}
"""The models by name. A bar stands for RMS normalisation, a hat for unit length; n is the number of
keys that a query sees, in Mistral 4, Mistral Large 4 and Inkling 2 its place in the text, from 1.
Inkling 2 has its factor in every sixth layer. nGPT's g and TimesFM's s, one number for each
component, are 1 at the start. LongCat-Flash's factors make up for the low rank r of its matrices:
its queries and keys have unit variance after them.
"""
