"""Rescalings as attention implementations of Hugging Face Transformers, on tiny models of random
weights.

Models compute in double precision, except where they normalise and rotate in float32.
"""

import functools
import math

import pytest
import torch

transformers = pytest.importorskip("transformers", reason="make test-transformers installs it")

from tiny_models import GROUPED, LENGTH, PADDING, SMALL, WINDOW, decoder  # noqa: E402

import sdpa_lib.transformers  # noqa: E402
from sdpa_lib.rescaling import (  # noqa: E402
    MODEL_RESCALINGS,
    RESCALINGS,
    LogBeyond,
    LogCount,
    LogSteps,
    PowerOfDk,
    known_rescalings,
)
from sdpa_lib.transformers import register, unregister  # noqa: E402

OWN = "sdpa_lib"
register()
# Of models' own lengths, in the thousands, no text here has as many tokens: two are shortened.
ONES_OWN = {
    name: rescaling
    for rescaling in (LogCount(0.3), LogBeyond(4), LogSteps(4, 0.5))
    for name in register(rescaling)
}
ONES_OWN |= {name: PowerOfDk(0.4) for name in register(PowerOfDk(0.4), "mine")}
RESCALING = {f"{OWN}:{name}": r for name, r in {**RESCALINGS, **MODEL_RESCALINGS}.items()}
RESCALING |= ONES_OWN

CONFIGURATIONS = {
    name: functools.partial(decoder, name) for name in ("Llama", "Qwen 3", "Mistral", "Gemma 3")
}
CONFIGURATIONS["GPT-2"] = lambda: decoder("GPT-2", scale_attn_by_inverse_layer_idx=True)
CAUSAL = pytest.mark.parametrize("model", CONFIGURATIONS, indirect=True)
KINDS = list({type(rescaling): name for name, rescaling in RESCALING.items()}.values())
EVERY = pytest.mark.parametrize("name", [OWN, *KINDS])  # the numbers in one are tested elsewhere
SIDES = pytest.mark.parametrize("side", ["none", "left", "right"])


def build(configuration, kind=transformers.AutoModelForCausalLM, **options):
    torch.manual_seed(0)
    return kind.from_config(configuration, **options).double().eval()


@pytest.fixture(scope="module")
def models():
    return {}


@pytest.fixture
def model(request, models):
    if request.param not in models:
        models[request.param] = build(CONFIGURATIONS[request.param]())
    return models[request.param]


def tokens(batch=2, length=LENGTH):
    return torch.randint(2, 40, (batch, length), generator=torch.Generator().manual_seed(1))


def padding(side):
    mask = torch.ones(2, LENGTH, dtype=torch.long)
    if side == "left":
        mask[0, :PADDING] = 0
    if side == "right":
        mask[0, -PADDING:] = 0
    return mask


def positions(mask):
    """As ``generate`` gives them."""
    return (mask.cumsum(-1) - 1).masked_fill(mask == 0, 1)


@torch.no_grad()
def logits(model, name, ids, mask=None, **inputs):
    model.set_attn_implementation(name)
    assert model.config._attn_implementation == name
    if mask is not None and not model.config.is_encoder_decoder:
        inputs["position_ids"] = positions(mask)
    return model(ids, attention_mask=mask, use_cache=False, **inputs).logits


def close(ours, theirs, by=1e-6):
    torch.testing.assert_close(ours, theirs, rtol=by, atol=by)


def textbook(name):
    """The formula, made known to Transformers beside ours: every rescaling has to agree with it."""

    def attention(module, query, key, value, attention_mask, **_):
        groups = query.shape[1] // key.shape[1]
        key, value = (x.repeat_interleave(groups, dim=1) for x in (key, value))
        divisor = RESCALING[name](key, attention_mask)
        divisor = torch.where(divisor == 0, 1.0, divisor)
        scores = (query @ key.mT / divisor).masked_fill(~attention_mask, -math.inf)
        weights = torch.softmax(scores, dim=-1).nan_to_num()  # rows that see no key
        return (weights @ value).transpose(1, 2), None

    def mask(**arguments):
        arguments |= {"allow_is_causal_skip": False, "allow_is_bidirectional_skip": False}
        return transformers.masking_utils.sdpa_mask(**arguments)

    transformers.AttentionInterface.register("textbook", attention)
    transformers.AttentionMaskInterface.register("textbook", mask)
    return "textbook"


def test_the_names_are_those_of_the_rescalings():
    names = [f"sdpa_lib:{name}" for name in known_rescalings()]
    assert register() == ["sdpa_lib", *names]  # once more
    assert register("ssmax") == ["sdpa_lib:ssmax"]
    assert register(LogCount(0.25)) == ["sdpa_lib:sqrt_d_k/0.25*ln_n"]
    assert register(LogCount(0.25), "mine") == ["sdpa_lib:mine"]
    assert known_rescalings()["mine"] == LogCount(0.25)  # one registry for both
    register(PowerOfDk(0.4), "mine")  # a name that is one's own may be given anew


def test_what_is_refused_is_neither_known_nor_offered():
    before = known_rescalings(), list(transformers.AttentionInterface._global_mapping)
    for function in (sdpa_lib.register, register):
        with pytest.raises(ValueError, match="'flash'"):
            function(PowerOfDk(0.4), "my_flash")
    assert before == (known_rescalings(), list(transformers.AttentionInterface._global_mapping))


def test_unregister_leaves_transformers_as_it_was(monkeypatch):
    cache, interface = transformers.cache_utils.Cache, transformers.AttentionInterface
    ours = cache.update
    unregister()
    assert cache.update is not ours
    assert not [name for name in interface()._global_mapping if name.startswith("sdpa_lib")]
    sdpa_lib.register(PowerOfDk(0.2), "unheard")
    assert "sdpa_lib:unheard" not in interface._global_mapping
    del sdpa_lib.rescaling._REGISTERED["unheard"]
    pristine = cache.update
    register()
    assert cache.update.__wrapped__ is pristine
    # One who has wrapped it once more keeps that, and ours does nothing within.
    theirs = functools.wraps(cache.update)(lambda *args, **kw: cache.update(*args, **kw))
    monkeypatch.setattr(cache, "update", theirs)
    unregister()
    assert cache.update is theirs
    monkeypatch.undo()
    register()
    for name in ONES_OWN:
        register(ONES_OWN[name], name.partition(":")[2])


@torch.no_grad()
def test_a_cache_may_be_filled_in_one_mode_and_continued_in_another():
    model = build(CONFIGURATIONS["Gemma 3"](), attn_implementation="sdpa_lib:k_total")
    expected = model(tokens()).logits
    no_grad, inference = torch.no_grad, torch.inference_mode
    for kind, modes in (  # Transformers itself can't write to a static one that inference mode made
        ("dynamic", [inference, no_grad, inference, no_grad, no_grad]),
        ("dynamic", [no_grad, no_grad, inference, inference, no_grad]),
        ("static", [no_grad, no_grad, inference, inference, no_grad]),
    ):
        cache, pieces = caches(model, kind), []
        for part, mode in zip(tokens().split([5, 1, 1, 1, 2], dim=1), modes, strict=True):
            with mode():
                pieces.append(model(part, past_key_values=cache).logits)
        close(torch.cat(pieces, dim=1), expected)


def test_a_rescaling_that_is_registered_later_is_known():
    model = build(CONFIGURATIONS["Llama"]())
    for power in (0.3, 0.7):  # the second takes the name over
        sdpa_lib.rescaling.register(PowerOfDk(power), "later")
        later = logits(model, "sdpa_lib:later", tokens())
        close(later, logits(model, register(PowerOfDk(power), "now")[0], tokens()))
    del sdpa_lib.rescaling._REGISTERED["later"]


def test_a_divisor_that_reads_the_keys_says_so_once():
    class Largest(sdpa_lib.Rescaling):
        name, formula = "largest key", "c"

        def divisor(self, key, visible):
            return visible.sum(key.abs().amax(-1))

    model, (name,) = build(CONFIGURATIONS["Gemma 3"]()), register(Largest())
    expected, cache = logits(model, name, tokens()), caches(model, "dynamic")
    with torch.no_grad():
        pieces = [model(tokens()[:, :6], past_key_values=cache).logits]
        with pytest.warns(UserWarning, match=r"Largest\.divisor reads the keys"):
            pieces.append(model(tokens()[:, 6:7], past_key_values=cache).logits)
        pieces.append(model(tokens()[:, 7:], past_key_values=cache).logits)  # warnings are errors
    close(torch.cat(pieces, dim=1), expected)


@CAUSAL
@SIDES
def test_without_a_rescaling_the_model_is_what_it_was(model, side):
    mask = padding(side)
    own = logits(model, OWN, tokens(), mask)[mask == 1]
    close(own, logits(model, "sdpa", tokens(), mask)[mask == 1])
    model.float()  # in double precision "eager" gives NaN in rows that see no key
    try:
        close(own.float(), logits(model, "eager", tokens(), mask)[mask == 1], by=1e-4)
    finally:
        model.double()


@CAUSAL
@SIDES
@pytest.mark.parametrize("name", KINDS)
def test_every_rescaling_is_the_textbooks_formula(model, side, name):
    mask = padding(side)
    expected = logits(model, textbook(name), tokens(), mask)
    close(logits(model, name, tokens(), mask), expected)


def test_a_rescaling_changes_what_the_model_says():
    """All but those that scale as Llama does itself, while the text is as short as here."""
    model = build(CONFIGURATIONS["Llama"]())
    own = logits(model, OWN, tokens())
    same = {name for name in RESCALING if torch.allclose(logits(model, name, tokens()), own)}
    assert same == {"sdpa_lib:sqrt_d_k", "sdpa_lib:qwen_1", "sdpa_lib:llama_4"}


def caches(model, kind):
    if kind == "dynamic":
        return transformers.DynamicCache(config=model.config)
    return transformers.StaticCache(config=model.config, max_cache_len=LENGTH + 5)


@CAUSAL
@EVERY
@pytest.mark.parametrize("kind", ["dynamic", "static"])
@pytest.mark.parametrize("steps", [[1] * LENGTH, [4, 1, 3, 2]], ids=["steps", "chunks"])
def test_decoding_with_a_cache_gives_what_one_pass_gives(model, name, kind, steps):
    """A model with a sliding window keeps only the window's keys."""
    mask = padding("left")
    expected = logits(model, name, tokens(), mask)
    cache, start, pieces = caches(model, kind), 0, []
    for step in steps:
        end = start + step
        with torch.no_grad():
            output = model(
                tokens()[:, start:end],
                attention_mask=mask[:, :end],
                position_ids=positions(mask)[:, start:end],
                past_key_values=cache,
                use_cache=True,
            )
        pieces.append(output.logits)
        start = end
    close(torch.cat(pieces, dim=1)[mask == 1], expected[mask == 1])


@CAUSAL
@EVERY
def test_a_cache_without_a_mask_gives_the_same(model, name):
    """Nobody has to pass a mask of ones, not even for a prompt in a longer, empty cache."""
    expected = logits(model, name, tokens())
    for kind in ("dynamic", "static"):
        cache = caches(model, kind)
        with torch.no_grad():
            pieces = [
                model(part, past_key_values=cache, use_cache=True).logits
                for part in tokens().split([6, 1, 3], dim=1)
            ]
        close(torch.cat(pieces, dim=1), expected)


@CAUSAL
@EVERY
def test_generate_writes_the_same_with_every_cache_and_padding(model, name):
    model.set_attn_implementation(name)
    plain = tokens(batch=1, length=LENGTH - PADDING)
    ids = torch.nn.functional.pad(plain, (PADDING, 0), value=2)
    mask = padding("left")[:1]
    options = {"max_new_tokens": 4, "do_sample": False, "pad_token_id": 2}
    expected = model.generate(plain, attention_mask=torch.ones_like(plain), **options)
    assert expected.shape == (1, LENGTH - PADDING + 4)
    for more in ({}, {"cache_implementation": "static"}, {"use_cache": False}):
        written = model.generate(ids, attention_mask=mask, **options, **more)
        assert torch.equal(written[:, PADDING:], expected)


@pytest.fixture
def measured(monkeypatch):
    """How many keys of each sequence were measured, in order."""
    counts, measure = [], sdpa_lib.transformers.key_lengths
    monkeypatch.setattr(
        sdpa_lib.transformers,
        "key_lengths",
        lambda key: counts.append(key.shape[-2]) or measure(key),
    )
    return counts


CACHES = pytest.mark.parametrize("kind", ["dynamic", "static"])


@CAUSAL
@CACHES
def test_a_step_measures_the_new_keys_alone(model, kind, measured):
    model.set_attn_implementation("sdpa_lib:k_total")
    model(tokens()[:, :6], past_key_values=caches(model, kind))
    assert not measured  # with gradients, the divisor measures for itself
    cache = caches(model, kind)
    with torch.no_grad():
        for part in tokens().split([6, 1, 1, 2], dim=1):
            measured.clear()
            model(part, past_key_values=cache)
        assert measured == [2, 2]  # two layers
        for name in ("sdpa", "sdpa_lib", "sdpa_lib:n_sqrt_d_k"):
            measured.clear()
            logits(model, name, tokens(), past_key_values=caches(model, kind))
            assert not measured


CHANGES = {
    "nothing": lambda layer: None,
    "beams": lambda layer: layer.reorder_cache(torch.tensor([1, 1])),
    "reset": lambda layer: layer.reset(),
    "in place": lambda layer: layer.keys.mul_(2.0),
    "other keys": lambda layer: setattr(layer, "keys", layer.keys.flip(0)),
    "crop": lambda layer: layer.get_seq_length() < WINDOW and layer.crop(-1),
    "roll back": lambda layer: layer.cumulative_length.sub_(1),
}
IMPOSSIBLE = [("static", "crop"), ("dynamic", "roll back"), ("dynamic", "reset")]
EVERY_CHANGE = [(kind, change) for change in CHANGES for kind in ("dynamic", "static")]
POSSIBLE = [pair for pair in EVERY_CHANGE if pair not in IMPOSSIBLE]


@CAUSAL
@pytest.mark.parametrize(("kind", "change"), POSSIBLE)
def test_whatever_is_done_to_a_cache_no_length_is_out_of_date(model, kind, change):
    model.set_attn_implementation("sdpa_lib:k_total")
    by_forgetting = {True: [], False: []}
    for forgets, outputs in by_forgetting.items():
        cache = caches(model, kind)
        with torch.no_grad():
            for part in tokens().split([3, 1, 1, 1, 2, 2], dim=1):
                outputs.append(model(part, past_key_values=cache).logits)
                if len(outputs) in (1, 3, 4):
                    for layer in cache.layers:
                        CHANGES[change](layer)
                if forgets:
                    sdpa_lib.transformers._STORED.clear()
    close(torch.cat(by_forgetting[False], dim=1), torch.cat(by_forgetting[True], dim=1))


@CAUSAL
@pytest.mark.parametrize(
    "options", [{"num_beams": 3}, {"prompt_lookup_num_tokens": 3}, {}], ids=["beams", "draft", "no"]
)
@pytest.mark.parametrize("name", ["sdpa_lib:k_total", "sdpa_lib:k_norm_4"])
def test_generate_with_beams_and_drafts(model, name, options):
    model.set_attn_implementation(name)
    ids = tokens(batch=1, length=4).repeat(1, 3)
    options = {"max_new_tokens": 8, "do_sample": False, "output_scores": True, **options}
    options |= {"return_dict_in_generate": True, "pad_token_id": 2, "eos_token_id": 39}
    written = model.generate(ids, **options)
    options.pop("prompt_lookup_num_tokens", None)
    expected = model.generate(ids, use_cache=False, **options)
    assert torch.equal(written.sequences, expected.sequences)
    close(torch.stack(written.scores), torch.stack(expected.scores))


@pytest.fixture(scope="module")
def bert():
    return build(transformers.BertConfig(**SMALL), transformers.AutoModelForMaskedLM)


@SIDES
def test_a_bidirectional_model_is_what_it_was(bert, side):
    mask = padding(side)
    own = logits(bert, OWN, tokens(), mask)
    for theirs in ("sdpa", "eager"):
        close(own, logits(bert, theirs, tokens(), mask))


@SIDES
@pytest.mark.parametrize("name", KINDS)
def test_a_bidirectional_model_takes_every_rescaling(bert, side, name):
    mask = padding(side)
    close(logits(bert, name, tokens(), mask), logits(bert, textbook(name), tokens(), mask))


SEQUENCE_TO_SEQUENCE = {
    "T5": lambda: transformers.T5Config(  # with a position bias
        vocab_size=40,
        d_model=32,
        d_kv=8,
        d_ff=48,
        num_layers=2,
        num_heads=4,
        initializer_factor=2.0,
        decoder_start_token_id=0,
    ),
    "BART": lambda: transformers.BartConfig(
        vocab_size=40,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        init_std=0.4,
    ),
}


@pytest.mark.parametrize("kind", SEQUENCE_TO_SEQUENCE)
def test_an_encoder_and_decoder_are_what_they_were(kind):
    """The decoder attends to the encoder's states, whose padding it must not see."""
    model = build(SEQUENCE_TO_SEQUENCE[kind](), transformers.AutoModelForSeq2SeqLM)
    if not model._can_set_attn_implementation():
        pytest.skip("T5 has the interface in later versions than the oldest that is promised")
    ids, mask, decoder = tokens(), padding("right"), {"decoder_input_ids": tokens(length=6)}
    own = logits(model, OWN, ids, mask, **decoder)
    for theirs in ("sdpa", "eager"):
        close(own, logits(model, theirs, ids, mask, **decoder))
    hidden = ids.clone()
    hidden[mask == 0] = 2
    for name in KINDS:
        decoded = logits(model, name, ids, mask, **decoder)
        close(decoded, logits(model, name, hidden, mask, **decoder))
        assert decoded.isfinite().all()
        options = {"attention_mask": mask, "max_new_tokens": 4, "do_sample": False}
        written = [model.generate(ids, use_cache=cache, **options) for cache in (True, False)]
        assert torch.equal(*written)


def test_generate_with_a_static_cache_begins_with_a_prompt_of_one_token():
    """The other keys of the cache are empty yet, and are not seen."""
    model, prompt = build(CONFIGURATIONS["Llama"]()), tokens(batch=1, length=1)
    options = {"max_new_tokens": 4, "do_sample": False, "pad_token_id": 2}
    for name in [OWN, *KINDS]:
        model.set_attn_implementation(name)
        written = [
            model.generate(prompt, cache_implementation=c, **options) for c in ("static", None)
        ]
        assert torch.equal(*written)


def test_packed_sequences_do_not_see_each_other():
    model, ids = build(CONFIGURATIONS["Llama"]()), tokens(batch=1)
    places = torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3, 4, 5]])
    for name in [OWN, *KINDS]:
        packed = logits(model, name, ids, position_ids=places)
        apart = [logits(model, name, part) for part in ids.split([4, 6], dim=1)]
        close(packed, torch.cat(apart, dim=1))


@CAUSAL
def test_weights_are_given_where_they_are_asked_for(model):
    mask, ids = padding("none"), tokens()
    attentions = {}
    for name in ("eager", OWN, "sdpa_lib:k_total"):
        model.set_attn_implementation(name)
        with torch.no_grad():
            attentions[name] = model(ids, attention_mask=mask, output_attentions=True).attentions
    if model.config.model_type == "gpt2":  # it keeps the request from its attention
        assert attentions[OWN] == ()
        return
    for ours, theirs, others in zip(
        attentions[OWN], attentions["eager"], attentions["sdpa_lib:k_total"], strict=True
    ):
        close(ours, theirs.double())
        close(others.sum(-1), torch.ones(2, 4, LENGTH, dtype=torch.float64))
        assert not torch.allclose(ours, others)


def test_dropout_is_applied_in_training():
    model = build(transformers.LlamaConfig(**SMALL, attention_dropout=0.5)).train()
    in_training = {}
    for name in ("sdpa", OWN):
        torch.manual_seed(3)
        in_training[name] = logits(model, name, tokens())
    close(in_training["sdpa"], in_training[OWN])
    assert not torch.allclose(in_training[OWN], logits(model.eval(), OWN, tokens()))


@EVERY
def test_a_model_learns_in_lower_precision(name):
    """Autocasting leaves rotated queries and keys in float32 and values in bfloat16."""
    model = build(CONFIGURATIONS["Gemma 3"](), attn_implementation=name).float()
    ids, mask = tokens(), padding("left")
    with torch.autocast("cpu", torch.bfloat16):
        loss = model(ids, attention_mask=mask, labels=ids.masked_fill(mask == 0, -100)).loss
    loss.backward()
    exact = model(ids, attention_mask=mask, labels=ids.masked_fill(mask == 0, -100)).loss
    assert abs(loss - exact) < 0.05 * exact
    assert all(p.grad.isfinite().all() for p in model.parameters())
    half = model.bfloat16()(ids, attention_mask=mask, labels=ids.masked_fill(mask == 0, -100)).loss
    assert abs(half - exact) < 0.05 * exact


REFUSED = {  # what does not go beyond the model's own scaling
    "OPT": lambda: transformers.OPTConfig(
        vocab_size=40, hidden_size=32, num_hidden_layers=1, ffn_dim=32, num_attention_heads=4
    ),
    "Llama 4": lambda: transformers.Llama4TextConfig(
        **SMALL | {"pad_token_id": None},
        **GROUPED,
        intermediate_size_mlp=32,
        no_rope_layers=[1, 0],
        num_local_experts=2,
    ),
    "Ministral 3": lambda: transformers.Ministral3Config(
        **SMALL | {"max_position_embeddings": 8192}, **GROUPED
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_model_that_scales_its_queries_keeps_its_own_scaling(kind):
    model = build(REFUSED[kind]())
    close(logits(model, OWN, tokens()), logits(model, "sdpa", tokens()))
    with pytest.raises(ValueError, match=r"Attention scales its queries itself.*only 'sdpa_lib'"):
        logits(model, "sdpa_lib:k_total", tokens())


@pytest.mark.parametrize(
    ("kind", "why"), [("Gemma2", "softcap, which caps the scores"), ("GptOss", "s_aux")]
)
@EVERY
def test_capped_scores_and_attention_sinks_are_refused(kind, why, name):
    """Here or, before a model is made, by Transformers, because the names say "sdpa"."""
    configuration = getattr(transformers, f"{kind}Config")(**SMALL)
    with pytest.raises(ValueError, match=f"{kind}ForCausalLM does not support|passes {why}"):
        logits(build(configuration, attn_implementation=name), name, tokens())


@pytest.mark.parametrize("name", [OWN, "sdpa_lib:k_total", "sdpa_lib:ssmax"])
def test_a_step_of_decoding_is_compiled_in_one_piece(name):
    """As ``generate`` does on a GPU, with a static cache; one that isn't may come after."""
    model, ids = build(CONFIGURATIONS["Gemma 3"]()), tokens()
    expected, cache = logits(model, name, ids), caches(model, "static")
    compiled = torch.compile(model.forward, fullgraph=True, backend="aot_eager")
    with torch.no_grad():
        pieces = [model(ids[:, :6], past_key_values=cache, use_cache=True).logits]
        pieces += [
            step(part, past_key_values=cache, use_cache=True).logits
            for step, part in zip([compiled] * 3 + [model], ids[:, 6:].split(1, dim=1), strict=True)
        ]
    close(torch.cat(pieces, dim=1), expected)
