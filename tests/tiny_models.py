"""Configurations of tiny models of Hugging Face Transformers, for the tests in ``hugging_face``."""

import importlib

LENGTH, WINDOW, PADDING = 10, 4, 3
SHAPE = {
    "vocab_size": 40,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
    "initializer_range": 0.4,  # large weights, so that the scaling matters
}
SMALL = {**SHAPE, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": None}
GROUPED = {"num_key_value_heads": 2, "head_dim": 8}
GPT_2 = {
    "vocab_size": 40,
    "n_positions": 64,
    "n_embd": 32,
    "n_layer": 2,
    "n_head": 4,
    "initializer_range": 0.4,
    "bos_token_id": 1,
    "eos_token_id": None,
}
WINDOWS = {
    "query_pre_attn_scalar": 24,
    "sliding_window": WINDOW,
    "layer_types": ["sliding_attention", "full_attention"],
}


def decoder(name, **options):
    """A configuration by the model's name."""
    own = {
        "Llama": ("LlamaConfig", {**SMALL, **GROUPED}),
        "Qwen 3": ("Qwen3Config", {**SMALL, **GROUPED}),
        "Mistral": ("MistralConfig", {**SMALL, **GROUPED, "sliding_window": WINDOW}),
        "Gemma 3": ("Gemma3TextConfig", {**SMALL, **GROUPED, **WINDOWS}),
        "GPT-2": ("GPT2Config", GPT_2),
    }
    kind, arguments = own[name]
    return getattr(importlib.import_module("transformers"), kind)(**arguments, **options)
