"""Scaled dot-product attention, with any rescaling, and the tools to measure what the scaling
does.
"""

from sdpa_lib.attention import attention_scores, attention_weights, scaled_dot_product_attention
from sdpa_lib.device import get_device, get_dtype
from sdpa_lib.moments import (
    MeasuredMoments,
    Moments,
    exact_moments,
    measure_dot_products,
    measure_moments,
    normal_dot_product_density,
    sample_dot_products,
    sample_normal_scores,
    shape_distance,
)
from sdpa_lib.rescaling import (
    RESCALINGS,
    CountTimesRootDk,
    KeyLengthNorm,
    MeanKeyLength,
    PowerOfDk,
    Rescaling,
    get_rescaling,
    key_lengths,
)
from sdpa_lib.sampling import (
    DISTRIBUTIONS,
    Distribution,
    get_distribution,
    sample,
    sample_qkv,
    student_t,
)
from sdpa_lib.saturation import (
    Gradients,
    RowSaturation,
    attention_gradients,
    effective_keys,
    entropy,
    jacobian_norm,
    largest_weight,
    sample_gradients,
    saturation_of_rows,
    softmax_jacobian,
)

__version__ = "2.0.0"

__all__ = [
    "DISTRIBUTIONS",
    "RESCALINGS",
    "CountTimesRootDk",
    "Distribution",
    "Gradients",
    "KeyLengthNorm",
    "MeanKeyLength",
    "MeasuredMoments",
    "Moments",
    "PowerOfDk",
    "Rescaling",
    "RowSaturation",
    "attention_gradients",
    "attention_scores",
    "attention_weights",
    "effective_keys",
    "entropy",
    "exact_moments",
    "get_device",
    "get_distribution",
    "get_dtype",
    "get_rescaling",
    "jacobian_norm",
    "key_lengths",
    "largest_weight",
    "measure_dot_products",
    "measure_moments",
    "normal_dot_product_density",
    "sample",
    "sample_dot_products",
    "sample_gradients",
    "sample_normal_scores",
    "sample_qkv",
    "saturation_of_rows",
    "scaled_dot_product_attention",
    "shape_distance",
    "softmax_jacobian",
    "student_t",
]
