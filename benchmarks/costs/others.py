"""Other implementations of attention, forward on a long input, beside PyTorch's function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from benchmarks.contestants import Shape, in_numpy, inputs, textbook
from benchmarks.costs.attention import long_shape
from benchmarks.machine import on_gpu, working_dtype
from benchmarks.tables import grid, spread
from benchmarks.timing import TORCH, Contestant, compare

ORDERS = {"full": False, "causal": True}


def compiled_textbook(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> Contestant:
    """The formula, and what a compiler makes of it."""
    compiled = torch.compile(textbook)
    return lambda: compiled(q, k, v, is_causal)


def compiled_flex_attention(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> Contestant:
    """PyTorch's attention with any change of the scores."""
    flex = torch.compile(flex_attention)
    n = q.shape[-2]
    mask = (
        create_block_mask(lambda b, h, i, j: i >= j, None, None, n, n, device=str(q.device))
        if is_causal
        else None
    )
    return lambda: flex(q, k, v, block_mask=mask)


def x_transformers(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> Contestant:
    """The attention of the package x-transformers."""
    from x_transformers.attend import Attend

    attend = Attend(causal=is_causal, scale=1 / math.sqrt(q.shape[-1]))
    return lambda: attend(q, k, v)[0]


def numpy_textbook(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> Contestant:
    """The formula in NumPy."""
    arrays = [x.numpy() for x in (q, k, v)]
    return lambda: in_numpy(*arrays)


PEERS: dict[str, Callable[[Tensor, Tensor, Tensor, bool], Contestant]] = {
    "textbook": lambda q, k, v, is_causal: lambda: textbook(q, k, v, is_causal),
    "textbook, torch.compile": compiled_textbook,
    "FlexAttention, torch.compile": compiled_flex_attention,
    "x-transformers": x_transformers,
    "NumPy": numpy_textbook,
}


def peers(
    q: Tensor, k: Tensor, v: Tensor, is_causal: bool
) -> tuple[dict[str, Contestant], dict[str, str]]:
    """Other implementations, and why one of them does not run here."""
    running, absent = {}, {}
    for name, prepare in PEERS.items():
        if name == "NumPy" and (on_gpu() or is_causal):
            continue
        try:
            run = prepare(q, k, v, is_causal)
            run()
            running[name] = run
        except ImportError as error:
            absent[name] = str(error)
        except Exception as error:  # a peer that doesn't run is a result
            absent[name] = f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
    return running, absent


def measure(budget: float, shape: Shape | None = None) -> dict[str, Any]:
    """The comparison in full and in causal order, with all threads, for ``budget`` seconds each."""
    shape = shape or long_shape()
    results: dict[str, Any] = {"shape": shape, "base": TORCH}
    with torch.no_grad():
        for order, is_causal in ORDERS.items():
            q, k, v = inputs(shape, working_dtype())
            running, absent = peers(q, k, v, is_causal)
            own = own_call(q, k, v, is_causal)
            results[order] = compare({TORCH: own, **running}, TORCH, budget)
            results[f"absent, {order}"] = absent
    return results


def own_call(q: Tensor, k: Tensor, v: Tensor, is_causal: bool) -> Callable[[], Tensor]:
    """PyTorch's."""
    return lambda: F.scaled_dot_product_attention(q, k, v, is_causal=is_causal)


def tables(results: dict[str, Any]) -> list[str]:
    """The ratios, and what does not run."""

    def cell(order: str, name: str) -> str:
        return spread(results[order][name], "ratio", digits=2) if name in results[order] else ""

    names = dict.fromkeys(name for order in ORDERS for name in results[order] if name != TORCH)
    return [
        f"## Other implementations: forward, {tuple(results['shape'])}, over PyTorch's",
        "",
        *grid(["", *ORDERS], [[name, *(cell(o, name) for o in ORDERS)] for name in names]),
        *(
            f"Does not run here, {order}: {name} ({why}).\n"
            for order in ORDERS
            for name, why in results[f"absent, {order}"].items()
        ),
    ]
