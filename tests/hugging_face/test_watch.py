"""``watch`` and ``rescaled`` on tiny models of Hugging Face Transformers with random weights."""

import copy
import functools
import math

import pytest
import torch

transformers = pytest.importorskip("transformers", reason="make test-transformers installs it")

from tiny_models import GROUPED, LENGTH, PADDING, SMALL, WINDOW, decoder  # noqa: E402

from sdpa_lib import rescaled, watch  # noqa: E402
from sdpa_lib.transformers import register  # noqa: E402

# The name that was there before 5.23 goes on with a warning.
pytestmark = pytest.mark.filterwarnings("ignore:`gradient_checkpointing_:FutureWarning")
SHORT = 6
SEQUENCES = {
    "vocab_size": 40,
    "d_model": 32,
    "encoder_layers": 1,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": None,
    "decoder_start_token_id": 1,
    "init_std": 0.4,
}
IMAGES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 16}
CONFIGURATIONS = {
    **{name: functools.partial(decoder, name) for name in ("Llama", "Mistral", "Gemma 3", "GPT-2")},
    "Qwen 3": lambda: decoder("Qwen 3", attention_dropout=0.2),
    "BERT": lambda: transformers.BertConfig(**SMALL),
    "BART": lambda: transformers.BartConfig(
        **SEQUENCES, max_position_embeddings=64, forced_eos_token_id=None
    ),
    "T5": lambda: transformers.T5Config(
        vocab_size=40, d_model=32, d_kv=8, d_ff=48, num_layers=1, num_decoder_layers=2,
        num_heads=4, pad_token_id=0, eos_token_id=None, decoder_start_token_id=0,
    ),
    "ViT": lambda: transformers.ViTConfig(**IMAGES, intermediate_size=48, patch_size=4),
    "OPT": lambda: transformers.OPTConfig(
        vocab_size=40, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=48,
        max_position_embeddings=64, word_embed_proj_dim=32, pad_token_id=0, bos_token_id=1,
        eos_token_id=None,
    ),
    "Whisper": lambda: transformers.WhisperConfig(
        **SEQUENCES, num_mel_bins=8, max_source_positions=LENGTH, max_target_positions=32
    ),
}  # fmt: skip
KINDS = {
    "BERT": "AutoModelForMaskedLM",
    "BART": "AutoModelForSeq2SeqLM",
    "T5": "AutoModelForSeq2SeqLM",
    "ViT": "AutoModelForImageClassification",
    "Whisper": "AutoModelForSpeechSeq2Seq",
}
CROSSING = ("BART", "T5", "Whisper")
SCALED_BEFORE = ("OPT", "Whisper")  # T5 scales nothing
EVERY = pytest.mark.parametrize("name", CONFIGURATIONS)
DECODERS = ("Llama", "Qwen 3", "Mistral", "Gemma 3", "GPT-2")

CAUSAL = (LENGTH + 1) / 2
IN_WINDOW = sum(min(row + 1, WINDOW) for row in range(LENGTH)) / LENGTH
LAYERS = {
    "Llama": {f"model.layers.{i}.self_attn": (LENGTH, CAUSAL) for i in range(2)},
    "Qwen 3": {f"model.layers.{i}.self_attn": (LENGTH, CAUSAL) for i in range(2)},
    "Mistral": {f"model.layers.{i}.self_attn": (LENGTH, IN_WINDOW) for i in range(2)},
    "Gemma 3": {
        "model.layers.0.self_attn": (LENGTH, IN_WINDOW),
        "model.layers.1.self_attn": (LENGTH, CAUSAL),
    },
    "GPT-2": {f"transformer.h.{i}.attn": (LENGTH, CAUSAL) for i in range(2)},
    "BERT": {f"bert.encoder.layer.{i}.attention.self": (LENGTH, LENGTH) for i in range(2)},
    "BART": {
        "model.encoder.layers.0.self_attn": (LENGTH, LENGTH),
        "model.decoder.layers.0.self_attn": (SHORT, (SHORT + 1) / 2),
        "model.decoder.layers.0.encoder_attn": (SHORT, LENGTH),
        "model.decoder.layers.1.self_attn": (SHORT, (SHORT + 1) / 2),
        "model.decoder.layers.1.encoder_attn": (SHORT, LENGTH),
    },
    "T5": {
        "encoder.block.0.layer.0.SelfAttention": (LENGTH, LENGTH),
        "decoder.block.0.layer.0.SelfAttention": (SHORT, (SHORT + 1) / 2),
        "decoder.block.0.layer.1.EncDecAttention": (SHORT, LENGTH),
        "decoder.block.1.layer.0.SelfAttention": (SHORT, (SHORT + 1) / 2),
        "decoder.block.1.layer.1.EncDecAttention": (SHORT, LENGTH),
    },
    "ViT": {f"vit.layers.{i}.attention": (17, 17) for i in range(2)},
    "OPT": {f"model.decoder.layers.{i}.self_attn": (LENGTH, CAUSAL) for i in range(2)},
}
LAYERS["Whisper"] = LAYERS["BART"]
"""The names of the layers, each with its rows in a sequence and the keys that a row sees."""


def build(name, **options):
    torch.manual_seed(0)
    kind = getattr(transformers, KINDS.get(name, "AutoModelForCausalLM"))
    return kind.from_config(CONFIGURATIONS[name](), attn_implementation="sdpa", **options)


def tokens(length=LENGTH):
    return torch.randint(2, 40, (2, length), generator=torch.Generator().manual_seed(1))


def batch(name):
    generator = torch.Generator().manual_seed(2)
    if name == "ViT":
        images = torch.randn(2, 3, 16, 16, generator=generator)
        return {"pixel_values": images, "labels": torch.tensor([0, 1])}
    labels = tokens(SHORT if name in CROSSING else LENGTH)
    if name == "Whisper":
        return {
            "input_features": torch.randn(2, 8, 2 * LENGTH, generator=generator),
            "labels": labels,
        }
    return {"input_ids": tokens(), "labels": labels}


def padding(side):
    mask = torch.ones(2, LENGTH, dtype=torch.long)
    mask[0, slice(PADDING) if side == "left" else slice(-PADDING, None)] = 0
    return mask


def step(model, **inputs):
    """Loss, output, gradients, and the next random number of a step of training."""
    model.train()
    model.zero_grad()
    torch.manual_seed(3)
    output = model(**inputs)
    output.loss.backward()
    gradients = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    return [output.loss.detach(), output[1].detach(), *gradients, torch.rand(3)]


def assert_same(actual, expected):
    assert len(actual) == len(expected)
    assert all(map(torch.equal, actual, expected))


def rows(seen):
    return {layer["where"]: layer["queries"] for layer in seen.layers()}


@EVERY
@pytest.mark.parametrize("of_rows", [None, 8], ids=["all", "some"])
def test_a_step_of_training_is_the_same_bit_for_bit(name, of_rows):
    model, inputs = build(name), batch(name)
    expected = step(model, **inputs)
    state = copy.deepcopy(model.state_dict())
    with watch(model, rows=of_rows) as seen:
        assert_same(step(model, **inputs), expected)
    assert all(torch.equal(value, state[key]) for key, value in model.state_dict().items())
    assert not seen.unmeasured
    layers = {layer["where"]: layer for layer in seen.layers()}
    assert list(layers) == list(LAYERS[name])
    for where, (queries, keys) in LAYERS[name].items():
        assert (layers[where]["heads"], layers[where]["d_k"]) == (4, 8)
        assert layers[where]["queries"] == (2 * queries if of_rows is None else 8)
        if of_rows is None:
            assert layers[where]["keys"] == pytest.approx(keys)


@EVERY
@pytest.mark.parametrize("reentrant", [True, False], ids=["reentrant", ""])
def test_activation_checkpointing_counts_once(name, reentrant):
    model, inputs = build(name), batch(name)
    model.gradient_checkpointing_enable({"use_reentrant": reentrant})
    expected = step(model, **inputs)
    with watch(model) as seen:
        assert_same(step(model, **inputs), expected)
    assert rows(seen) == {where: 2 * queries for where, (queries, _) in LAYERS[name].items()}


@pytest.mark.parametrize("name", [name for name in CONFIGURATIONS if name not in SCALED_BEFORE])
@pytest.mark.parametrize("checkpointing", [False, True], ids=["", "checkpointing"])
def test_rescaled_does_what_the_attention_implementation_does(name, checkpointing):
    model, inputs = build(name), batch(name)
    plain = step(model, **inputs)
    if checkpointing:
        model.gradient_checkpointing_enable()
    with watch(model) as seen, rescaled("k_mean"):
        divided = step(model, **inputs)
    assert len({layer["scale"] for layer in seen.layers()}) == len(LAYERS[name])
    model.gradient_checkpointing_disable()
    model.set_attn_implementation(register("k_mean")[0])
    for ours, theirs in zip(divided, step(model, **inputs), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
    assert not torch.equal(divided[1], plain[1])


@pytest.mark.parametrize("name", SCALED_BEFORE)
def test_queries_that_are_scaled_before_are_refused(name):
    with pytest.raises(ValueError, match="scale"), rescaled("k_mean"):
        step(build(name), **batch(name))


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", [*DECODERS, "BERT"])
def test_padding_is_not_seen(name, side):
    model, mask = build(name).eval(), padding(side)
    with torch.no_grad():
        expected = model(tokens(), attention_mask=mask).logits
        with watch(model) as seen:
            watched = model(tokens(), attention_mask=mask).logits
    assert torch.equal(watched, expected)
    whole, left = LAYERS[name], LENGTH - PADDING
    for layer in seen.layers():
        assert layer["keys"] < whole[layer["where"]][1]
        if name == "BERT":
            assert layer["keys"] == pytest.approx((left + LENGTH) / 2)


@pytest.mark.parametrize("name", ["Llama", "GPT-2", "BERT"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_the_figures_are_those_of_the_weights_that_the_model_returns(name, side):
    """With ``output_attentions``, which the eager implementation has."""
    model, mask = build(name).eval(), padding(side)
    with torch.no_grad():
        with watch(model) as seen:
            model(tokens(), attention_mask=mask)
        model.set_attn_implementation("eager")
        tables = model(tokens(), attention_mask=mask, output_attentions=True).attentions
    heads = iter(seen.heads())
    visible = mask.bool()[:, None, None].expand(2, 1, LENGTH, LENGTH)
    if name != "BERT":
        visible = visible.tril()
    with_keys = visible.any(-1).squeeze(1)  # (2, L): of padding some rows see none
    for table in tables:
        weights = (table * visible).transpose(0, 1)[:, with_keys].double()  # (heads, rows, L)
        first = visible.squeeze(1)[with_keys].to(torch.uint8).argmax(-1)
        figures = {
            "keys": visible.squeeze(1)[with_keys].sum(-1).double().expand(4, -1),
            "entropy": torch.special.entr(weights).sum(-1),
            "effective_keys": 1 / weights.square().sum(-1),
            "largest_weight": weights.amax(-1),
            "first_key": weights[:, torch.arange(len(first)), first],
        }
        for i in range(4):
            head = next(heads)
            assert head["queries"] == len(first)
            for figure, values in figures.items():
                assert head[figure] == pytest.approx(values[i].mean().item(), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("cache", ["dynamic", "static"])
@pytest.mark.parametrize("name", [*DECODERS, "BART"])
def test_steps_of_decoding_add_up_under_their_layer(name, cache):
    model, new = build(name).eval(), 4
    options = {"max_new_tokens": new, "min_new_tokens": new, "do_sample": True}
    if cache == "static":
        options |= {"cache_implementation": "static", "disable_compile": True}

    def generated():
        torch.manual_seed(4)
        mask = padding("left") if name != "BART" else None
        return model.generate(tokens(), attention_mask=mask, **options)

    expected = generated()
    with watch(model) as seen:
        assert torch.equal(generated(), expected)
    assert not seen.unmeasured
    for where, queries in rows(seen).items():
        if name == "BART":
            assert queries == (2 * LENGTH if "encoder.layers" in where else 2 * new)
        else:  # of the prompt, less those rows of padding that see no key, and of each step but one
            most = 2 * (LENGTH + new - 1)
            assert most - PADDING <= queries <= most
    assert list(rows(seen)) == list(LAYERS[name])


def test_the_eager_implementation_is_not_seen_and_print_says_what_to_write():
    model = build("Llama")
    model.set_attn_implementation("eager")
    with watch(model) as seen:
        step(model, **batch("Llama"))
    assert seen.heads() == []
    assert "set_attn_implementation" in str(seen)
    model.set_attn_implementation("sdpa")
    with watch(model) as seen:
        step(model, **batch("Llama"))
    assert len(seen.layers()) == 2


def test_capped_scores_have_no_such_call_in_transformers_and_the_cap_is_not_seen():
    """Gemma 2 caps its scores, which PyTorch's function can not: Transformers refuses ``sdpa``."""
    configuration = transformers.Gemma2Config(**SMALL, **GROUPED)
    with pytest.raises(ValueError, match="does not support"):
        transformers.AutoModelForCausalLM.from_config(configuration, attn_implementation="sdpa")
    configuration = transformers.Gemma2Config(**SMALL, **GROUPED)
    model = transformers.AutoModelForCausalLM.from_config(configuration)
    with watch(model) as seen:
        model(tokens())
    assert "No call" in str(seen)


def test_one_layer_may_have_another_divisor():
    model = build("Llama").eval()
    with watch(model) as seen, rescaled("d_k", model, only="*.layers.1.*"):
        model(tokens())
    assert [layer["scale"] for layer in seen.layers()] == pytest.approx([1 / math.sqrt(8), 1 / 8])
