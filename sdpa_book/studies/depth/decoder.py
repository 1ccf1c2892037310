"""A decoder of a small language model's shape that reads bytes, and its training: what article B
measures besides the digits.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

from sdpa_book.studies.depth.plan import Depth
from sdpa_book.studies.heads.corpus import Corpus, load_corpus
from sdpa_book.studies.heads.train import N_BYTES, ByteEmbedding
from sdpa_book.studies.making import denormals_are_zero
from sdpa_book.studies.resuming import Checkpoint, state_path
from sdpa_book.studies.tasks import Batch
from sdpa_book.studies.transformer import BRANCHES, Transformer
from sdpa_lib.sampling import make_generator

D_MODEL, N_HEADS, N_TOKENS = 256, 4, 64
BATCH = 4
"""Passages a step."""
RATE, WARM_UP, CLIP = 1e-3, 30, 1.0
"""Adam's learning rate, the steps over which it rises, and the norm that a gradient has at most."""

text = cache(load_corpus)
"""The corpus, read once."""


def decoder(cell: Depth, seed: int) -> Transformer:
    """The decoder at its start: the same parameters for every scaling of a seed.

    Example:
        >>> model = decoder(Depth(64, 2, "sqrt_d_k", shape="decoder"), seed=0)
        >>> model(torch.zeros(1, 64, dtype=torch.long)).shape
        torch.Size([1, 64, 256])
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(make_generator(seed).initial_seed())
        return Transformer(
            ByteEmbedding(N_TOKENS, D_MODEL),
            N_TOKENS,
            N_BYTES,
            d_model=D_MODEL,
            n_heads=N_HEADS,
            d_k=cell.d_k,
            n_layers=cell.n_layers,
            scaling=cell.scaling,
            norm=cell.norm,
            is_causal=True,
            start=cell.start,
            branch=cell.n_layers ** BRANCHES[cell.branch],
        )


def passages(corpus: Corpus, seed: int, step: int) -> Batch:
    """The batch of a step: bytes (BATCH, N_TOKENS), and the byte after each."""
    both = corpus.batch(BATCH, N_TOKENS, seed, step)
    return (both[:, :-1],), both[:, 1:]


@denormals_are_zero()
def trained(cell: Depth, seed: int, folder: Path | None = None) -> Transformer:
    """The decoder after ``cell.steps`` steps, in single precision.

    Args:
        cell: the model.
        seed: of its parameters and batches.
        folder: of a study. The training goes on from the state that is kept there, if it has not
            come further yet, and leaves its own; ``None`` keeps none.
    """
    model = decoder(cell, seed)
    if cell.steps == 0:
        return model
    optimiser = torch.optim.Adam(model.parameters(), RATE, fused=True)
    path = None
    if folder is not None:
        path = state_path(folder, cell._replace(steps=0), seed, RATE, WARM_UP, CLIP, BATCH)
    saved, first = Checkpoint(path), 0
    if (state := saved.load()) is not None and state["step"] <= cell.steps:
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
        first = state["step"]
    for step in range(first, cell.steps):
        (tokens,), answers = passages(text(), seed, step)
        loss = F.cross_entropy(model(tokens).transpose(1, 2), answers)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        for group in optimiser.param_groups:
            group["lr"] = RATE * min(1.0, (step + 1) / WARM_UP)
        optimiser.step()
        if saved.is_due() or step + 1 == cell.steps:
            both = {"model": model.state_dict(), "optimiser": optimiser.state_dict()}
            saved.save(both | {"step": step + 1})
    return model
