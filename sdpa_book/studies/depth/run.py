"""The gradient at the start of training, block by block, in the training study's model on the
digits, and in a language model's shape also after it: of one model, and of all that a plan names.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from sdpa_book.studies.depth.decoder import decoder, passages, text, trained
from sdpa_book.studies.depth.plan import TASK, Depth, Question, models
from sdpa_book.studies.depth.read import STORED, ByBlock, Starts, load_depth
from sdpa_book.studies.making import check_settings, device_name, short, versions, write
from sdpa_book.studies.resuming import resume
from sdpa_book.studies.tasks import Batch
from sdpa_book.studies.training.plan import Cell, Run
from sdpa_book.studies.training.run import make_model
from sdpa_book.studies.transformer import Transformer, check_scaling
from sdpa_lib._checks import unknown_name

DECIDED = 0.9
"""The weight that a decided query gives to one key."""


@dataclass(frozen=True, kw_only=True)
class Start(ByBlock):
    """What one backward pass gives.

    Attributes:
        total: the norm of the gradient of all parameters.
        loss: in nats.
    """

    total: float
    loss: float


def first_gradient(cell: Depth, seed: int) -> Start:
    """The first gradient of a model that has just been started, on its first batch.

    Args:
        cell: the model.
        seed: of the model's parameters and of the batch: the same parameters for every scaling.

    Example:
        >>> start = first_gradient(Depth(d_k=16, n_layers=2, scaling="sqrt_d_k"), seed=0)
        >>> len(start.query), len(start.gradient)
        (2, 3)
    """
    return gradient_of(started(cell, seed), *first_batch(cell, seed))


def started(cell: Depth, seed: int) -> Transformer:
    """The model before any training, in double precision."""
    if cell.shape == "decoder":
        return decoder(cell, seed).double()
    return make_model(Run(cell.in_study, cell.scaling, 0.0, seed)).double()


def first_batch(cell: Depth, seed: int) -> Batch:
    """The batch with which its training would begin."""
    if cell.shape == "decoder":
        return passages(text(), seed, 0)
    (patches,), answers = TASK.batch(seed, 0)
    return (patches.double(),), answers


def gradient_of(model: Transformer, inputs: tuple[Tensor, ...], answers: Tensor) -> Start:
    """What one backward pass through a model gives: the loss is the mean over the answers, (B,) of
    the digits or (B, n) of a decoder.
    """
    stream = [model.embedded(*inputs)]  # (B, n, d_model) each
    for block in model.blocks:
        stream.append(block(stream[-1]))
    normalised = model.normalised(stream[-1])
    loss = _loss(model, normalised, answers)
    parameters = dict(model.named_parameters())
    gradients = torch.autograd.grad(loss, [*parameters.values(), normalised, *stream])
    norms = {name: g.norm().item() for name, g in zip(parameters, gradients, strict=False)}
    tokens = gradients[len(parameters) :]
    sent, *at_stream = (g.square().mean((1, 2)) for g in tokens)  # (B,) each
    return Start(
        total=math.hypot(*norms.values()),
        loss=loss.item(),
        query=[norms[name] for name in norms if name.endswith("attention.query.weight")],
        key=[norms[name] for name in norms if name.endswith("attention.key.weight")],
        perceptron=[norms[name] for name in norms if name.endswith("perceptron.2.weight")],
        gradient=[(g.mean() / sent.mean()).sqrt().item() for g in at_stream],
        typical=[(g.median() / sent.median()).sqrt().item() for g in at_stream],
        variance=[x.square().mean().item() for x in stream],
        apart=[_apart(x) for x in stream],
    )


def _loss(model: Transformer, normalised: Tensor, answers: Tensor) -> Tensor:
    logits = model.read_out(normalised)  # (B, n, n_classes)
    logits = TASK.logits(logits) if answers.dim() == 1 else logits.flatten(0, 1)
    return F.cross_entropy(logits, answers.flatten())


def without(
    model: Transformer, inputs: tuple[Tensor, ...], answers: Tensor, who: str
) -> tuple[float, float]:
    """What reaches a model's first block where some queries pass nothing on through their scores:
    backwards these count as constants, and forwards nothing changes.

    Args:
        model: pre-norm, in double precision.
        inputs, answers: a batch.
        who: ``"undecided"``, the queries that give no key ``DECIDED`` of their weight, or
            ``"decided"``, the others.

    Returns:
        The gradient at the first block's input over that above the last LayerNorm, and the share of
        queries that are undecided.

    Example:
        >>> cell = Depth(64, 8, "none")
        >>> growth, share = without(started(cell, 0), *first_batch(cell, 0), "undecided")
        >>> growth < first_gradient(cell, 0).gradient[0] / 3, 0.6 < share < 0.8
        (True, True)
    """
    if who not in ("undecided", "decided"):
        raise unknown_name("who", who, ("undecided", "decided"))
    if not model.pre:
        raise ValueError("model must be pre-norm, got one that is post-norm")
    first = stream = model.embedded(*inputs)
    shares = []
    for block in model.blocks:
        looked_at = block.attended(stream)
        scores = block.attention.scores(looked_at)  # (B, heads, n, n)
        undecided = scores.softmax(-1).amax(-1, keepdim=True) < DECIDED
        shares.append(undecided.double().mean().item())
        still = undecided if who == "undecided" else ~undecided
        scores = torch.where(still, scores.detach(), scores)
        stream = stream.add(block.attention.attend(looked_at, scores), alpha=block.branch)
        stream = stream.add(block.perceptron(block.norm_2(stream)), alpha=block.branch)
    top = model.normalised(stream)
    arrived, sent = torch.autograd.grad(_loss(model, top, answers), [first, top])
    return (arrived.norm() / sent.norm()).item(), fmean(shares)


def _apart(tokens: Tensor) -> float:
    """How much two tokens' components differ, as a share: their mean square less their mean product
    over the pairs of each sequence, which is the variance over its tokens; tokens (B, n, d_model).
    """
    normalised = F.layer_norm(tokens.detach(), tokens.shape[-1:])
    return (normalised.var(1).mean() / normalised.square().mean()).item()


def measure(cell: Depth, seeds: int, folder: Path | None = None) -> Starts:
    """Measure one model with so many seeds; ``folder`` as in
    :func:`~sdpa_book.studies.depth.decoder.trained`.

    Example:
        >>> len(measure(Depth(16, 2, "none"), seeds=3).total)
        3
    """
    if cell.shape == "decoder":
        starts, also = _of_decoders(cell, seeds, folder)
    else:
        starts, also = [first_gradient(cell, seed) for seed in range(seeds)], {}
    by_block: dict[str, Any] = {
        name: _short([*map(median, zip(*(getattr(s, name) for s in starts), strict=True))])
        for name in (field.name for field in fields(ByBlock))
    }
    return Starts(
        cell=cell,
        total=_short([start.total for start in starts]),
        first=_short([start.gradient[0] for start in starts]),
        **also,
        **by_block,
    )


def _of_decoders(
    cell: Depth, seeds: int, folder: Path | None
) -> tuple[list[Start], dict[str, Any]]:
    """The gradients of decoders, on the next batches of their training, and what is left of them
    where some queries pass nothing on.
    """
    starts: list[Start] = []
    also: dict[str, list[float]] = {}
    for seed in range(seeds):
        model = trained(cell, seed, folder).double()
        for later in range(cell.batches):
            batch = passages(text(), seed, cell.steps + later)
            starts.append(gradient_of(model, *batch))
            also.setdefault("loss", []).append(starts[-1].loss)
            for who in ("undecided", "decided"):
                growth, share = without(model, *batch, who)
                also.setdefault(f"without_{who}", []).append(growth)
            also.setdefault("undecided", []).append(share)
    return starts, {name: _short(numbers) for name, numbers in also.items()}


def _short(numbers: Sequence[float]) -> list[float]:
    return [short(number) for number in numbers]


def make(
    out: Path,
    plan: Mapping[str, Question],
    *,
    workers: int = 1,
    scheduler: str | None = None,
) -> None:
    """Measure the models of a plan that ``out/depth.json`` does not hold yet, or holds with another
    number of seeds, and store each as soon as it is done.

    Args:
        out: the folder; made when it is not there.
        plan: the questions.
        workers, scheduler: as in :func:`~sdpa_book.studies.resuming.executor`.

    Raises:
        ValueError: a scaling is not known, or the file was made with other settings.
    """
    planned, path = models(plan.values()), out / STORED.name
    for cell in planned:
        check_scaling(cell.scaling)
    settings = {"width": Cell("digits", 1).d_model, "dtype": "float64"}
    here = {
        "versions": versions("torch", "numpy", "scikit-learn"),
        "device": device_name(torch.device("cpu")),
    }
    checkpoints = out if scheduler is None else None  # a cluster has other disks
    file, measured = load_depth(path) if path.exists() else (settings | here, {})
    check_settings(path, file, settings)
    elsewhere = None if file == file | here else here
    missing = {
        cell: partial(measure, cell, seeds, checkpoints)
        for cell, seeds in planned.items()
        if cell not in measured or len(measured[cell].total) != seeds * cell.batches
    }

    def store(cell: Depth, starts: Starts) -> None:
        made_with = elsewhere
        if cell.shape == "decoder":  # each Python has another standard library
            made_with = here | {"text": text().sha256}
        measured[cell] = replace(starts, made_with=made_with)
        write(path, _as_json(file, measured.values()))

    stored = len(planned) - len(missing)
    resume(path, stored, missing, store, workers=workers, scheduler=scheduler)
    for state in (out / "state").glob("*.state"):  # of trainings, which several questions share
        state.unlink()


def _as_json(provenance: Mapping[str, Any], measured: Iterable[Starts]) -> str:
    """The file: a line for each model, without what has its default."""
    lines = (
        json.dumps({name: value for name, value in vars(starts).items() if value is not None})
        for starts in measured
    )
    body = ",\n".join(lines)
    return f'{{"provenance": {json.dumps(provenance)},\n"measured": [\n{body}\n]}}\n'
