"""The scores of published models, against their formulas written out in NumPy."""

import math

import numpy as np
import pytest
import torch

from sdpa_lib.models import MODELS
from sdpa_lib.sampling import sample

D, N = 128, 9000


def normalised(q, k):
    q, k = (x / np.sqrt((x**2).mean(-1, keepdims=True)) for x in (q, k))
    return q @ k.T


def cosine(q, k):
    return (q / np.linalg.norm(q, axis=-1, keepdims=True)) @ (
        k / np.linalg.norm(k, axis=-1, keepdims=True)
    ).T


FORMULAS = {
    "GPT-2, BERT, Llama": lambda q, k: q @ k.T / math.sqrt(D),
    "GPT-2, option, layer 12": lambda q, k: q @ k.T / math.sqrt(D) / 12,
    "DeBERTa, content term": lambda q, k: q @ k.T / math.sqrt(3 * D),
    "Gemma 2 27B": lambda q, k: np.tanh(q @ k.T * 144**-0.5 / 50) * 50,
    "muP": lambda q, k: q @ k.T * 8 / D,
    "Grok-1": lambda q, k: np.tanh(q @ k.T * 0.08838834764831845 / 30) * 30,
    "Granite, Cerebras-GPT (muP)": lambda q, k: q @ k.T / D,
    "T5, GPT-Neo": lambda q, k: (q / math.sqrt(D)) @ k.T,
    "Falcon-H1 0.5B": lambda q, k: q @ (0.390625 * k).T * D**-0.5,
    "Zamba 2": lambda q, k: q @ k.T * (D / 2) ** -0.5,
    "TimesFM": lambda q, k: (q * np.log1p(np.exp(np.ones(D))) / math.log(2) / math.sqrt(D)) @ k.T,
    "LongCat-Flash": lambda q, k: q @ k.T / math.sqrt(D),
    "Qwen 3, OLMo 2, DeepSeek-V4": lambda q, k: normalised(q, k) / math.sqrt(D),
    "Muse Glimmer": lambda q, k: normalised(q, k) * 3.87 / math.sqrt(D),
    "Muse Spark": lambda q, k: normalised(q, k) * 5.4730064863875 / math.sqrt(D),
    "Inkling": lambda q, k: normalised(q, k) / D,
    "Gemma 3n": lambda q, k: normalised(q, k),
    "nGPT": lambda q, k: math.sqrt(D) * cosine(q, k),
    "Swin v2": lambda q, k: 10 * cosine(q, k),
    "YaRN, 32 times the context": lambda q, k: (
        (0.1 * math.log(32) + 1) ** 2 * q @ k.T / math.sqrt(D)
    ),
    "Qwen 1": lambda q, k: math.log(N, 2048) * q @ k.T / math.sqrt(D),
    "Llama 4, every fourth layer": lambda q, k: (
        (np.log1p(np.floor(N / 8192)) * 0.1 + 1) * q @ k.T / math.sqrt(D)
    ),
    "Mistral 4": lambda q, k: (
        (0.1 * math.log(128) + 1) ** 2 * (0.1 * math.log(2) + 1) * q @ k.T / math.sqrt(D)
    ),
    "Inkling 2": lambda q, k: q @ k.T / math.sqrt(D),
    "Mistral Large 4": lambda q, k: (0 * math.log(N) + 1) * q @ k.T / math.sqrt(D),
    "Scalable-Softmax": lambda q, k: 0.43 * math.log(N) * q @ k.T / math.sqrt(D),
    "Su": lambda q, k: math.log(N, 512) * q @ k.T / math.sqrt(D),
}


@pytest.fixture(scope="module")
def vectors():
    return [sample(n, D, seed=0, stream=i, device="cpu") for i, n in enumerate((2, N))]


@pytest.mark.parametrize("name", MODELS)
def test_scores_against_the_formula(name, vectors):
    q, k = vectors
    torch.testing.assert_close(
        MODELS[name].scores(q, k),
        torch.from_numpy(FORMULAS[name](q.numpy(), k.numpy())),
        rtol=1e-9,
        atol=1e-9,
    )


@pytest.mark.parametrize(
    ("name", "n", "factor"),
    [
        ("Mistral 4", 8192, 2.2058),  # position 8191, still on the first step
        ("Mistral 4", 8193, 2.3587),
        ("Inkling 2", 128_000, 1.0),
        ("Inkling 2", 256_000, 1.0693),
    ],
)
def test_a_factor_begins_at_its_length(name, n, factor):
    divisor = MODELS[name].rescaling(torch.ones(1, 4).expand(n, 4))
    assert 2 / divisor.item() == pytest.approx(factor, abs=1e-4)


def test_what_depends_on_the_context_follows_the_causal_order():
    model, (q, k) = MODELS["Scalable-Softmax"], sample(2, 5, 4, seed=0, device="cpu")
    causal = model.scores(q, k, is_causal=True)
    for row in range(5):
        seen = model.scores(q[row : row + 1], k[: row + 1])
        torch.testing.assert_close(causal[row : row + 1, : row + 1], seen)
