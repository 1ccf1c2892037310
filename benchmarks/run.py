"""Run every benchmark on the device at hand: ``make bench``.

Contestants alternate in one process, and what is reported is the ratio of each run to the fused
kernel's run of the same round: its median over the rounds, and its quartiles. Memory is measured in
a process of its own for each contestant. The results go to ``sdpa_lib/book/benchmarks``:
``<device>.json`` and, as a table to read, ``<device>.md``.
"""

from __future__ import annotations

import json
import math
import multiprocessing
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

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import sdpa_lib as sdpa
from sdpa_lib import RESCALINGS

# Not imported from there: the book's package computes with one thread, and benchmarks with all.
RESULTS = Path(sdpa.__file__).parent / "book" / "benchmarks"
DEVICE = sdpa.get_device()
ON_GPU = DEVICE.type == "cuda"
SHAPE = (4, 16, 8192, 128) if ON_GPU else (1, 8, 4096, 64)
DTYPE = torch.bfloat16 if ON_GPU else torch.float32
LONG = (1, 1, 32_768, 64)  # where memory is measured
ROUNDS = 7


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
    return f"{name}, {torch.get_num_threads()} threads"


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    if ON_GPU:
        torch.cuda.synchronize()
    return time.perf_counter() - start


def compare(
    contestants: dict[str, Callable[[], object]], base: str, rounds: int = ROUNDS
) -> dict[str, dict[str, float]]:
    """Seconds of each, and its ratio to ``base`` round by round: median and quartiles."""
    for run in contestants.values():
        seconds(run)
    times: dict[str, list[float]] = {name: [] for name in contestants}
    names = list(contestants)
    for turn in range(rounds):
        for name in random.Random(turn).sample(
            names, len(names)
        ):  # nobody is always first, or always after the same one
            times[name].append(seconds(contestants[name]))
    results = {}
    for name, measured in times.items():
        ratios = [own / other for own, other in zip(measured, times[base], strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        results[name] = {
            "seconds": statistics.median(measured),
            "ratio": middle,
            "ratio_low": low,
            "ratio_high": high,
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


def inputs(shape: tuple[int, ...], dtype: torch.dtype) -> list[Tensor]:
    return [sdpa.sample(*shape, seed=0, stream=s, device=DEVICE, dtype=dtype) for s in range(3)]


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
    q: Tensor, k: Tensor, v: Tensor, is_causal: bool
) -> dict[str, Callable[[], Tensor]]:
    """The fused kernel, and the library with each of its rescalings."""

    def ours(name: str) -> Callable[[], Tensor]:
        return lambda: sdpa.scaled_dot_product_attention(
            q, k, v, is_causal=is_causal, rescaling=name
        )

    fused = {"torch fused": lambda: F.scaled_dot_product_attention(q, k, v, is_causal=is_causal)}
    return fused | {f"sdpa_lib {name}": ours(name) for name in RESCALINGS}


def with_backward(run: Callable[[], Tensor], leaves: list[Tensor]) -> Callable[[], object]:
    upstream = torch.ones_like(leaves[0])
    return lambda: torch.autograd.grad(run(), leaves, upstream)


def attention() -> dict[str, object]:
    results: dict[str, object] = {
        "shape": SHAPE,
        "dtype": str(DTYPE).removeprefix("torch."),
        "base": "torch fused",
    }
    for order, is_causal in (("full", False), ("causal", True)):
        tensors = inputs(SHAPE, DTYPE)
        with torch.no_grad():
            running = contestants(*tensors, is_causal)
            results[f"forward, {order}"] = compare(running, "torch fused", 4 * ROUNDS)
            others, results[f"absent, {order}"] = peers(*tensors, is_causal)
            slow = {"torch fused": running["torch fused"]} | others
            results[f"peers, forward, {order}"] = compare(slow, "torch fused", 5)
        leaves = [x.requires_grad_() for x in tensors]
        both = {
            name: with_backward(run, leaves)
            for name, run in contestants(*leaves, is_causal).items()
        }
        results[f"forward and backward, {order}"] = compare(both, "torch fused", 2 * ROUNDS)
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
            contestants(q, k, v, is_causal) | {"textbook": lambda: textbook(q, k, v, is_causal)}
        )[name]

    with torch.no_grad():
        return extra_memory(call(n), call(1024))


def sampler_memory(name: str, d_k: int, n_pairs: int) -> float:
    def call(d_k: int) -> Callable[[], object]:
        return {
            "exact": lambda: sdpa.measure_moments(
                sdpa.sample_normal_scores(n_pairs, 1, d_k, seed=0)
            ),
            "blocks": lambda: sdpa.measure_dot_products(d_k, n_pairs, seed=0),
            "NumPy": lambda: numpy_moments(d_k, n_pairs),
        }[name]

    return extra_memory(call(d_k), call(8))


def memory_here() -> dict[str, object]:
    """Extra memory of each rescaling at a long sequence, of each path against the length, and of
    each sampler against d_k.
    """
    n, d_k = LONG[-2:]
    one_query = n * d_k * torch.finfo(DTYPE).bits // 8
    names = ["torch fused", *(f"sdpa_lib {name}" for name in RESCALINGS)]
    results: dict[str, object] = {
        "shape": LONG,
        "dtype": str(DTYPE).removeprefix("torch."),
        "query_bytes": one_query,
    }
    # Each measurement has a process of its own, forked before the first calculation: no memory that
    # an earlier one left.
    with multiprocessing.get_context("spawn" if ON_GPU else "fork").Pool(
        1, maxtasksperchild=1
    ) as pool:
        for order, is_causal in (("full", False), ("causal", True)):
            measured = pool.starmap(
                attention_memory, [(name, n, is_causal) for name in names], chunksize=1
            )
            results[order] = {
                name: extra / one_query for name, extra in zip(names, measured, strict=True)
            }
        paths = ("torch fused", "sdpa_lib k_total", "textbook")
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
                for name in ("exact", "blocks", "NumPy")
            }
            for d in (2**6, 2**9, 2**12, 2**15)
        ]
    return results


def memory() -> dict[str, object]:
    """:func:`memory_here`, in a process that has calculated nothing yet."""
    run = subprocess.run(
        [sys.executable, __file__, "--memory"], capture_output=True, text=True, check=True
    )
    return json.loads(run.stdout)


def at_length(n: int) -> dict[str, float]:
    q, k, v = inputs((1, 1, n, 64), DTYPE)
    running = contestants(q, k, v, False)
    chosen: dict[str, Callable[[], object]] = {
        name: running[name] for name in ("torch fused", "sdpa_lib k_total")
    }
    if n <= 8192:
        chosen["textbook"] = lambda: textbook(q, k, v)
    with torch.no_grad():
        return {"n": n} | {
            name: result["seconds"] for name, result in compare(chosen, "torch fused", 3).items()
        }


def lengths() -> dict[str, object]:
    """Seconds against the sequence length, one head of 64."""
    rows = [at_length(2**power) for power in range(8, 15)]
    return {"d_k": 64, "heads": 1, "dtype": str(DTYPE).removeprefix("torch."), "rows": rows}


def numpy_moments(d_k: int, n_pairs: int) -> None:
    """The plain vectorised way: all pairs at once."""
    draw = np.random.default_rng(0)
    products = np.einsum(
        "nd,nd->n", draw.standard_normal((n_pairs, d_k)), draw.standard_normal((n_pairs, d_k))
    )
    z = (products - products.mean()) / products.std()
    assert math.isfinite((z**3).mean() + (z**4).mean())


def at_dimension(d_k: int) -> dict[str, float]:
    """Seconds a pair for the moments of q.k: by the query's length, drawn in blocks, and drawn at
    once in NumPy.
    """
    many, few = 2**16, min(2**16, max(64, 2**22 // d_k))
    run = {"exact": lambda: sdpa.measure_moments(sdpa.sample_normal_scores(many, 1, d_k, seed=0))}
    row: dict[str, float] = {
        "d_k": d_k,
        "exact": compare(run, "exact", 3)["exact"]["seconds"] / many,
    }
    if d_k > 2**20:
        return row
    drawn: dict[str, Callable[[], object]] = {
        "blocks": lambda: sdpa.measure_dot_products(d_k, few, seed=0),
        "NumPy": lambda: numpy_moments(d_k, few),
    }
    measured = compare(drawn, "blocks", 3)
    row |= {name: result["seconds"] / few for name, result in measured.items()}
    return row | {"NumPy over blocks": measured["NumPy"]["ratio"]}


def simulation() -> dict[str, object]:
    return {"unit": "seconds a pair", "rows": [at_dimension(2**power) for power in range(0, 31, 3)]}


def limits() -> dict[str, float]:
    """What the machine can do: bytes and multiplications a second."""
    x = torch.ones(2**27, dtype=torch.uint8, device=DEVICE)
    y = torch.empty_like(x)
    copy = min(seconds(lambda: y.copy_(x)) for _ in range(8))
    n = 8192 if ON_GPU else 2048
    a = torch.ones(n, n, dtype=DTYPE, device=DEVICE)
    product = min(seconds(lambda: a @ a) for _ in range(8))
    return {"bytes_per_second": 2 * x.numel() / copy, "flop_per_second": 2 * n**3 / product}


def table(results: dict) -> str:
    """The results to read."""
    lines = [
        f"# {results['device']}",
        "",
        ", ".join(f"{k} {v}" for k, v in results["versions"].items()),
        "",
    ]
    found = results["attention"]
    lines += [
        f"Attention at {tuple(found['shape'])}, {found['dtype']}: time over that of the fused "
        f"kernel in the same round,",
        "",
    ]
    lines += [
        "median (quartiles).",
        "",
        "| | " + " | ".join(c for c in found if "forward" in c and "peers" not in c) + " |",
    ]
    columns = [c for c in found if "forward" in c and "peers" not in c]
    lines += ["|" + " --- |" * (len(columns) + 1)]

    def cell(result: dict | None) -> str:
        return (
            ""
            if result is None
            else f"{result['ratio']:.3f} ({result['ratio_low']:.3f} to {result['ratio_high']:.3f})"
        )

    for name in found[columns[0]]:
        lines.append(f"| {name} | " + " | ".join(cell(found[c].get(name)) for c in columns) + " |")
    for name in {
        n: None for c in found if c.startswith("peers") for n in found[c] if n != "torch fused"
    }:
        cells = [cell(found.get(f"peers, {c}", {}).get(name)) for c in columns]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    targets = {c: 1.10 if "backward" in c else 1.05 for c in columns}
    above = [
        f"{name} {found[c][name]['ratio']:.3f} ({c})"
        for c in columns
        for name in found[c]
        if found[c][name]["ratio"] > targets[c]
    ]
    lines += [
        "",
        f"Above the targets, 1.05 forward and 1.10 with backward: {', '.join(above) or 'none'}.",
    ]
    if above:
        lines += [
            "They take the keys' lengths and copy the query, and new memory costs its first touch; "
            "a longer sequence hides it."
        ]
    for order in ("full", "causal"):
        lines += [
            f"Does not run here, {order}: {name} ({why})."
            for name, why in found[f"absent, {order}"].items()
        ]
    memory_found = results["memory"]
    lines += [
        "",
        f"Memory beyond the inputs at {tuple(memory_found['shape'])}, in queries (the output is "
        f"one):",
        "",
    ]
    lines += ["| | full | causal |", "| --- | --- | --- |"]
    for name in memory_found["full"]:
        lines.append(
            f"| {name} | {memory_found['full'][name]:.2f} | {memory_found['causal'][name]:.2f} |"
        )
    lines += [
        "",
        "Moments of q·k, seconds a pair:",
        "",
        "| d_k | in blocks | NumPy, at once | by the query's length | NumPy over blocks |",
    ]
    lines += ["| --- | --- | --- | --- | --- |"]
    for row in results["simulation"]["rows"]:
        shown = [
            f"{row[name]:.2g}" if row.get(name) else ""
            for name in ("blocks", "NumPy", "exact", "NumPy over blocks")
        ]
        lines.append(f"| {row['d_k']} | " + " | ".join(shown) + " |")
    rates = results["limits"]
    copies = f"{rates['bytes_per_second'] / 1e9:.3g} GB/s"
    multiplies = f"{rates['flop_per_second'] / 1e9:.3g} GFLOP/s"
    rates_in_words = f"The machine copies {copies} and multiplies at {multiplies}."
    return "\n".join([*lines, "", rates_in_words, ""])


def main() -> None:
    started = time.perf_counter()
    warnings.filterwarnings("ignore", category=UserWarning)
    results: dict[str, object] = {
        "device": device_name(),
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "versions": {
            "torch": torch.__version__,
            "numpy": np.__version__,
            "sdpa_lib": sdpa.__version__,
        },
    }
    for part in (limits, attention, memory, lengths, simulation):
        print(f"{part.__name__} ...", flush=True)
        results[part.__name__] = part()
    results["seconds"] = round(time.perf_counter() - started)
    name = re.sub(r"\W+", "-", str(results["device"]).lower()).strip("-")
    (RESULTS / f"{name}.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (RESULTS / f"{name}.md").write_text(table(results), encoding="utf-8")
    print(table(results), f"\n{results['seconds']} s", sep="")


if __name__ == "__main__":
    if sys.argv[1:] == ["--memory"]:
        print(json.dumps(memory_here()))
    else:
        main()
