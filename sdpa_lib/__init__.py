"""Scaled dot-product attention, with any rescaling, and the tools to measure what the scaling
does. Here is what it takes to compute attention, and to watch it in a model: ``watch`` and
``rescaled``, of which ``help(sdpa_lib.watching)`` tells. What draws samples, measures moments or
chooses a device is in ``sdpa_lib.sampling``, ``sdpa_lib.moments`` and
``sdpa_lib.device``.
"""

from pkgutil import resolve_name
from typing import TYPE_CHECKING

from sdpa_lib.attention import attention_scores, attention_weights, scaled_dot_product_attention
from sdpa_lib.decoding import RunningDivisor
from sdpa_lib.rescaling import (
    MODEL_RESCALINGS,
    RESCALINGS,
    CountTimesRootDk,
    KeyLengthNorm,
    LogBeyond,
    LogCount,
    LogSteps,
    MeanKeyLength,
    PowerOfDk,
    Rescaling,
    get_rescaling,
    key_lengths,
    known_rescalings,
    register,
)
from sdpa_lib.saturation import (
    attention_gradients,
    effective_keys,
    entropy,
    largest_weight,
    perplexity,
    softmax_jacobian,
)
from sdpa_lib.visibility import Visible

__version__ = "5.0.0"

__all__ = [
    "MODEL_RESCALINGS",
    "RESCALINGS",
    "CountTimesRootDk",
    "KeyLengthNorm",
    "LogBeyond",
    "LogCount",
    "LogSteps",
    "MeanKeyLength",
    "PowerOfDk",
    "Rescaling",
    "RunningDivisor",
    "Seen",
    "Visible",
    "attention_gradients",
    "attention_scores",
    "attention_weights",
    "effective_keys",
    "entropy",
    "get_rescaling",
    "key_lengths",
    "known_rescalings",
    "largest_weight",
    "perplexity",
    "register",
    "rescaled",
    "scaled_dot_product_attention",
    "softmax_jacobian",
    "watch",
]

_MOVED = {
    "jacobian_norm": "saturation",
    "measure_dot_products": "moments",
    "sample": "sampling",
    "saturation_of_rows": "saturation",
}

if TYPE_CHECKING:
    from sdpa_lib.watching import Seen, rescaled, watch
else:  # which would take any name for one that there is

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__, "models", "transformers", "watching"})

    def __getattr__(name: str) -> object:
        """What nothing here needs, once it is asked for."""
        if name in ("models", "transformers", "watching"):
            return resolve_name(f"{__name__}.{name}:")  # with a colon it is a module
        if name in ("Seen", "rescaled", "watch"):
            return resolve_name(f"{__name__}.watching:{name}")
        if name in _MOVED:
            raise AttributeError(f"{name} moved to sdpa_lib.{_MOVED[name]} in 5.0")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
