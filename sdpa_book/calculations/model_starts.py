"""How large a published model's queries and keys are before training, by its own code."""

import math
from typing import NamedTuple

from torch import Tensor

from sdpa_lib._checks import check_count, unknown_name
from sdpa_lib.models import MODELS
from sdpa_lib.sampling import sample


class Start(NamedTuple):
    """How a model's code starts the queries and keys that ``sdpa_lib.models`` takes.

    Attributes:
        of: the model that is started, where its entry stands for several.
        query: standard deviation of a query's components, the root mean square over the head.
        key: that of a key's.
        bias: that of what is added to the scores of a query, over its keys.
        keys: how many keys a query sees at most, in more than half of the layers (by a window, a
            choice of keys or the length in training); ``None`` where that is 8,192 or more, where
            as many layers see more as less, or where it was not looked up.
    """

    of: str
    query: float
    key: float
    bias: float = 0.0
    keys: int | None = None


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


def _same(of: str, inputs: int, keys: int | None = None) -> Start:
    return Start(of, from_inputs(inputs), from_inputs(inputs), keys=keys)


def _by_distance(inputs: int) -> float:
    """The bias of both Inklings: 16 components that a matrix makes of the query's token, times a
    matrix with a column for each distance.
    """
    return 0.02 * math.sqrt(16) * from_inputs(inputs)


_UNIT = Start("", 1.0, 1.0)

STARTS: dict[str, Start] = {
    "GPT-2, BERT, Llama": _same("GPT-2 small", 768, keys=1024),
    "GPT-2, option, layer 12": _same("GPT-2 small", 768, keys=1024),
    "DeBERTa, content term": _same("DeBERTa base", 768, keys=512),
    "Gemma 2 27B": _same("", 4608),
    "Granite, Cerebras-GPT (muP)": _same("Granite, width 4,096", 4096),
    "T5, GPT-Neo": _UNIT._replace(of="T5", keys=512),  # in T5's and GPT-Neo's own code
    "Falcon-H1 0.5B": _same("", 1024),
    "Zamba 2": _same("Zamba 2 2.7B", 2 * 2560),  # the stream and the embeddings, side by side
    "TimesFM": _same("", 1280),
    "LongCat-Flash": Start(  # both parts of a key come out as large
        "", (6144 / 1536) ** 0.5 * from_inputs(1536), (6144 / 512) ** 0.5 * from_inputs(512)
    ),
    # Normalised queries and keys have unit variance, whatever the matrices.
    "Qwen 3, OLMo 2, DeepSeek-V4": _UNIT._replace(of="Qwen 3"),
    "Muse Glimmer": _UNIT,
    "Muse Spark": _UNIT._replace(keys=2048),  # a window, in three layers of four
    "Inkling": _UNIT._replace(bias=_by_distance(6144), keys=512),  # in five layers of six
    "Gemma 3n": _UNIT._replace(keys=512),  # in four layers of five
    "nGPT": _UNIT,
    "Swin v2": _UNIT._replace(keys=64),  # a window of 8 times 8
    "Llama 4, every fourth layer": _same("", 5120),
    # Half of a key is made of normalised latents, and half of all inputs.
    "Mistral 4": Start("", from_inputs(1024), from_inputs(256, 4096)),
    # A convolution of four taps is added to a key, and the sum divided by the root of 5.
    "Inkling 2": Start(
        "sliding layers",
        from_inputs(4608),
        from_inputs(4608) * ((1 + 4 * 0.02**2) / 5) ** 0.5,
        bias=_by_distance(4608),
        keys=1024,
    ),
    "Mistral Large 4": Start(  # the keys are chosen
        "layers with RoPE", from_inputs(6144), from_inputs(512, 6144), keys=2048
    ),
}
"""The models of ``sdpa_lib.models`` whose code gives new weights a start, which need not be that of
their training. Missing are those whose code only loads weights (Grok-1), whose rule is for trained
ones (YaRN, Qwen 1) or only in a paper (Scalable-Softmax, Su), and muP, where W_Q starts at 0.
"""


def fresh_scores(name: str, n_queries: int, n_keys: int) -> Tensor:
    """Scores as the code of a model starts them, of random queries and keys.

    Args:
        name: in ``STARTS``.
        n_queries: at least 1.
        n_keys: how many keys there are, at least 1.

    Returns:
        (n_queries, as many keys as a query sees of them).

    Raises:
        ValueError: the name is not known, or a number is less than 1.

    Example:
        >>> fresh_scores("Swin v2", 2, 8192).shape
        torch.Size([2, 64])
    """
    if name not in STARTS:
        raise unknown_name("name", name, STARTS)
    check_count("n_queries", n_queries)
    check_count("n_keys", n_keys)
    start, model = STARTS[name], MODELS[name]
    seen = min(n_keys, start.keys or n_keys)
    query = start.query * sample(n_queries, model.d_k, seed=1)
    key = start.key * sample(seen, model.d_k, seed=0)
    return model.scores(query, key) + start.bias * sample(n_queries, seen, seed=2)
