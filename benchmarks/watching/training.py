"""A step of a training, forward and backward, of which some rows of each head are measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypedDict

import torch
from torch import nn

from benchmarks.machine import device, in_words, thread_counts, threads
from benchmarks.tables import grid, spread
from benchmarks.timing import TORCH, Comparison, Contestant, compare
from sdpa_lib import watch

AT_MOST = 1.10
"""What a step with rows measured may take, over the same unwatched."""
ROWS = 64
"""Measured of each head."""


class Sizes(NamedTuple):
    """A model, and the sequences that it is trained on."""

    layers: int = 6
    heads: int = 6
    width: int = 384
    tokens: int = 256
    batches: tuple[int, ...] = (1, 8)


SIZES = Sizes()


class TrainingRow(TypedDict):
    """A size of a batch and a number of threads, and the comparison."""

    batch: int
    threads: int
    found: Comparison


def steps(model: nn.Module, sizes: Sizes, n_batch: int) -> dict[str, Contestant]:
    """A step, and the same watched."""
    mask = nn.Transformer.generate_square_subsequent_mask(sizes.tokens, device=device())
    x = torch.randn(n_batch, sizes.tokens, sizes.width, device=device())

    def step() -> None:
        model(x, mask=mask, is_causal=True).square().mean().backward()

    def watched() -> None:
        with watch(model, rows=ROWS):
            step()

    return {TORCH: step, "watched": watched}


def measure(budget: float, sizes: Sizes = SIZES) -> list[TrainingRow]:
    """The comparison by batch and number of threads, for four times ``budget`` each."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(
        sizes.width, sizes.heads, 4 * sizes.width, 0.0, batch_first=True, norm_first=True
    )
    model = nn.TransformerEncoder(layer, sizes.layers, enable_nested_tensor=False).to(device())
    rows: list[TrainingRow] = []
    for n_batch in sizes.batches:
        running = steps(model, sizes, n_batch)
        for count in thread_counts():
            with threads(count):
                comparison = compare(running, TORCH, 4 * budget)
            rows.append({"batch": n_batch, "threads": count, "found": comparison})
    return rows


def tables(results: Sequence[TrainingRow]) -> list[str]:
    """One table."""
    return [
        f"A step of a training with {ROWS} rows a head, over the same unwatched.",
        "",
        *grid(
            ["batch", "threads", "ratio", "at most"],
            [
                [
                    str(row["batch"]),
                    in_words(row["threads"]),
                    spread(row["found"]["watched"], "ratio", digits=2),
                    f"{AT_MOST:.2f}",
                ]
                for row in results
            ],
        ),
    ]
