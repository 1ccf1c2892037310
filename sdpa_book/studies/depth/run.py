"""The gradient at the start of training, block by block, in the training study's model on the
digits: of one model, and of all that a plan names.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from sdpa_book.studies.depth.plan import TASK, Depth, Question, models
from sdpa_book.studies.depth.read import STORED, ByBlock, Starts, load_depth
from sdpa_book.studies.making import check_settings, device_name, short, versions, write
from sdpa_book.studies.resuming import resume
from sdpa_book.studies.training.plan import Cell, Run
from sdpa_book.studies.training.run import make_model
from sdpa_book.studies.transformer import check_scaling


@dataclass(frozen=True, kw_only=True)
class Start(ByBlock):
    """What one backward pass at the start of training gives.

    Attributes:
        total: the norm of the gradient of all parameters.
    """

    total: float


def first_gradient(cell: Depth, seed: int) -> Start:
    """The first gradient of a model on the first batch of digits.

    Args:
        cell: the model.
        seed: of the model's parameters and of the batch: the same parameters for every scaling.

    Example:
        >>> start = first_gradient(Depth(d_k=16, n_layers=2, scaling="sqrt_d_k"), seed=0)
        >>> len(start.query), len(start.gradient)
        (2, 3)
    """
    model = make_model(Run(cell.in_study, cell.scaling, 0.0, seed)).double()
    (patches,), answers = TASK.batch(seed, 0)
    stream = [model.embedded(patches.double())]  # (B, n, d_model) each
    for block in model.blocks:
        stream.append(block(stream[-1]))
    normalised = model.normalised(stream[-1])
    loss = F.cross_entropy(TASK.logits(model.read_out(normalised)), answers)
    parameters = dict(model.named_parameters())
    gradients = torch.autograd.grad(loss, [*parameters.values(), normalised, *stream])
    norms = {name: g.norm().item() for name, g in zip(parameters, gradients, strict=False)}
    tokens = gradients[len(parameters) :]
    sent, *at_stream = (g.square().mean((1, 2)) for g in tokens)  # (B,) each
    return Start(
        total=math.hypot(*norms.values()),
        query=[norms[name] for name in norms if name.endswith("attention.query.weight")],
        key=[norms[name] for name in norms if name.endswith("attention.key.weight")],
        perceptron=[norms[name] for name in norms if name.endswith("perceptron.2.weight")],
        gradient=[(g.mean() / sent.mean()).sqrt().item() for g in at_stream],
        typical=[(g.median() / sent.median()).sqrt().item() for g in at_stream],
        variance=[x.square().mean().item() for x in stream],
        apart=[_apart(x) for x in stream],
    )


def _apart(tokens: Tensor) -> float:
    """How much two tokens' components differ, as a share: their mean square less their mean product
    over the pairs of each sequence, which is the variance over its tokens; tokens (B, n, d_model).
    """
    normalised = F.layer_norm(tokens.detach(), tokens.shape[-1:])
    return (normalised.var(1).mean() / normalised.square().mean()).item()


def measure(cell: Depth, seeds: int) -> Starts:
    """Measure one model with so many seeds.

    Example:
        >>> len(measure(Depth(16, 2, "none"), seeds=3).total)
        3
    """
    starts = [first_gradient(cell, seed) for seed in range(seeds)]
    by_block: dict[str, Any] = {
        name: _short([*map(median, zip(*(getattr(s, name) for s in starts), strict=True))])
        for name in (field.name for field in fields(ByBlock))
    }
    return Starts(
        cell=cell,
        total=_short([start.total for start in starts]),
        first=_short([start.gradient[0] for start in starts]),
        **by_block,
    )


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
    file, measured = load_depth(path) if path.exists() else (settings | here, {})
    check_settings(path, file, settings)
    elsewhere = None if file == file | here else here
    missing = {
        cell: partial(measure, cell, seeds)
        for cell, seeds in planned.items()
        if cell not in measured or len(measured[cell].total) != seeds
    }

    def store(cell: Depth, starts: Starts) -> None:
        measured[cell] = replace(starts, made_with=elsewhere)
        write(path, _as_json(file, measured.values()))

    stored = len(planned) - len(missing)
    resume(path, stored, missing, store, workers=workers, scheduler=scheduler)


def _as_json(provenance: Mapping[str, Any], measured: Iterable[Starts]) -> str:
    """The file: a line for each model, without what has its default."""
    lines = (
        json.dumps({name: value for name, value in vars(starts).items() if value is not None})
        for starts in measured
    )
    body = ",\n".join(lines)
    return f'{{"provenance": {json.dumps(provenance)},\n"measured": [\n{body}\n]}}\n'
