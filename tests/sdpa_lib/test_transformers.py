"""The function that a model of Hugging Face Transformers calls for attention, without Transformers;
the models themselves are in tests/hugging_face.
"""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from every import EVERY_CLASS
from torch import nn

from sdpa_lib import PowerOfDk, RunningDivisor, scaled_dot_product_attention
from sdpa_lib.sampling import sample_qkv
from sdpa_lib.transformers import KNOWN, attention_function, register, unregister

SCALING = 0.3


def module(**attributes):
    """What a layer of a model says of itself."""
    layer = nn.Module()
    for name, value in {"is_causal": True, "scaling": SCALING, **attributes}.items():
        setattr(layer, name, value)
    return layer


@pytest.fixture
def qkv():
    """Two texts of six tokens, four heads of queries, two of keys, values wider than keys."""
    query, key, value = sample_qkv(2 * 4 * 6, 2 * 2 * 6, 8, 10, seed=0, device="cpu")
    return query.view(2, 4, 6, 8), key.view(2, 2, 6, 8), value.view(2, 2, 6, 10)


def expected(query, key, value, **arguments):
    output = scaled_dot_product_attention(query, key, value, enable_gqa=True, **arguments)
    return output.transpose(1, 2)


@EVERY_CLASS
def test_a_rescaling_replaces_the_models_own_scaling(qkv, rescaling):
    output, weights = attention_function(rescaling)(module(), *qkv, None, scaling=SCALING)
    assert weights is None
    assert output.is_contiguous()
    torch.testing.assert_close(output, expected(*qkv, is_causal=True, rescaling=rescaling))


def test_without_a_rescaling_the_models_own_scaling_counts(qkv):
    for scaling, power in ((SCALING, PowerOfDk(0.0, factor=1 / SCALING)), (None, PowerOfDk(0.5))):
        output, _ = attention_function(None)(module(), *qkv, None, scaling=scaling)
        torch.testing.assert_close(output, expected(*qkv, is_causal=True, rescaling=power))


def test_one_query_sees_every_key_where_there_is_no_mask(qkv):
    query, key, value = qkv
    attention, last = attention_function("k_total"), query[..., -1:, :]
    output, _ = attention(module(), last, key, value, None, scaling=SCALING)
    torch.testing.assert_close(output, expected(last, key, value, rescaling="k_total"))
    every, _ = attention(module(), query, key, value, None, scaling=SCALING)
    torch.testing.assert_close(output, every[:, -1:])


@pytest.mark.parametrize("given", [{"is_causal": False}, {}], ids=["call", "module"])
def test_a_bidirectional_layer_sees_every_key(qkv, given):
    layer = module(is_causal=bool(given))  # what the call says comes first
    output, _ = attention_function("k_total")(layer, *qkv, None, scaling=SCALING, **given)
    torch.testing.assert_close(output, expected(*qkv, rescaling="k_total"))


def test_causal_order_without_a_mask_needs_as_many_keys_as_queries(qkv):
    query, key, value = qkv
    with pytest.raises(ValueError, match="attention_mask=None with 2 queries and 6 keys"):
        attention_function("k_total")(module(), query[..., -2:, :], key, value, None)


def test_a_position_bias_is_added_to_whatever_mask_there_is(qkv):
    torch.manual_seed(0)
    bias = torch.randn(1, 4, 6, 6, dtype=torch.float64)
    boolean = torch.rand(2, 1, 6, 6) < 0.7
    boolean[0, 0, 2] = False  # a row that sees no key
    order = torch.ones(6, 6, dtype=torch.bool).tril()
    attention = attention_function("k_total")
    for mask, causal, combined in (
        (None, False, bias),
        (None, True, bias.masked_fill(~order, -torch.inf)),
        (boolean, True, bias.masked_fill(~boolean, -torch.inf)),
        (bias.mT, True, bias + bias.mT),
    ):
        output, _ = attention(module(is_causal=causal), *qkv, mask, position_bias=bias)
        torch.testing.assert_close(
            output, expected(*qkv, attn_mask=combined, rescaling="k_total"), msg=str(mask)
        )
        assert output.isfinite().all()


def test_weights_come_where_the_call_or_the_configuration_asks(qkv):
    attention, wants = attention_function("k_total"), SimpleNamespace(output_attentions=True)
    output, weights = attention(module(), *qkv, None, output_attentions=True)
    torch.testing.assert_close(output, expected(*qkv, is_causal=True, rescaling="k_total"))
    assert weights.shape == (2, 4, 6, 6)
    assert attention(module(config=wants), *qkv, None)[1].equal(weights)
    assert attention(module(config=wants), *qkv, None, output_attentions=False)[1] is None


def test_what_changes_nothing_is_taken_and_what_might_is_refused_by_name(qkv):
    attention = attention_function(None)
    attention(module(), *qkv, None, use_cache=True, sliding_window=3, indices=None, new=False)
    for name, value, why in (
        ("softcap", 50.0, "caps the scores"),
        ("s_aux", torch.zeros(4), "attention sink"),
        ("head_mask", torch.ones(4), "multiplies the weights"),
        ("indices", torch.zeros(2, 6, 3, dtype=torch.int32), "beside the mask"),
        ("new", 1, f"may change the result: sdpa_lib knows what Transformers {KNOWN} passes"),
    ):
        with pytest.raises(ValueError, match=f"^Module passes {name}, which .*{why}"):
            attention(module(), *qkv, None, **{name: value})


@pytest.mark.parametrize(
    "scaled",
    [
        {"scaling": 0.5},  # and passes another, as Whisper does
        {"scaling": nn.Parameter(torch.ones(8))},
        {"attn_temperature_tuning": True, "use_rope": False},
        {"config": SimpleNamespace(rope_parameters={"llama_4_scaling_beta": 0.1})},
        {"config": SimpleNamespace(log_scaling_n_floor=128)},
    ],
)
def test_queries_that_are_scaled_already_are_not_scaled_again(qkv, scaled):
    layer, attention = module(**scaled), attention_function("k_total")
    attention_function(None)(layer, *qkv, None, scaling=SCALING)
    with pytest.raises(ValueError, match="Module scales its queries itself"):
        attention(layer, *qkv, None, scaling=SCALING)
    of_llama_4 = module(attn_temperature_tuning=True, use_rope=True)  # which has positions
    attention(of_llama_4, *qkv, None, scaling=SCALING)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None, "mine"), "'mine' needs a rescaling"),
        (("k_totel",), "Did you mean 'k_total'"),
    ],
)
def test_names_that_can_not_be_given(arguments, message):
    with pytest.raises(ValueError, match=message):
        register(*arguments)


def test_one_layers_memory_is_no_rescaling_for_a_model():
    for rescaling in (RunningDivisor("k_rss"), 2 * RunningDivisor("k_rss")):
        with pytest.raises(ValueError, match=r"remembers .* take what it was made of"):
            attention_function(rescaling)


def test_register_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ImportError, match="pip install transformers"):
        register()


def test_unregister_needs_nothing_before_it():
    unregister()


def test_the_version_that_an_unknown_keyword_is_measured_by_is_the_one_that_is_tried():
    wanted = Path(__file__).parents[1] / "hugging_face" / "requirements.txt"
    assert f"\ntransformers=={KNOWN}." in wanted.read_text(encoding="utf-8")


def test_modules_that_nothing_else_needs_come_when_they_are_asked_for():
    """Import of the package alone, so that importing it does not load them."""
    code = """
import sys, sdpa_lib
assert not {"sdpa_lib.models", "sdpa_lib.transformers"} & set(sys.modules)
assert sdpa_lib.models is sys.modules["sdpa_lib.models"]
assert sdpa_lib.transformers.register.__module__ == "sdpa_lib.transformers"
assert not hasattr(sdpa_lib, "transformer")
"""
    subprocess.run([sys.executable, "-c", code], check=True)
