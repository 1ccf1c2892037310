"""The figures of heads, of tiny models of Hugging Face Transformers with random weights."""

import pytest
import torch

transformers = pytest.importorskip("transformers", reason="make test-transformers installs it")

from tiny_models import SHAPE  # noqa: E402

from sdpa_book.studies.heads import hugging_face  # noqa: E402
from sdpa_book.studies.heads.measure import FIGURES, WITHOUT_FIRST, head_figures  # noqa: E402
from sdpa_lib.attention import attention_scores  # noqa: E402

LENGTH = 48


def make(configuration):
    torch.manual_seed(0)
    return transformers.AutoModelForCausalLM.from_config(configuration).eval()


def gpt2():
    return make(
        transformers.GPT2Config(vocab_size=40, n_positions=64, n_embd=32, n_layer=2, n_head=4)
    )


def llama():
    return make(transformers.LlamaConfig(**SHAPE, num_key_value_heads=2))


def mistral():
    return make(
        transformers.MistralConfig(**SHAPE, num_key_value_heads=2, head_dim=8, sliding_window=8)
    )


def tokens(passages=3):
    return torch.randint(2, 40, (passages, LENGTH), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("made", [gpt2, llama, mistral])
def test_every_figure_of_every_head(made):
    model = made()
    before = model(tokens()).logits
    figures = hugging_face.token_figures(model, tokens())
    names = {*FIGURES, *(f"rest_{name}" for name in WITHOUT_FIRST)}
    names |= {f"{x}_gradient{of}" for x in ("query", "key") for of in ("", "_median")} | {
        "position"
    }
    assert set(figures) == names
    for name, values in figures.items():
        assert torch.tensor(values).shape == (2, 4), name
        assert torch.tensor(values).isfinite().all(), name
    torch.testing.assert_close(model(tokens()).logits, before)  # it is left as it was
    assert all(parameter.grad is None for parameter in model.parameters())


def test_queries_and_keys_are_those_of_the_model():
    """GPT-2 has one matrix for queries, keys and values of a layer."""
    model = gpt2()
    with torch.no_grad():
        block = model.transformer.h[0]
        x = block.ln_1(model.transformer.wte(tokens()) + model.transformer.wpe.weight[:LENGTH])
        query, key = (
            part.unflatten(-1, (4, -1)).transpose(1, 2)
            for part in block.attn.c_attn(x).split(32, dim=-1)[:2]
        )
    expected = head_figures(
        query, key, attention_scores(query, key, is_causal=True), least=LENGTH // 2
    )
    figures = hugging_face.token_figures(model, tokens())
    for name, values in expected.items():
        torch.testing.assert_close(
            torch.tensor(figures[name][0]).double(), values, rtol=1e-3, atol=1e-4, msg=name
        )


def test_a_window_hides_what_it_hides():
    figures = hugging_face.token_figures(mistral(), tokens())
    assert max(figures["perplexity"][0]) <= 8
    assert figures["first_weight"][0] == [0.0] * 4  # every row looked at begins later


def test_gradients_are_those_that_arrive():
    """Scaled keys: k -> 2 k and scaling -> 1/2 leave the scores, and halve the keys' gradient."""
    model = gpt2()
    before = hugging_face.token_figures(model, tokens())
    with torch.no_grad():
        weight = model.transformer.h[0].attn.c_attn.weight
        weight[:, 32:64] *= 2.0
        weight[:, :32] /= 2.0
    after = hugging_face.token_figures(model, tokens())
    for name, factor in (("key_gradient", 0.5), ("query_gradient", 2.0), ("sigma", 1.0)):
        torch.testing.assert_close(
            torch.tensor(after[name][0]), factor * torch.tensor(before[name][0]), rtol=1e-3, atol=0
        )


def test_a_model_is_left_as_it_was_after_an_error():
    model = llama()
    before = model.config._attn_implementation
    with pytest.raises(IndexError):
        hugging_face.token_figures(model, tokens() + 40)  # no such tokens
    assert model.config._attn_implementation == before
