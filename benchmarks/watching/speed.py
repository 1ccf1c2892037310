"""What watching costs, and, on a GPU, that it is right there: a part of ``make bench``.

Contestants alternate as in ``costs/attention.py``: ratios are those of a call that is watched to the same call
that is not, in the same round. The results go to ``benchmarks/results/watching``. On a GPU this is
all that has to be shown, and takes less than five minutes::

    python -m benchmarks.watching.speed
"""

from __future__ import annotations

import argparse
import itertools
import json
import logging
import math
import multiprocessing
import os
import platform
import re
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import sdpa_lib
from benchmarks.costs.attention import (
    DEVICE,
    MANY_THREADS,
    ON_GPU,
    RESULTS,
    THREADS,
    TORCH,
    compare,
    device_name,
    extra_memory,
    grid,
    in_words,
    inputs,
)
from sdpa_lib import _fused, _rows, watch

SHAPES = ((1, 8, 2048, 64), (8, 12, 512, 64))
LONG = (1, 8, 16_384, 64)
TARGETS = {"float32": 3.5, "bfloat16": 6.0, "model": 1.10, "memory": 0.2}
"""Calls of PyTorch's function beside the model's own, in float32 and bfloat16; what a step of a
training may take with 64 rows measured; and memory, over that of the call's own tensors.
"""


def by_the_table(query: Tensor, key: Tensor, is_causal: bool) -> list[Tensor]:
    """The figures as one would write them."""
    scores = query @ key.mT * query.shape[-1] ** -0.5
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
    hidden &= is_causal
    scores = scores.float().masked_fill(hidden, -math.inf)
    weights = scores.softmax(-1)
    seen = scores.masked_fill(hidden, 0.0)
    count = (~hidden).sum(-1)
    mean = seen.sum(-1) / count
    spread = (seen.square().sum(-1) / count - mean.square()).clamp(min=0.0).sqrt()
    return [
        torch.special.entr(weights).sum(-1),
        1.0 / weights.square().sum(-1),
        weights.amax(-1),
        scores.amax(-1),
        spread,
    ]


def module_monitor(query: Tensor, key: Tensor, is_causal: bool) -> Callable[[], object] | None:
    """torch-module-monitor, which has to be called in each module, and has entropy, queries, keys
    and values of each head.
    """
    try:
        from torch_module_monitor import ModuleMonitor
        from torch_module_monitor.attention import monitor_scaled_dot_product_attention
    except ImportError:
        print("torch-module-monitor is not installed, and so not compared")
        return None
    quiet = logging.getLogger("torch_module_monitor")
    quiet.setLevel(logging.ERROR)
    monitor = ModuleMonitor(monitor_step_fn=lambda step: True, logger=quiet)
    monitor.set_module(nn.Identity())
    steps = itertools.count()

    def run() -> Tensor:
        output = F.scaled_dot_product_attention(query, key, key, is_causal=is_causal)
        monitor.begin_step(next(steps))
        monitor_scaled_dot_product_attention(
            monitor, "attention", query, key, key, is_causal=is_causal, activation=output
        )
        monitor.end_step()
        return output

    return run


def calls(
    shape: tuple[int, ...], dtype: torch.dtype, is_causal: bool
) -> dict[str, Callable[[], object]]:
    query, key, value = inputs(shape, dtype)

    def own() -> Tensor:
        return F.scaled_dot_product_attention(query, key, value, is_causal=is_causal)

    def watched() -> Tensor:
        with watch():
            return own()

    running: dict[str, Callable[[], object]] = {TORCH: own, "watched": watched}
    if shape != SHAPES[0] or dtype != torch.float32:  # the others take long
        return running
    running["the table by hand"] = lambda: (own(), by_the_table(query, key, is_causal))
    monitor = module_monitor(query, key, is_causal)
    return running if monitor is None else running | {"torch-module-monitor": monitor}


def speed(budget: float) -> list[dict[str, object]]:
    rows = []
    for dtype in (torch.float32, torch.bfloat16):
        for shape in SHAPES:
            for is_causal in (False, True):
                for threads in THREADS:
                    torch.set_num_threads(threads)
                    found = compare(calls(shape, dtype, is_causal), TORCH, budget)
                    rows.append(
                        {
                            "dtype": str(dtype).removeprefix("torch."),
                            "shape": shape,
                            "causal": is_causal,
                            "threads": threads,
                            "found": found,
                        }
                    )
    torch.set_num_threads(MANY_THREADS)
    return rows


def shares(budget: float) -> dict[str, dict[str, float]]:
    """What each figure takes of a block of scores, beside their dot products, with one thread."""
    torch.set_num_threads(1)
    rows, n = _rows.ROWS, _rows.ENTRIES // _rows.ROWS
    query, key = (torch.randn(1, size, 64, device=DEVICE) for size in (rows, n))
    scores, spare = torch.empty(1, rows, n, device=DEVICE), torch.empty(1, rows, n, device=DEVICE)
    torch.bmm(query, key.mT, out=scores)
    highest = scores.amax(-1, keepdim=True)
    parts = {
        "dot products": lambda: torch.bmm(query, key.mT, out=spare),
        "spread": lambda: (scores.sum(-1), torch.linalg.vector_norm(scores, dim=-1)),
        "largest score": lambda: scores.amax(-1),
        "largest weight, saturated, first key": lambda: torch.exp(
            torch.sub(scores, highest, out=spare).clamp_(min=_rows.LEAST), out=spare
        ).sum(-1),
        "effective keys": lambda: torch.linalg.vector_norm(scores, dim=-1),
        "entropy": lambda: spare.mul_(scores).sum(-1),
    }
    found = compare(parts, "dot products", budget)
    torch.set_num_threads(MANY_THREADS)
    return found


def training(budget: float) -> list[dict[str, object]]:
    """A step, forward and backward, of 6 layers of width 384: 64 rows of each head measured."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(384, 6, 1536, 0.0, batch_first=True, norm_first=True)
    model = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False).to(DEVICE)
    mask = nn.Transformer.generate_square_subsequent_mask(256, device=DEVICE)
    rows = []
    for n_batch in (1, 8):
        x = torch.randn(n_batch, 256, 384, device=DEVICE)

        def step(x: Tensor = x) -> None:
            model(x, mask=mask, is_causal=True).square().mean().backward()

        def watched(step: Callable[[], None] = step) -> None:
            with watch(model, rows=64):
                step()

        for threads in THREADS:
            torch.set_num_threads(threads)
            found = compare({TORCH: step, "watched": watched}, TORCH, 4 * budget)
            rows.append({"batch": n_batch, "threads": threads, "found": found})
    torch.set_num_threads(MANY_THREADS)
    return rows


def memory_of(watched: bool) -> float:
    def call(n: int) -> Callable[[], object]:
        query, key, value = (torch.ones(*LONG[:2], n, 64, device=DEVICE) for _ in range(3))

        def own() -> Tensor:
            return F.scaled_dot_product_attention(query, key, value, is_causal=True)

        def seen() -> Tensor:
            with watch():
                return own()

        return seen if watched else own

    return extra_memory(call(LONG[-2]), call(1024))


def memory() -> dict[str, float]:
    """Bytes at the peak, and of the call's own four tensors."""
    context = multiprocessing.get_context("spawn" if ON_GPU else "fork")
    with context.Pool(1, maxtasksperchild=1) as pool:
        own, watched = (pool.apply(memory_of, (which,)) for which in (False, True))
    tensors = 4 * 4 * math.prod(LONG)
    return {"own": own, "watched": watched, "tensors": tensors, "more": (watched - own) / tensors}


def equality() -> list[dict[str, object]]:
    """The largest difference of each figure from float64's, over its size or 1, on both roads."""
    rows = []
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for is_causal in (False, True):
            query, key, _ = inputs((2, 4, 1000, 64), dtype)
            exact = _rows.prepare(query.double(), key.double(), is_causal=is_causal)
            expected = _rows.figures_of_rows(exact, road="blocks")
            call = _rows.prepare(query, key, is_causal=is_causal)
            roads = ["blocks", *(["fused"] if _fused.takes(call.query, None) else [])]
            for road in roads:
                found = _rows.figures_of_rows(call, road=road)
                differences = {
                    name: ((x.double() - y).abs() / y.abs().clamp(min=1.0)).max().item()
                    for name, x, y in zip(found._fields, found, expected, strict=True)
                }
                kind = str(dtype).removeprefix("torch.")
                rows.append({"dtype": kind, "causal": is_causal, "road": road} | differences)
    return rows


def table(results: dict) -> str:
    """The results, to be read."""

    def times(found: dict[str, dict[str, float]], name: str, less: float = 0.0) -> str:
        if name not in found:
            return ""
        low, middle, high = (
            found[name][key] - less for key in ("ratio_low", "ratio", "ratio_high")
        )
        return f"{middle:.2f} ({low:.2f} to {high:.2f})"

    lines = [f"# Watching: {results['device']}", ""]
    lines += ["Calls of PyTorch's function beside the model's own, median and quartiles.", ""]
    others = ("the table by hand", "torch-module-monitor")
    lines += grid(
        ["dtype", "shape", "order", "threads", "watched", "at most", *others],
        [
            [
                row["dtype"],
                str(tuple(row["shape"])),
                "causal" if row["causal"] else "full",
                in_words(row["threads"]),
                times(row["found"], "watched", 1.0),
                f"{TARGETS[row['dtype']]:g}",
                *(times(row["found"], name, 1.0) for name in others),
            ]
            for row in results["speed"]
        ],
    )
    lines += ["", "What a figure takes of a block of scores, over their dot products.", ""]
    lines += grid(
        ["figure", "ratio"],
        [[name, times(results["shares"], name)] for name in results["shares"]],
    )
    lines += ["", "A step of a training with 64 rows a head, over the same unwatched.", ""]
    lines += grid(
        ["batch", "threads", "ratio", "at most"],
        [
            [
                str(row["batch"]),
                in_words(row["threads"]),
                times(row["found"], "watched"),
                f"{TARGETS['model']:.2f}",
            ]
            for row in results["training"]
        ],
    )
    memory = results["memory"]
    lines += [
        "",
        f"Memory at {LONG}, causal: watching needs {memory['more']:.3f} times the call's own "
        f"tensors more ({memory['own'] / 1e6:.0f} MB without, {memory['watched'] / 1e6:.0f} MB "
        f"with it; at most {TARGETS['memory']:g}).",
        "",
        "Largest differences from float64, of each figure over its size or 1.",
        "",
    ]
    names = list(results["equality"][0])
    lines += grid(
        names,
        [
            [f"{x:.1e}" if isinstance(x, float) else str(x) for x in row.values()]
            for row in results["equality"]
        ],
    )
    return "\n".join(lines) + "\n"


def main(budget: float) -> None:
    results = {
        "device": device_name(),
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "versions": {"torch": torch.__version__, "sdpa_lib": sdpa_lib.__version__},
        "budget": budget,
        "memory": memory(),  # first: a process that has computed cannot be forked
        "equality": equality(),
        "speed": speed(budget),
        "shares": shares(budget),
        "training": training(budget),
    }
    folder = RESULTS / "watching"
    folder.mkdir(exist_ok=True)
    name = re.sub(r"[^a-z0-9]+", "-", device_name().lower()).strip("-")
    (folder / f"{name}.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (folder / f"{name}.md").write_text(table(results), encoding="utf-8")
    print(table(results))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=float, default=2.0, help="seconds a comparison")
    main(parser.parse_args().budget)
