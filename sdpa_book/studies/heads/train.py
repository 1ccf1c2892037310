"""The trainings themselves. Each keeps its weights at the moments that are measured, and enough to
go on with where an interruption left it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sdpa_book.studies.heads.corpus import Corpus, load_corpus
from sdpa_book.studies.heads.plan import CLIPPED, POSITIONS, DecoderRun, Settings, rate_at
from sdpa_book.studies.making import denormals_are_zero, short
from sdpa_book.studies.resuming import Checkpoint
from sdpa_book.studies.transformer import Attention, Transformer, check_scaling, draw
from sdpa_lib.sampling import make_generator

DIGITS = 5
"""Significant digits of a loss that is stored."""

N_BYTES = 256
"""The tokens are bytes."""


class ByteEmbedding(nn.Module):
    """A learned vector for each byte, plus one for its place if ``positions`` has such vectors."""

    def __init__(self, n_tokens: int, d_model: int, positions: str = "learned") -> None:
        super().__init__()
        of_bytes, of_places = POSITIONS[positions]
        self.byte = nn.Parameter(of_bytes * draw(N_BYTES, d_model))
        places = draw(n_tokens, d_model)  # drawn in any case: what follows then starts alike
        self.place = nn.Parameter(of_places * places) if of_places else None
        self.n_tokens = n_tokens

    def forward(self, tokens: Tensor) -> Tensor:  # (B, n) to (B, n, d_model)
        if tokens.shape[1] > self.n_tokens:
            raise ValueError(
                f"tokens must be at most {self.n_tokens} a passage, got {tokens.shape[1]}"
            )
        embedded = self.byte[tokens]
        return embedded if self.place is None else embedded + self.place[: tokens.shape[1]]


def make_model(run: DecoderRun, settings: Settings) -> Transformer:
    """A run's decoder at its start: the same parameters for every scaling of a seed and width.

    Example:
        >>> model = make_model(DecoderRun("none"), Settings(n_tokens=8))
        >>> model(torch.zeros(2, 8, dtype=torch.long)).shape
        torch.Size([2, 8, 256])
    """
    check_scaling(run.divided)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(make_generator(run.seed).initial_seed())
        return Transformer(
            ByteEmbedding(settings.n_tokens, settings.d_model, settings.positions),
            settings.n_tokens,
            N_BYTES,
            d_model=settings.d_model,
            n_heads=settings.n_heads,
            d_k=run.d_k,
            n_layers=settings.n_layers,
            scaling=run.divided,
            is_causal=True,
            rotary=not POSITIONS[settings.positions][1],
            start=settings.start,
        )


@denormals_are_zero()
def train(
    run: DecoderRun,
    rate: float,
    settings: Settings,
    corpus: Corpus,
    folder: Path,
    *,
    trial: bool = False,
    until: int | None = None,
) -> dict[str, Any]:
    """Train a decoder, or go on with it.

    Args:
        run: which one.
        rate: the learning rate, as a power of 10.
        settings: of the study.
        corpus: what it reads.
        folder: where its state and its weights are kept; made when it is not there.
        trial: it tries a learning rate, and no weights are kept.
        until: stop before this step, as an interruption would.

    Returns:
        ``rate``; ``step``, how many steps were taken; ``training`` and ``held_out``, losses in
        nats a byte, the first the mean over the steps since the last, one for each
        ``settings.every`` steps.
    """
    folder.mkdir(parents=True, exist_ok=True)
    model = make_model(run, settings)
    optimiser = make_optimiser(model, rate, settings)
    largest = _largest_scores(model) if run.scaling == CLIPPED else []
    held_out = corpus.passages(settings.passages, settings.n_tokens)
    saved = Checkpoint(folder / f"{trial_name(run, rate) if trial else run.name}.state")
    done: dict[str, Any] = {"rate": rate, "step": 0, "training": [], "held_out": []}
    losses: list[float] = []
    if (state := saved.load()) is not None:
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
        done, losses = state["done"], state["losses"]
    last = settings.trial_steps if trial else settings.steps
    for step in range(done["step"], last + 1):
        if step == until:
            return done
        if not trial and step in settings.moments:
            Checkpoint(weights_path(folder, run, step)).save(model.state_dict())
        if step % settings.every == 0 and len(done["held_out"]) == step // settings.every:
            done["held_out"].append(short(held_out_loss(model, held_out), DIGITS))
        if step == last or not all(map(math.isfinite, losses)):
            break
        largest.clear()
        loss = _loss(model, corpus.batch(settings.batch, settings.n_tokens, run.seed, step))
        losses.append(loss.item())
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
        for group in optimiser.param_groups:
            group["lr"] = 10.0**rate * rate_at(step, settings, trial)
        optimiser.step()
        if largest:
            clip_heads(model, largest, settings.tau)
        done["step"] = step + 1
        if done["step"] % settings.every == 0:
            done["training"].append(short(sum(losses) / len(losses), DIGITS))
            losses.clear()
        if saved.is_due():
            state = {"model": model.state_dict(), "optimiser": optimiser.state_dict()}
            saved.save(state | {"done": done, "losses": losses})
    return done


def make_optimiser(model: Transformer, rate: float, settings: Settings) -> torch.optim.AdamW:
    """AdamW, whose decay is taken from matrices alone: biases, norms and the learned numbers of
    heads keep what they are. Without decay it is Adam.
    """
    matrices = [p for p in model.parameters() if p.dim() == 2]
    others = [p for p in model.parameters() if p.dim() != 2]
    groups: list[dict[str, Any]] = [
        {"params": matrices},
        {"params": others, "weight_decay": 0.0},
    ]
    betas = (0.9, settings.beta_2)
    return torch.optim.AdamW(groups, 10.0**rate, betas, weight_decay=settings.decay)


@torch.no_grad()
def clip_heads(model: Transformer, largest: Sequence[Tensor], tau: float) -> None:
    """Shorten W_Q and W_K of each head whose largest score is above tau, both by the same factor,
    so that it would be tau.

    Args:
        model: the decoder, changed in place.
        largest: for each layer the heads' largest scores, (H,).
        tau: greater than 0.

    Example:
        >>> model = make_model(DecoderRun("qk_clip"), Settings(n_tokens=8))
        >>> tokens = torch.arange(8).unsqueeze(0)
        >>> attention, x = model.blocks[0].attention, model.embedded(tokens)
        >>> largest = [attention.scores(x).amax((0, 2, 3))] * 4
        >>> clip_heads(model, largest, 0.5)
        >>> [f"{top:.3f}" for top in attention.scores(x).amax((0, 2, 3))]
        ['0.500', '0.500', '0.500', '0.500']
    """
    for block, tops in zip(model.blocks, largest, strict=True):
        factor = (tau / tops.clamp(min=tau)).sqrt().view(-1, 1, 1)
        for name in ("query", "key"):
            weight = block.attention.get_submodule(name).get_parameter("weight")
            weight.view(len(tops), -1, weight.shape[-1]).mul_(factor)


def _largest_scores(model: Transformer) -> list[Tensor]:
    """A list to which each forward pass with gradients adds every layer's largest scores, (H,)."""
    largest: list[Tensor] = []

    def keep(attention: Attention, inputs: tuple[Tensor]) -> None:
        if torch.is_grad_enabled():
            with torch.no_grad():
                largest.append(attention.scores(*inputs).amax((0, 2, 3)))

    for block in model.blocks:
        block.attention.register_forward_pre_hook(keep)
    return largest


def trial_name(run: DecoderRun, rate: float) -> str:
    """What a trial of a learning rate is called."""
    return f"{run.name}, rate {rate:g}"


def weights_path(folder: Path, run: DecoderRun, step: int) -> Path:
    """Where a run's weights before a step are kept."""
    return folder / f"{run.name}, step {step}.weights"


def load_model(run: DecoderRun, step: int, settings: Settings, folder: Path) -> Transformer:
    """A run's decoder as it was before a step.

    Raises:
        FileNotFoundError: its weights are not kept there.
    """
    path = weights_path(folder, run, step)
    if not path.exists():
        raise FileNotFoundError(
            f"folder must hold the weights of {run.name} before step {step}, got {folder}: train "
            f"the run first"
        )
    model = make_model(run, settings)
    model.load_state_dict(torch.load(path, weights_only=True))
    return model


@torch.no_grad()
def passage_losses(model: Transformer, passages: Tensor, at_a_time: int = 8) -> Tensor:
    """The mean loss in nats a byte on each passage of (count, n + 1), (count,), float64."""
    parts = []
    for first in range(0, len(passages), at_a_time):
        part = passages[first : first + at_a_time]
        logits = model(part[:, :-1]).transpose(1, 2)  # (B, 256, n)
        parts.append(F.cross_entropy(logits, part[:, 1:], reduction="none").double().mean(1))
    return torch.cat(parts)


def held_out_loss(model: Transformer, passages: Tensor) -> float:
    """The mean loss in nats a byte on passages (count, n + 1)."""
    return passage_losses(model, passages).mean().item()


def check_folder(folder: Path, settings: Settings, library: Path) -> None:
    """Begin a folder, or refuse one of another study.

    Raises:
        ValueError: the folder holds a study with other settings or another text.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "settings.json"
    here = json.dumps(asdict(settings) | {"corpus": load_corpus(library).sha256})
    if not path.exists():
        path.write_text(here, encoding="utf-8")
    if path.read_text(encoding="utf-8") != here:
        raise ValueError(
            f"folder must hold a study with these settings and this text, or nothing, got {folder}"
        )


def best_rate(losses: dict[str, float]) -> float:
    """The rate of the lowest loss, and the smaller one of equals; no number is above every loss.

    Example:
        >>> best_rate({"-3": 2.5, "-2.5": 2.25})
        -2.5
    """
    order = sorted((math.inf if math.isnan(v) else v, float(k)) for k, v in losses.items())
    return order[0][1]


def trained(
    run: DecoderRun,
    rate: float,
    settings: Settings,
    library: Path,
    folder: Path,
    trial: bool = False,
) -> dict[str, Any]:
    """What :func:`train` gives, in a process of its own."""
    corpus = load_corpus(library, settings.fixed_first)
    return train(run, rate, settings, corpus, folder, trial=trial)


def _loss(model: Transformer, passages: Tensor) -> Tensor:
    logits = model(passages[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), passages[:, 1:].flatten())
