"""The starts of published models, against queries and keys made as their code makes them."""

import numpy as np
import pytest

from sdpa_book.calculations.model_starts import STARTS, fresh_scores
from sdpa_lib.models import MODELS
from sdpa_lib.sampling import sample

TOKENS, HEAD = 200, 128


def normalised(x):
    return x / np.sqrt((x**2).mean(-1, keepdims=True))


def longcat(x, through):
    """Latents times sqrt(d_model / rank)."""
    q = 2 * through(normalised(through(x, 1536)), HEAD)
    return q, 12**0.5 * through(normalised(through(x, 512)), HEAD)


def halves(x, through, rank):
    """Half of a key from its latents, half from the input itself."""
    latent = through(normalised(through(x, rank)), HEAD // 2)
    return np.concatenate([latent, through(x, HEAD // 2)], axis=-1)


def inkling_2(x, through):
    q, k = (through(x, HEAD) for _ in range(2))
    taps = 0.02 * np.random.default_rng(1).standard_normal((4, HEAD))
    mixed = k + sum(tap * np.roll(k, lag, axis=0) for lag, tap in enumerate(taps))
    return q, mixed / 5**0.5


MADE = {
    "GPT-2, BERT, Llama": (768, lambda x, through: (through(x, HEAD), through(x, HEAD))),
    "LongCat-Flash": (6144, longcat),
    "Mistral 4": (
        4096,
        lambda x, through: (
            through(normalised(through(x, 1024)), HEAD),
            halves(x, through, rank=256),
        ),
    ),
    "Mistral Large 4": (
        6144,
        lambda x, through: (through(x, HEAD), halves(x, through, rank=512)),
    ),
    "Inkling 2": (4608, inkling_2),
}


@pytest.mark.parametrize("name", MADE)
def test_components_are_as_large_as_the_models_code_makes_them(name):
    d_model, make = MADE[name]
    random = np.random.default_rng(0)

    def through(x, outputs):
        return x @ (0.02 * random.standard_normal((x.shape[-1], outputs)))

    q, k = make(normalised(random.standard_normal((TOKENS, d_model))), through)
    start = STARTS[name]
    assert np.sqrt((q**2).mean()) == pytest.approx(start.query, rel=0.02)
    assert np.sqrt((k**2).mean()) == pytest.approx(start.key, rel=0.02)


@pytest.mark.parametrize(
    ("name", "d_model", "seen"), [("Inkling", 6144, 512), ("Inkling 2", 4608, 1024)]
)
def test_a_bias_for_each_distance_spreads_scores_as_the_models_code_makes_it(name, d_model, seen):
    random = np.random.default_rng(0)
    x = normalised(random.standard_normal((TOKENS, d_model)))
    relative = x @ (0.02 * random.standard_normal((d_model, 16)))
    if name == "Inkling 2":  # it clips them to the length 8, and few are longer
        relative *= np.minimum(1, 8 / np.linalg.norm(relative, axis=-1, keepdims=True))
    bias = relative @ (0.02 * random.standard_normal((16, seen)))
    start = STARTS[name]
    assert start.keys == seen
    assert np.sqrt((bias**2).mean()) == pytest.approx(start.bias, rel=0.05)


def test_fresh_scores_are_of_the_keys_that_a_query_sees_and_hold_the_bias():
    scores = fresh_scores("Inkling", 400, 8192).double()
    assert scores.shape == (400, 512)
    bare = MODELS["Inkling"].scores(sample(400, 128, seed=1), sample(512, 128, seed=0)).double()
    added = scores - bare
    assert added.std().item() == pytest.approx(STARTS["Inkling"].bias, rel=0.01)
    assert fresh_scores("Inkling", 3, 100).shape == (3, 100)
    assert fresh_scores("Gemma 2 27B", 3, 9000).shape == (3, 9000)


def test_fresh_scores_name_a_model_without_a_start():
    with pytest.raises(ValueError, match="Grok-1"):
        fresh_scores("Grok-1", 2, 3)


def test_every_start_is_of_a_model():
    assert STARTS.keys() <= MODELS.keys()
    assert MODELS.keys() - STARTS.keys() == {
        "Grok-1",
        "muP",
        "YaRN, 32 times the context",
        "Qwen 1",
        "Scalable-Softmax",
        "Su",
    }
