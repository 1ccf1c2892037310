"""Attention by its definition, in double precision and without a line of the library's; what to
compare it on, and how.
"""

import math
from typing import Any

import torch
from torch import Tensor

from sdpa_lib import Rescaling, Visible, scaled_dot_product_attention
from sdpa_lib.sampling import sample

MASKS = ("none", "causal", "boolean", "additive", "hides a row")


def qkv(
    *batch: int,
    n_queries: int = 9,
    n_keys: int = 11,
    d_k: int = 16,
    d_v: int = 16,
    dtype: torch.dtype = torch.float64,
    heads: tuple[int, int] | None = None,
) -> list[Tensor]:
    """A query, a key and a value; ``heads`` are those of the query and of the others."""
    shapes = ((n_queries, d_k), (n_keys, d_k), (n_keys, d_v))
    of_each = [(), (), ()] if heads is None else [(heads[0],), (heads[1],), (heads[1],)]
    return [
        sample(*batch, *own, *shape, seed=1, stream=i, device="cpu", dtype=dtype)
        for i, (own, shape) in enumerate(zip(of_each, shapes, strict=True))
    ]


def arguments(mask: str, dtype: torch.dtype = torch.float64) -> dict[str, Any]:
    """What says which keys each of 9 queries sees of 11: one of ``MASKS``."""
    boolean = sample(9, 11, seed=2, device="cpu") > -0.5
    boolean[:, 0] = True
    if mask == "hides a row":
        boolean[2] = False
        return {"attn_mask": boolean}
    additive = sample(9, 11, seed=3, device="cpu", dtype=dtype).masked_fill(~boolean, -math.inf)
    given: dict[str, dict[str, Any]] = {
        "none": {},
        "causal": {"is_causal": True},
        "boolean": {"attn_mask": boolean},
        "additive": {"attn_mask": additive},
    }
    return given[mask]


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    rescaling: str | Rescaling,
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor]:
    """The output and the weights."""
    query, key, value = query.double(), key.double(), value.double()
    products = query @ key.mT
    visible, bias = torch.ones(products.shape[-2:], dtype=torch.bool), torch.zeros(())
    visible = visible.tril() if is_causal else visible
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        visible = attn_mask
    elif attn_mask is not None:
        visible, bias = attn_mask > -9984, attn_mask.double()
    visible = visible.expand(products.shape)
    scores = (products / divisor(rescaling, key, visible) + bias).masked_fill(~visible, -math.inf)
    sees_nothing = ~visible.any(-1, keepdim=True)
    weights = torch.softmax(scores.masked_fill(sees_nothing, 0.0), -1).masked_fill(sees_nothing, 0)
    return weights @ value, weights


def textbook(*tensors: Any, **given: Any) -> Tensor:
    """The output alone."""
    return attention(*tensors, **given)[0]


def outputs(*tensors: Any, **given: Any) -> tuple[Tensor, Tensor]:
    """The library's output on both of its paths: by PyTorch's kernel, and by the whole matrix."""
    by_matrix, _ = scaled_dot_product_attention(*tensors, return_weights=True, **given)
    return scaled_dot_product_attention(*tensors, **given), by_matrix


def close(ours: Tensor | tuple[Tensor, ...], expected: Tensor, by: float = 1e-10) -> None:
    """Each of ``ours`` is ``expected``, but for rounding, and for its dtype."""
    for one in (ours,) if isinstance(ours, Tensor) else ours:
        torch.testing.assert_close(
            one.double(), expected.double(), rtol=by, atol=by, equal_nan=True
        )


class Given(Rescaling):
    """Whatever divisor, or constant, it is given."""

    name = formula = "given"

    def __init__(self, divisor: Any = None, constant: Any = None) -> None:
        self._divisor, self._constant = divisor, constant

    def divisor(self, key: Tensor, visible: Visible) -> Any:
        return self._divisor

    def constant(self, d_k: int) -> Any:
        return self._constant


def divisor(rescaling: str | Rescaling, key: Tensor, visible: Tensor) -> Tensor:
    """(..., L, 1), for keys (..., S, d_k) of which each row sees some, (..., L, S)."""
    root = math.sqrt(key.shape[-1])
    visible = visible | ~visible.any(-1, keepdim=True)  # a row that sees nothing has no scores
    lengths: Tensor = torch.linalg.vector_norm(key, dim=-1).unsqueeze(-2) * visible
    n = visible.sum(-1).double()
    log = n.clamp(min=2).log()
    c = {
        "none": torch.ones_like(n),
        "sqrt_d_k": root * torch.ones_like(n),
        "d_k": root**2 * torch.ones_like(n),
        "k_total": lengths.sum(-1),
        "k_mean": lengths.sum(-1) / n.clamp(min=1),
        "k_rss": lengths.square().sum(-1).sqrt(),
        "k_norm_4": lengths.pow(4).sum(-1).pow(0.25),
        "n_sqrt_d_k": n * root,
        "PowerOfDk(power=0.5, factor=3.0)": 3 * root * torch.ones_like(n),
        "LogCount(s=0.43, power=0.5)": root / (0.43 * log),
        "LogCount(s=2.0, power=1.0)": root**2 / (2 * log),
        "LogBeyond(n_0=4)": root / (n.clamp(min=4).log() / math.log(4)),
        "LogSteps(n_0=4, beta=0.5)": root / (1 + 0.5 * torch.log(1 + n // 4)),
    }[str(rescaling)]
    return c.masked_fill(c == 0, 1.0).unsqueeze(-1)  # where no score depends on it
