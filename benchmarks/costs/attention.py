"""Run every benchmark on the device at hand: ``make bench``.

Contestants alternate in one process, and what is reported is the ratio of each run to that of
PyTorch's own function in the same round: its median over the rounds, and its quartiles; for short
inputs the difference. Memory is measured in a process of its own for each contestant. The results
go to ``benchmarks/results``: ``<device>.json`` and, as tables to read, ``<device>.md``.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import platform
import random
import re
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import sdpa_lib as sdpa
from sdpa_lib import RESCALINGS, RunningDivisor
from sdpa_lib.device import get_device
from sdpa_lib.moments import measure_dot_products, measure_moments, sample_normal_scores
from sdpa_lib.sampling import sample

# Not imported from there: the book's package computes with one thread, and benchmarks with all.
RESULTS = Path(__file__).parents[1] / "results"
DEVICE = get_device()
ON_GPU = DEVICE.type == "cuda"
DTYPE = torch.bfloat16 if ON_GPU else torch.float32
DTYPE_NAME = str(DTYPE).removeprefix("torch.")
TORCH = "torch"
"""PyTorch's own function, to which all others are compared."""

LAYER = (8, 12, 512, 64)  # (batch, heads, tokens, d_k), as a layer of a small model has them
LONG = (4, 16, 8192, 128) if ON_GPU else (1, 8, 4096, 64)
PADDED = (2, 32, 2048, 64)
CACHE = (1, 32, 4096, 64)
CACHES = {"8 heads": (1, 8, 4096, 64), "32 heads": CACHE, "8 sequences of 8": (8, 8, 4096, 64)}
SHORT = ((2, 4, 16, 32), (1, 4, 64, 32))
MASKS = {
    "mask of a batch": (LAYER, (LAYER[0], 1, LAYER[2], LAYER[2])),
    "padding mask": (PADDED, (PADDED[0], 1, 1, PADDED[2])),
}
"""The shapes of queries and of a mask for them."""
LONGEST = (1, 1, 32_768, 64)  # where memory is measured
AT_MOST = {"constant": 10.0, "others": 35.0}
"""For short inputs: how many microseconds more than PyTorch's function a call should take."""

FEWEST, MOST = 5, 3000
"""Rounds of a comparison."""

MANY_THREADS = torch.get_num_threads()
THREADS = sorted({1, min(2, MANY_THREADS), MANY_THREADS}) if not ON_GPU else [MANY_THREADS]


def device_name() -> str:
    if ON_GPU:
        return torch.cuda.get_device_name(DEVICE)
    cpu = Path("/proc/cpuinfo")
    model = re.search(r"model name\s*: (.*)", cpu.read_text()) if cpu.exists() else None
    name = (
        re.sub(r"\((R|TM)\)", "", model[1]).strip()
        if model
        else platform.processor() or platform.machine()
    )
    return f"{name}, {in_words(MANY_THREADS)}"


def in_words(threads: int | str) -> str:
    return f"{threads} thread{'s' if int(threads) > 1 else ''}"


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    if ON_GPU:
        torch.cuda.synchronize()
    return time.perf_counter() - start


def compare(
    contestants: dict[str, Callable[[], object]], base: str, budget: float
) -> dict[str, dict[str, float]]:
    """Seconds of each; its ratio to ``base`` round by round, median and quartiles; and its
    difference. Rounds go on for ``budget`` seconds.
    """
    for run in contestants.values():
        seconds(run)
    times: dict[str, list[float]] = {name: [] for name in contestants}
    names = list(contestants)
    order = random.Random(0)
    started = time.perf_counter()
    for rounds in range(MOST):
        if rounds >= FEWEST and time.perf_counter() - started > budget:
            break
        order.shuffle(names)  # nobody is always first, or always after the same one
        for name in names:
            times[name].append(seconds(contestants[name]))
    results = {}
    for name, measured in times.items():
        pairs = list(zip(measured, times[base], strict=True))
        low, middle, high = statistics.quantiles([own / other for own, other in pairs], n=4)
        more_low, more, more_high = statistics.quantiles([own - other for own, other in pairs], n=4)
        results[name] = {
            "seconds": statistics.median(measured),
            "ratio": middle,
            "ratio_low": low,
            "ratio_high": high,
            "more": more,
            "more_low": more_low,
            "more_high": more_high,
            "rounds": len(measured),
        }
    return results


def textbook(q: Tensor, k: Tensor, v: Tensor, is_causal: bool = False) -> Tensor:
    """softmax(QK^T / sqrt(d_k)) V, written out."""
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if is_causal:
        visible = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).tril()
        scores = scores.masked_fill(~visible, -math.inf)
    return torch.softmax(scores, dim=-1) @ v


def in_numpy(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1], dtype=q.dtype)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


def by_hand(q: Tensor, k: Tensor, v: Tensor, lengths: Tensor | None = None) -> Tensor:
    """Division by k_total with nothing checked: the least that it can cost."""
    if lengths is None:
        lengths = torch.linalg.vector_norm(k, dim=-1)
    divided = q / lengths.sum(-1, keepdim=True).unsqueeze(-1)
    return F.scaled_dot_product_attention(divided.to(q.dtype), k, v, scale=1.0)


def inputs(shape: tuple[int, ...], dtype: torch.dtype) -> list[Tensor]:
    return [sample(*shape, seed=0, stream=s, device=DEVICE, dtype=dtype) for s in range(3)]


def peers(
    q: Tensor, k: Tensor, v: Tensor, is_causal: bool
) -> tuple[dict[str, Callable[[], object]], dict[str, str]]:
    """Other implementations, and why one of them does not run here."""
    running: dict[str, Callable[[], object]] = {"textbook": lambda: textbook(q, k, v, is_causal)}
    absent = {}
    compiled = torch.compile(textbook)
    flex = torch.compile(flex_attention)
    n = q.shape[-2]
    mask = (
        create_block_mask(lambda b, h, i, j: i >= j, None, None, n, n, device=str(q.device))
        if is_causal
        else None
    )
    candidates: dict[str, Callable[[], object]] = {
        "textbook, torch.compile": lambda: compiled(q, k, v, is_causal),
        "FlexAttention, torch.compile": lambda: flex(q, k, v, block_mask=mask),
    }
    try:
        from x_transformers.attend import Attend

        attend = Attend(causal=is_causal, scale=1 / math.sqrt(q.shape[-1]))
        candidates["x-transformers"] = lambda: attend(q, k, v)[0]
    except ImportError as error:
        absent["x-transformers"] = str(error)
    if not ON_GPU and not is_causal:
        arrays = [x.numpy() for x in (q, k, v)]
        candidates["NumPy"] = lambda: in_numpy(*arrays)
    for name, run in candidates.items():
        try:
            run()
            running[name] = run
        except Exception as error:  # a peer that doesn't run is a result
            absent[name] = f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
    return running, absent


def contestants(
    q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None = None, is_causal: bool = False
) -> dict[str, Callable[[], Tensor]]:
    """PyTorch's own function, and the library with each of its rescalings."""

    def ours(name: str) -> Callable[[], Tensor]:
        return lambda: sdpa.scaled_dot_product_attention(
            q, k, v, attn_mask, is_causal=is_causal, rescaling=name
        )

    own = {
        TORCH: lambda: F.scaled_dot_product_attention(q, k, v, attn_mask, is_causal=is_causal),
    }
    return own | {name: ours(name) for name in RESCALINGS}


def mask(name: str) -> Tensor:
    """A boolean mask: one for each sequence of a batch, in which documents follow each other; or
    one that hides the padding at a sequence's end.
    """
    _, (batch, _, rows, n) = MASKS[name]
    position = torch.arange(n, device=DEVICE)
    if rows == 1:
        lengths = torch.linspace(n // 2, n, batch, device=DEVICE).view(-1, 1, 1, 1)
        return position < lengths
    documents = position // torch.arange(n // 8, n // 8 + batch, device=DEVICE).view(-1, 1, 1)
    return (documents.mT == documents).unsqueeze(1)


def with_backward(run: Callable[[], Tensor], leaves: list[Tensor]) -> Callable[[], object]:
    upstream = torch.ones_like(leaves[0])

    def call() -> object:
        with torch.enable_grad():
            return torch.autograd.grad(run(), leaves, upstream)

    return call


def plainly(
    shape: tuple[int, ...], attn_mask: Tensor | None = None, is_causal: bool = False
) -> dict[str, Callable[[], object]]:
    return {**contestants(*inputs(shape, DTYPE), attn_mask, is_causal)}


def masked(name: str) -> dict[str, Callable[[], object]]:
    return plainly(MASKS[name][0], mask(name))


def trained(shape: tuple[int, ...], is_causal: bool = False) -> dict[str, Callable[[], object]]:
    leaves = [x.requires_grad_() for x in inputs(shape, DTYPE)]
    return {
        name: with_backward(run, leaves)
        for name, run in contestants(*leaves, is_causal=is_causal).items()
    }


def decoding(with_sums: bool) -> dict[str, Callable[[], object]]:
    """One query, and its keys and values in a cache. With lengths kept, the last key is appended to
    them in each call, and taken back before the next.
    """
    q, k, v = inputs(CACHE, DTYPE)
    q, new = q[..., -1:, :], k[..., -1:, :]
    without = contestants(q, k, v)
    if not with_sums:
        return {**without}

    def step(name: str) -> Callable[[], Tensor]:
        running = RunningDivisor(name)
        running.append(k[..., :-1, :])

        def call() -> Tensor:
            running.crop(k.shape[-2] - 1)
            running.append(new)
            return sdpa.scaled_dot_product_attention(q, k, v, rescaling=running)

        return call

    return {TORCH: without[TORCH]} | {name: step(name) for name in RESCALINGS}


class Case(NamedTuple):
    """What is timed.

    Attributes:
        shape: of the queries.
        target: how many times as long as PyTorch's function it should take at the most; ``None``
            without one.
        prepare: makes the contestants.
        keys: the shape of the keys, where it is another.
        every_number: also with fewer threads than all.
    """

    shape: tuple[int, ...]
    target: float | None
    prepare: Callable[[], dict[str, Callable[[], object]]]
    keys: tuple[int, ...] | None = None
    every_number: bool = True


def cases() -> dict[str, Case]:
    query = (*CACHE[:2], 1, CACHE[-1])
    return {
        "forward": Case(LAYER, 1.05, lambda: plainly(LAYER)),
        "forward, causal": Case(LAYER, 1.05, lambda: plainly(LAYER, is_causal=True)),
        "forward and backward": Case(LAYER, 1.10, lambda: trained(LAYER)),
        "mask of a batch": Case(LAYER, 1.15, lambda: masked("mask of a batch")),
        "padding mask": Case(PADDED, None, lambda: masked("padding mask")),
        "decoding": Case(query, 1.50, lambda: decoding(False), CACHE),
        "decoding, running sums": Case(query, 1.05, lambda: decoding(True), CACHE),
        "long": Case(LONG, 1.05, lambda: plainly(LONG), every_number=False),
        "long, causal": Case(LONG, 1.05, lambda: plainly(LONG, is_causal=True), every_number=False),
    }


def with_threads(
    prepare: Callable[[], dict[str, Callable[[], object]]],
    budget: float,
    threads: list[int],
) -> dict[str, dict[str, dict[str, float]]]:
    """The comparison with each number of threads."""
    results = {}
    with torch.no_grad():
        running = prepare()
        for number in threads:
            torch.set_num_threads(number)
            results[str(number)] = compare(running, TORCH, budget)
    torch.set_num_threads(MANY_THREADS)
    return results


def attention(budget: float) -> list[dict[str, object]]:
    """The time over PyTorch's of every rescaling, in every case."""
    return [
        {
            "name": name,
            "shape": case.shape,
            "keys": case.keys or case.shape,
            "target": case.target,
            "threads": with_threads(
                case.prepare,
                budget,
                THREADS if case.every_number else [MANY_THREADS],
            ),
        }
        for name, case in cases().items()
    ]


def caches(budget: float) -> list[dict[str, object]]:
    """A step over caches of several shapes and precisions, divided by k_total: with and without
    the lengths kept, each beside the least that it can cost.
    """

    def prepare(shape: tuple[int, ...], dtype: torch.dtype) -> dict[str, Callable[[], object]]:
        q, k, v = inputs(shape, dtype)
        q, new = q[..., -1:, :], k[..., -1:, :]
        lengths = torch.linalg.vector_norm(k, dim=-1)
        running = RunningDivisor("k_total")
        running.append(k[..., :-1, :])

        def kept_by_hand() -> Tensor:
            lengths[..., -1:] = torch.linalg.vector_norm(new, dim=-1)
            return by_hand(q, k, v, lengths)

        def kept() -> Tensor:
            running.crop(k.shape[-2] - 1)
            running.append(new)
            return sdpa.scaled_dot_product_attention(q, k, v, rescaling=running)

        return {
            TORCH: lambda: F.scaled_dot_product_attention(q, k, v),
            "by hand": lambda: by_hand(q, k, v),
            "k_total": lambda: sdpa.scaled_dot_product_attention(q, k, v, rescaling="k_total"),
            "lengths kept by hand": kept_by_hand,
            "RunningDivisor": kept,
        }

    return [
        {
            "name": name,
            "dtype": str(dtype).removeprefix("torch."),
            "threads": with_threads(lambda given=(shape, dtype): prepare(*given), budget, THREADS),
        }
        for name, shape in CACHES.items()
        for dtype in (torch.float32, torch.bfloat16, torch.float16)
    ]


def short(budget: float) -> dict[str, object]:
    """How much longer than PyTorch's a call takes where there is little to compute."""
    rows = []

    def brief(
        shape: tuple[int, ...], attn_mask: Tensor | None, is_causal: bool
    ) -> dict[str, Callable[[], object]]:
        tensors = inputs(shape, DTYPE)
        return plainly(shape, attn_mask, is_causal) | {"by hand": lambda: by_hand(*tensors)}

    for shape in SHORT:
        n = shape[-2]
        visible = torch.ones(n, n, dtype=torch.bool, device=DEVICE).triu(-n // 2)
        for name, attn_mask, is_causal in (
            ("plain", None, False),
            ("causal", None, True),
            ("mask", visible, False),
        ):
            found = with_threads(
                lambda given=(shape, attn_mask, is_causal): brief(*given), budget, THREADS
            )
            rows.append({"name": name, "shape": shape, "threads": found})
    return {"target": AT_MOST, "rows": rows}


def others(budget: float) -> dict[str, object]:
    """Other implementations, forward at the long shape with all threads."""
    results: dict[str, object] = {"shape": LONG, "base": TORCH}
    with torch.no_grad():
        for order, is_causal in (("full", False), ("causal", True)):
            q, k, v = inputs(LONG, DTYPE)
            running, absent = peers(q, k, v, is_causal)
            own = {TORCH: contestants(q, k, v, is_causal=is_causal)[TORCH]}
            results[order] = compare(own | running, TORCH, budget)
            results[f"absent, {order}"] = absent
    return results


def extra_memory(run: Callable[[], object], small: Callable[[], object]) -> float:
    """Bytes that a call needs at its peak beyond what is there before it."""
    small()  # threads and code pages are there from now on
    if ON_GPU:
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        run()
        return torch.cuda.max_memory_allocated() - before

    def resident(field: str) -> int:
        return (
            int(re.search(rf"{field}:\s*(\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024
        )

    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts anew
    before = resident("VmRSS")
    kept = run()
    after = resident("VmHWM")
    del kept
    return after - before


def attention_memory(name: str, n: int, is_causal: bool) -> float:
    def call(n: int) -> Callable[[], object]:
        # drawing would leave memory behind
        q, k, v = (torch.ones(1, 1, n, 64, dtype=DTYPE, device=DEVICE) for _ in range(3))
        return (
            contestants(q, k, v, is_causal=is_causal)
            | {"textbook": lambda: textbook(q, k, v, is_causal)}
        )[name]

    with torch.no_grad():
        return extra_memory(call(n), call(1024))


def masked_memory(name: str, of_mask: str) -> float:
    attn_mask = mask(of_mask)
    q, k, v = (torch.ones(MASKS[of_mask][0], dtype=DTYPE, device=DEVICE) for _ in range(3))
    small = [x[:1, :1] for x in (q, k, v)]
    with torch.no_grad():
        return extra_memory(
            contestants(q, k, v, attn_mask)[name], contestants(*small, attn_mask[:1])[name]
        )


def sampler_memory(name: str, d_k: int, n_pairs: int) -> float:
    def call(d_k: int) -> Callable[[], object]:
        return {
            "exact": lambda: measure_moments(sample_normal_scores(n_pairs, 1, d_k, seed=0)),
            "blocks": lambda: measure_dot_products(d_k, n_pairs, seed=0),
            "NumPy": lambda: numpy_moments(d_k, n_pairs),
        }[name]

    return extra_memory(call(d_k), call(8))


def memory_here() -> dict[str, object]:
    """Extra memory of each rescaling at a long sequence and with masks, of each path against the
    length, and of each sampler against d_k.
    """

    def size(shape: tuple[int, ...]) -> int:
        return math.prod(shape) * torch.finfo(DTYPE).bits // 8

    names = [TORCH, *RESCALINGS]
    results: dict[str, object] = {"shape": LONGEST, "query_bytes": size(LONGEST)}
    # Each measurement has a process of its own, forked before the first calculation: no memory that
    # an earlier one left. A GPU's memory is counted by PyTorch, and one process is enough.
    with multiprocessing.get_context("spawn" if ON_GPU else "fork").Pool(
        1, maxtasksperchild=None if ON_GPU else 1
    ) as pool:
        for order, is_causal in (("full", False), ("causal", True)):
            results[order] = {
                name: pool.apply(attention_memory, (name, LONGEST[-2], is_causal)) for name in names
            }
        results["masks"] = [
            {
                "name": of_mask,
                "shape": shape,
                "mask": mask_shape,
                "query_bytes": size(shape),
                "mask_bytes": 8 * math.prod(mask_shape),  # as numbers, in double precision
                "bytes": {name: pool.apply(masked_memory, (name, of_mask)) for name in names},
            }
            for of_mask, (shape, mask_shape) in MASKS.items()
        ]
        paths = (TORCH, "k_total", "textbook")
        results["lengths"] = [
            {"n": n}
            | {
                name: pool.apply(attention_memory, (name, n, False))
                for name in paths
                if name != "textbook" or n < 2**15
            }
            for n in (2**12, 2**13, 2**14, 2**15)
        ]
        results["dimensions"] = [
            {"d_k": d}
            | {
                name: pool.apply(sampler_memory, (name, d, 1024))
                for name in ("exact", "blocks", *(() if ON_GPU else ("NumPy",)))
            }
            for d in (2**6, 2**9, 2**12, 2**15)
        ]
    return results


def memory(budget: float) -> dict[str, object]:
    """:func:`memory_here`, in a process that has calculated nothing yet."""
    run = subprocess.run(
        [sys.executable, __file__, "--memory"], capture_output=True, text=True, check=True
    )
    return json.loads(run.stdout)


def numpy_moments(d_k: int, n_pairs: int) -> None:
    """The plain vectorised way: all pairs at once."""
    draw = np.random.default_rng(0)
    products = np.einsum(
        "nd,nd->n", draw.standard_normal((n_pairs, d_k)), draw.standard_normal((n_pairs, d_k))
    )
    z = (products - products.mean()) / products.std()
    assert math.isfinite((z**3).mean() + (z**4).mean())


def at_dimension(d_k: int, budget: float) -> dict[str, float]:
    """Seconds a pair for the moments of q.k: by the query's length, drawn in blocks, and drawn at
    once in NumPy.
    """
    many, few = 2**16, min(2**16, max(64, 2**22 // d_k))
    run = {"exact": lambda: measure_moments(sample_normal_scores(many, 1, d_k, seed=0))}
    row: dict[str, float] = {
        "d_k": d_k,
        "exact": compare(run, "exact", budget)["exact"]["seconds"] / many,
    }
    if d_k > 2**20:
        return row
    drawn: dict[str, Callable[[], object]] = {
        "blocks": lambda: measure_dot_products(d_k, few, seed=0),
        "NumPy": lambda: numpy_moments(d_k, few),
    }
    measured = compare(drawn, "blocks", budget)
    row |= {name: result["seconds"] / few for name, result in measured.items()}
    return row | {"NumPy over blocks": measured["NumPy"]["ratio"]}


def simulation(budget: float) -> dict[str, object]:
    rows = [at_dimension(2**power, budget / 8) for power in range(0, 31, 3)]
    return {"unit": "seconds a pair", "rows": rows}


def limits(budget: float) -> dict[str, float]:
    """What the machine can do: bytes and multiplications a second."""
    x = torch.ones(2**27, dtype=torch.uint8, device=DEVICE)
    y = torch.empty_like(x)
    copy = min(seconds(lambda: y.copy_(x)) for _ in range(8))
    n = 8192 if ON_GPU else 2048
    a = torch.ones(n, n, dtype=DTYPE, device=DEVICE)
    product = min(seconds(lambda: a @ a) for _ in range(8))
    return {"bytes_per_second": 2 * x.numel() / copy, "flop_per_second": 2 * n**3 / product}


def grid(headings: list[str], rows: list[list[str]]) -> list[str]:
    """A table in Markdown, with a blank line after it."""
    lines = [headings, ["---"] * len(headings), *rows]
    return ["| " + " | ".join(cells) + " |" for cells in lines] + [""]


def highest(found: dict[str, dict[str, float]]) -> tuple[float, str]:
    """The highest ratio of a rescaling, and whose it is."""
    return max((found[name]["ratio"], name) for name in RESCALINGS)


def spread(result: dict[str, float], what: str, unit: float = 1.0, digits: int = 3) -> str:
    """A median with its quartiles."""
    low, middle, high = (result[what + end] / unit for end in ("_low", "", "_high"))
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def speed_tables(found: list[dict]) -> list[str]:
    numbers = list(found[0]["threads"])
    summary = []
    for case in found:
        of_each = {n: highest(runs) for n, runs in case["threads"].items()}
        cells = [f"{of_each[n][0]:.2f} ({of_each[n][1]})" if n in of_each else "" for n in numbers]
        target = f"{case['target']:.2f}" if case["target"] else ""
        summary.append([f"{case['name']}, {tuple(case['shape'])}", target, *cells])
    lines = [
        "## Time over PyTorch's",
        "",
        "Each call's time over that of `torch.nn.functional.scaled_dot_product_attention` in the "
        "same round, median over the rounds. First the highest of all rescalings:",
        "",
        *grid(["queries", "target", *map(in_words, numbers)], summary),
    ]
    for case in found:
        keys = "" if case["keys"] == case["shape"] else f", keys {tuple(case['keys'])}"
        target = f", target {case['target']:.2f}" if case["target"] else ""
        own = [f"{runs[TORCH]['seconds'] * 1e3:.3g} ms" for runs in case["threads"].values()]
        rows = [
            [name, *(spread(runs[name], "ratio") for runs in case["threads"].values())]
            for name in RESCALINGS
        ]
        lines += [
            f"### {case['name'].capitalize()}: {tuple(case['shape'])}{keys}{target}",
            "",
            *grid(
                ["median (quartiles)", *map(in_words, case["threads"])],
                [["PyTorch itself", *own], *rows],
            ),
        ]
    return lines


def cache_tables(found: list[dict]) -> list[str]:
    lines = [
        "## Decoding, one query on 4,096 keys, divided by k_total: time over PyTorch's",
        "",
    ]
    for number in found[0]["threads"]:
        names = [name for name in found[0]["threads"][number] if name != TORCH]
        rows = [
            [
                f"{case['name']}, {case['dtype']}",
                *(spread(case["threads"][number][name], "ratio") for name in names),
            ]
            for case in found
        ]
        lines += [f"### {in_words(number)}", "", *grid(["median (quartiles)", *names], rows)]
    return lines


def short_tables(found: list[dict]) -> list[str]:
    lines = [
        "## Short inputs: microseconds more than PyTorch's call",
        "",
        f"Median (quartiles) of the difference in the same round. Target: "
        f"{AT_MOST['constant']:.0f} for the constant divisors, {AT_MOST['others']:.0f} for the "
        f"others.",
        "",
    ]
    for shape in SHORT:
        cases = [case for case in found if tuple(case["shape"]) == shape]
        for number in cases[0]["threads"]:
            runs = [case["threads"][number] for case in cases]
            own = [f"{run[TORCH]['seconds'] * 1e6:.1f}" for run in runs]
            rows = [
                [name, *(spread(run[name], "more", 1e-6, 1) for run in runs)]
                for name in (*RESCALINGS, "by hand")
            ]
            lines += [
                f"### {shape}, {in_words(number)}",
                "",
                *grid(
                    ["", *(case["name"] for case in cases)],
                    [["PyTorch itself, microseconds", *own], *rows],
                ),
            ]
    return lines


def peer_tables(found: dict) -> list[str]:
    def cell(order: str, name: str) -> str:
        return spread(found[order][name], "ratio", digits=2) if name in found[order] else ""

    orders = ("full", "causal")
    names = {name: None for order in orders for name in found[order] if name != TORCH}
    return [
        f"## Other implementations: forward, {tuple(found['shape'])}, over PyTorch's",
        "",
        *grid(["", *orders], [[name, *(cell(o, name) for o in orders)] for name in names]),
        *(
            f"Does not run here, {order}: {name} ({why}).\n"
            for order in orders
            for name, why in found[f"absent, {order}"].items()
        ),
    ]


def memory_tables(found: dict) -> list[str]:
    one = found["query_bytes"]
    names = list(found["full"])
    lines = [
        f"## Memory beyond the inputs: {tuple(found['shape'])}",
        "",
        "In queries; the output is one.",
        "",
        *grid(
            ["", "full", "causal"],
            [[n, *(f"{found[o][n] / one:.2f}" for o in ("full", "causal"))] for n in names],
        ),
    ]
    for case in found["masks"]:
        own = case["bytes"][TORCH]
        target = own + case["query_bytes"] + case["mask_bytes"]
        rows = [
            [name, f"{b / 2**20:.1f}", f"{b / own:.2f}", f"{b / case['query_bytes']:.2f}"]
            for name, b in case["bytes"].items()
        ]
        lines += [
            f"### {case['name'].capitalize()}: {tuple(case['shape'])}, {tuple(case['mask'])}",
            "",
            "Target: what PyTorch's function needs, the output among it, one query, and a row of "
            f"numbers for each row of the mask: {target / 2**20:.1f} MiB.",
            "",
            *grid(["", "MiB", "over PyTorch's", "in queries"], rows),
        ]
    return lines


def table(results: dict) -> str:
    """The results to read."""
    rates = results["limits"]
    rows = [
        [
            str(row["d_k"]),
            *(
                f"{row[name]:.2g}" if row.get(name) else ""
                for name in ("blocks", "NumPy", "exact", "NumPy over blocks")
            ),
        ]
        for row in results["simulation"]["rows"]
    ]
    lines = [
        f"# {results['device']}",
        "",
        ", ".join(f"{k} {v}" for k, v in results["versions"].items())
        + f"; {results['dtype']}. The machine copies {rates['bytes_per_second'] / 1e9:.3g} GB/s "
        f"and multiplies at {rates['flop_per_second'] / 1e9:.3g} GFLOP/s. Its load was "
        f"{results['load']:.1f} when the run began.",
        "",
        *speed_tables(results["attention"]),
        *cache_tables(results["caches"]),
        *short_tables(results["short"]["rows"]),
        *peer_tables(results["others"]),
        *memory_tables(results["memory"]),
        "## Moments of q·k: seconds a pair",
        "",
        *grid(
            ["d_k", "in blocks", "NumPy, at once", "by the query's length", "NumPy over blocks"],
            rows,
        ),
    ]
    return "\n".join(lines)


def main(budget: float) -> None:
    started = time.perf_counter()
    warnings.filterwarnings("ignore", category=UserWarning)
    results: dict[str, object] = {
        "device": device_name(),
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else math.nan,
        "versions": {
            "torch": torch.__version__,
            "numpy": np.__version__,
            "sdpa_lib": sdpa.__version__,
        },
        "dtype": DTYPE_NAME,
        "budget": budget,
    }
    for part in (limits, attention, caches, short, others, memory, simulation):
        print(f"{part.__name__} ...", flush=True)
        results[part.__name__] = part(budget)
    results["seconds"] = round(time.perf_counter() - started)
    name = re.sub(r"\W+", "-", str(results["device"]).lower()).strip("-")
    (RESULTS / f"{name}.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (RESULTS / f"{name}.md").write_text(table(results), encoding="utf-8")
    print(table(results), f"\n{results['seconds']} s", sep="")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--memory", action="store_true", help="measure and print memory alone")
    parser.add_argument(
        "--seconds", type=float, default=5.0, help="for each comparison, 5 by default"
    )
    options = parser.parse_args()
    if options.memory:
        print(json.dumps(memory_here()))
    else:
        main(options.seconds)
