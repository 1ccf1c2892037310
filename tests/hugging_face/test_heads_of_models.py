"""The figures of heads, of tiny models of Hugging Face Transformers with random weights."""

import pytest
import torch

transformers = pytest.importorskip("transformers", reason="make test-transformers installs it")

from tiny_models import SHAPE  # noqa: E402

from sdpa_book.studies.heads.measure import FIGURES, WITHOUT_FIRST, head_figures  # noqa: E402
from sdpa_book.studies.published.look import (  # noqa: E402
    OF_PASSAGES,
    attending,
    factors,
    outcomes,
    token_figures,
)
from sdpa_book.studies.published.run import fresh  # noqa: E402
from sdpa_lib.attention import attention_scores  # noqa: E402
from sdpa_lib.watching import rescaled  # noqa: E402

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


def bert():
    torch.manual_seed(0)
    shape = {k: v for k, v in SHAPE.items() if k != "max_position_embeddings"}
    configuration = transformers.BertConfig(**shape, max_position_embeddings=64)
    return transformers.BertModel(configuration).eval()


def tokens(passages=3):
    return torch.randint(2, 40, (passages, LENGTH), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("build", [gpt2, llama, mistral, bert])
def test_every_figure_of_every_head(build):
    model = build()
    before = model.base_model(tokens())[0]
    figures, errors = token_figures(model, tokens())
    names = {*FIGURES, *(f"rest_{name}" for name in WITHOUT_FIRST)}
    names |= {"position", "key", "rest_position", "rest_key"}
    if build in (llama, mistral):
        unturned = ("query_shared", "key_shared", "score_rank", "whole_rank")
        names |= {f"unturned_{x}" for x in (*unturned, "query_rank", "key_rank")}
    assert set(figures) == names
    assert set(errors) == set(OF_PASSAGES)
    for name, values in (figures | errors).items():
        assert values.shape == (2, 4), name
        assert values.isfinite().all() or name.startswith("rest_"), name
    torch.testing.assert_close(model.base_model(tokens())[0], before)  # it is left as it was


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
    scores = attention_scores(query, key, is_causal=True)
    expected = head_figures(query, key, scores, least=LENGTH // 2)
    figures, errors = token_figures(model, tokens())
    for name, values in expected.items():
        torch.testing.assert_close(figures[name][0], values, rtol=1e-3, atol=1e-4, msg=name)
    each = [
        head_figures(query[i : i + 1], key[i : i + 1], scores[i : i + 1], least=LENGTH // 2)
        for i in range(3)
    ]
    sigma = torch.stack([x["sigma"] for x in each])
    torch.testing.assert_close(sigma.mean(0), figures["sigma"][0], rtol=1e-3, atol=0)
    torch.testing.assert_close(sigma.std(0) / 3**0.5, errors["sigma"][0], rtol=1e-3, atol=1e-6)


def test_vectors_before_turning_are_what_the_layers_give():
    model = llama()
    layer = model.model.layers[0]
    with torch.no_grad():
        x = layer.input_layernorm(model.model.embed_tokens(tokens()))
        query = layer.self_attn.q_proj(x).unflatten(-1, (4, -1)).flatten(0, 1)  # (B n, H, d_k)
    shared = query.mean(0).square().sum(-1) / query.square().sum(-1).mean(0)
    figures, _ = token_figures(model, tokens())
    torch.testing.assert_close(
        figures["unturned_query_shared"][0].float(), shared, rtol=1e-3, atol=1e-5
    )


def test_a_window_hides_what_it_hides():
    figures, _ = token_figures(mistral(), tokens())
    assert max(figures["perplexity"][0]) <= 8
    assert figures["first_weight"][0].tolist() == [0.0] * 4  # every row looked at begins later


@pytest.mark.parametrize("build", [llama, bert])
@pytest.mark.parametrize("name", ["none", "d_k", "k_mean", "k_total"])
def test_another_divisor_is_that_of_rescaled(build, name):
    model = build()
    with rescaled(name, model):
        output = model(tokens())
    if build is llama:
        logits = output.logits[:, :-1].transpose(1, 2)
        loss = torch.nn.functional.cross_entropy(logits, tokens()[:, 1:], reduction="none")
        expected = loss.mean(1).double()
    else:
        mean = output.last_hidden_state.mean(1).double()
        expected = mean / mean.norm(dim=-1, keepdim=True)
    torch.testing.assert_close(outcomes(model, tokens(), name), expected, rtol=1e-5, atol=1e-6)


def test_a_factor_undoes_a_constant_and_is_of_the_other_half():
    model = llama()
    own = outcomes(model, tokens(4))
    by = factors(model, tokens(4), "twice")
    assert all(torch.allclose(x, torch.tensor(2.0).double()) for x in by)
    torch.testing.assert_close(outcomes(model, tokens(4), "twice", by), own)
    by = factors(model, tokens(4), "k_mean")
    assert torch.equal(by[0][0], by[0][2])
    assert torch.equal(by[0][1], by[0][3])
    assert not torch.equal(by[0][0], by[0][1])
    changed = tokens(4).clone()
    changed[1:4:2] = 3
    again = factors(model, changed, "k_mean")
    assert torch.equal(again[0][1], by[0][1])  # made of the even ones
    assert not torch.equal(again[0][0], by[0][0])


def test_fresh_weights_are_of_the_models_own_initialiser():
    model = llama()
    other = fresh(model, 0.3)
    spread = other.model.layers[0].self_attn.q_proj.weight.std().item()
    assert spread == pytest.approx(0.3, rel=0.1)
    assert torch.equal(fresh(model, 0.3).lm_head.weight, other.lm_head.weight)
    assert model.config.initializer_range != 0.3


def test_a_model_is_left_as_it_was_after_an_error():
    model = llama()
    before = model.config._attn_implementation
    with pytest.raises(IndexError):
        token_figures(model, tokens() + 40)  # no such tokens
    assert model.config._attn_implementation == before


def test_a_model_that_is_not_seen_is_named():
    with (
        pytest.raises(ValueError, match="LlamaForCausalLM, which does not, or has read nothing"),
        attending(llama(), lambda *_: None),
    ):
        pass
