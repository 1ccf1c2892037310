"""How large a published model's queries and keys are before training, by its own code."""

import math
from typing import NamedTuple


class Start(NamedTuple):
    """How a model's code starts the queries and keys that ``sdpa_lib.models`` takes.

    Attributes:
        of: the model that is started, where its entry stands for several.
        query: standard deviation of a query's components, the root mean square over the head.
        key: that of a key's.
    """

    of: str
    query: float
    key: float


def from_inputs(*inputs: int, std: float = 0.02) -> float:
    """The standard deviation of components that a fresh matrix makes of normalised inputs.

    Args:
        inputs: how many there are; if several numbers, each is of an equal part of the components.
        std: of the matrix's entries: 0.02 where Hugging Face Transformers starts a model.

    Example:
        >>> from_inputs(768) ** 2  # the scores of GPT-2 small, divided by the root
        0.3072...
    """
    return std * math.sqrt(sum(inputs) / len(inputs))


def _same(of: str, inputs: int) -> Start:
    return Start(of, from_inputs(inputs), from_inputs(inputs))


_UNIT = Start("", 1.0, 1.0)

STARTS: dict[str, Start] = {
    "GPT-2, BERT, Llama": _same("GPT-2 small", 768),
    "GPT-2, option, layer 12": _same("GPT-2 small", 768),
    "DeBERTa, content term": _same("DeBERTa base", 768),
    "Gemma 2 27B": _same("", 4608),
    "Granite, Cerebras-GPT (muP)": _same("Granite, width 4,096", 4096),
    "T5, GPT-Neo": _UNIT,  # in T5's and GPT-Neo's own code
    "Falcon-H1 0.5B": _same("", 1024),
    "Zamba 2": _same("Zamba 2 2.7B", 2 * 2560),  # the stream and the embeddings, side by side
    "TimesFM": _same("", 1280),
    "LongCat-Flash": Start(  # both parts of a key come out as large
        "", (6144 / 1536) ** 0.5 * from_inputs(1536), (6144 / 512) ** 0.5 * from_inputs(512)
    ),
    # Normalised queries and keys have unit variance, whatever the matrices.
    "Qwen 3, OLMo 2, DeepSeek-V4": _UNIT,
    "Muse Glimmer": _UNIT,
    "Muse Spark": _UNIT,
    "Inkling": _UNIT,
    "Gemma 3n": _UNIT,
    "nGPT": _UNIT,
    "Swin v2": _UNIT,
    "Llama 4, every fourth layer": _same("", 5120),
    # Half of a key is made of normalised latents, and half of all inputs.
    "Mistral 4": Start("", from_inputs(1024), from_inputs(256, 4096)),
    # A convolution of four taps is added to a key, and the sum divided by the root of 5.
    "Inkling 2": Start(
        "sliding layers", from_inputs(4608), from_inputs(4608) * ((1 + 4 * 0.02**2) / 5) ** 0.5
    ),
    "Mistral Large 4": Start("layers with RoPE", from_inputs(6144), from_inputs(512, 6144)),
}
"""The models of ``sdpa_lib.models`` whose code gives new weights a start, which need not be that of
their training. Missing are those whose code only loads weights (Grok-1), whose rule is for trained
ones (YaRN, Qwen 1) or only in a paper (Scalable-Softmax, Su), and muP, where W_Q starts at 0.
"""
