"""What sources say of gradients at the start of training: through many blocks, from the stored
measurements of article B, and in the tail.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from statistics import median

import torch
from torch import Tensor

from sdpa_book.ledger.verdict import Finding, finding
from sdpa_book.studies.depth import Depth, Starts, load_depth
from sdpa_book.writing.measured import Measured, mean_and_error, median_and_error, ratio
from sdpa_lib.saturation import sample_gradients


def first_gradient_grows(
    *, d_k: Sequence[int], n_layers: Sequence[int], scaling: str = "none", other: str = "sqrt_d_k"
) -> Finding:
    """The first gradient of all parameters in the second of two models over that in the first,
    beyond the root of the number of blocks, with which the norm of equal parts would grow. ``d_k``
    and ``n_layers`` have one entry for each.
    """
    query = _stored()[Depth(d_k[1], n_layers[1], scaling)].query
    return finding(
        *_growth(d_k, n_layers, scaling),
        root=_growth(d_k, n_layers, other).value,
        linear=_growth(d_k, n_layers, scaling, "nn.Linear").value,
        linear_root=_growth(d_k, n_layers, other, "nn.Linear").value,
        first=query[0],
        last=query[-1],
    )


def weights_through_depth(*, d_k: int, n_layers: int = 24) -> Finding:
    """The gradient at W_Q, and at W_K, undivided over that with the root: the least ratio of all
    blocks, at initialisation.
    """
    ours, root = (_stored()[Depth(d_k, n_layers, scaling)] for scaling in ("none", "sqrt_d_k"))
    ratios = [
        [a / b for a, b in zip(*pair, strict=True)]
        for pair in ((ours.query, root.query), (ours.key, root.key))
    ]
    return finding([min(at) for at in ratios], first=ratios[0][0])


def median_gradient(*, d_k: int, n: int = 32) -> Finding:
    """The median gradient that arrives at a query undivided, over that with the root, drawn as in
    article A.
    """
    undivided, root = (
        median_and_error(sample_gradients(2**14, n, d_k, c, d_v=64, seed=seed, device="cpu"))
        for c, seed in ((1.0, 2), (math.sqrt(d_k), 1))
    )
    measured = ratio(undivided, root)
    return finding(*measured, ratio=measured)


def starved_queries(*, d_k: int, wider: int, n: int = 32, factor: float = 100.0) -> Finding:
    """The share of queries whose undivided gradient is less than the median with the root over
    ``factor``; beside it that share at a wider dimension.
    """
    (starved, medians), (more, _) = (_starved(d, n, factor) for d in (d_k, wider))
    return finding(*mean_and_error(starved), medians=medians, wider=more.mean().item())


def _starved(d_k: int, n: int, factor: float) -> tuple[Tensor, float]:
    """Which queries are starved, as 0 or 1, and the median over that with the root."""
    undivided, root = (
        sample_gradients(2**15, n, d_k, c, d_v=64, seed=2, device="cpu")
        for c in (1.0, math.sqrt(d_k))
    )
    starved = undivided < root.median() / factor
    return starved.double(), (undivided.median() / root.median()).item()


@cache
def _stored() -> dict[Depth, Starts]:
    return load_depth()[1]


def _growth(
    d_k: Sequence[int], n_layers: Sequence[int], scaling: str, start: str = "1/inputs"
) -> Measured:
    """The ratio of the median norms of a block, with the error of the ratio of the geometric
    means.
    """
    before, after = (
        torch.tensor(_stored()[Depth(d, n, scaling, start=start)].total, dtype=torch.float64)
        / n**0.5
        for d, n in zip(d_k, n_layers, strict=True)
    )
    value = median(after.tolist()) / median(before.tolist())
    errors = (mean_and_error(norms.log()).error for norms in (before, after))
    return Measured(value, value * math.hypot(*errors))
