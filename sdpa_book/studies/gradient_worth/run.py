"""What a gradient is worth: whether another batch agrees with it, and how far a step lowers the
loss, at the start of training and over its first steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from sdpa_book.studies.gradient_worth.plan import Question
from sdpa_book.studies.gradient_worth.read import STORED, Figures
from sdpa_book.studies.making import denormals_are_zero, device_name, short, versions
from sdpa_book.studies.resuming import resume_tables
from sdpa_book.studies.tasks import TASKS, Batch, Task
from sdpa_book.studies.training.plan import Run
from sdpa_book.studies.training.run import (
    loss_on,
    make_model,
    make_optimiser,
    measure,
    query_and_key,
    take_step,
)
from sdpa_book.studies.transformer import Transformer

SIZES = tuple(10 ** (-half / 2) for half in range(9))
"""Steps along a gradient, as shares of the length of what they move."""
RATES = (-3.5, -3.0, -2.5, -2.0, -1.5)
"""Of the steps of Adam, as powers of 10."""
PROBED = 16
"""Held-out sequences whose score rows are compared with those of step 0."""


def at_start(run: Run) -> dict[str, Any]:
    """What the first gradient is worth, in double precision.

    Returns:
        What :func:`_agreement` gives; ``loss`` on what is held out; ``fall``, the most that one
        step along a batch's gradient at W_Q and W_K lowers it, and ``size``, the share of their
        length that this step is; ``adam`` and ``adam_qk``, the change of the loss in one step of
        Adam at each of ``RATES``, of all parameters and of W_Q and W_K.
    """
    task, model = TASKS[run.cell.task], make_model(run).double()
    first, second, held_out = (
        _double(batch)
        for batch in (task.batch(run.seed, 0), task.batch(run.seed, 1), task.held_out(run.seed))
    )
    both, everything = query_and_key(model), list(model.parameters())
    at_both = _gradient(task, model, first, both)
    signs = _gradient(task, model, first, everything).sign()
    start = measure(task, model, *held_out)[0]

    def changes(parameters: Sequence[Tensor], steps: Sequence[Tensor]) -> list[float]:
        """Of the held-out loss, with each of these steps made from the start."""
        began, after = parameters_to_vector(parameters).detach(), []
        for step in steps:
            vector_to_parameters(began - step, parameters)
            after.append(measure(task, model, *held_out)[0] - start)
        vector_to_parameters(began, parameters)
        return after

    length = parameters_to_vector(both).detach().norm() / at_both.norm()
    along = changes(both, [size * length * at_both for size in SIZES])
    best = min(range(len(SIZES)), key=along.__getitem__)
    return _agreement(task, model, first, second) | {
        "loss": start,
        "fall": -along[best],
        "size": SIZES[best],
        "adam": changes(everything, [10**rate * signs for rate in RATES]),
        "adam_qk": changes(both, [10**rate * at_both.sign() for rate in RATES]),
    }


@denormals_are_zero()
def in_training(run: Run, looks: Sequence[int]) -> dict[str, Any]:
    """What gradients are worth on the way, and how long the start's pattern lasts.

    Returns:
        For each look what :func:`_agreement` gives of two batches that training never has;
        ``loss`` and ``accuracy`` on what is held out; ``pattern``, the correlation of score rows
        with the same at step 0, and ``top``, the share of them whose largest score is where it was.
    """
    task, model = TASKS[run.cell.task], make_model(run)
    optimiser, (inputs, answers) = make_optimiser(run, model), task.held_out(run.seed)
    probed = tuple(x[:PROBED] for x in inputs)
    began = _score_rows(model, *probed)
    course: dict[str, list[float]] = {}
    for step in range(max(looks) + 1):
        if step in looks:
            fresh = (task.batch(run.seed, 1_000_000 + 2 * step + i) for i in (0, 1))
            point = _agreement(task, model, *fresh)
            point["loss"], point["accuracy"] = measure(task, model, inputs, answers)
            rows = _score_rows(model, *probed)
            pairs = list(zip(rows, began, strict=True))
            alike = [torch.cosine_similarity(now, then, dim=-1).mean() for now, then in pairs]
            same = [(now.argmax(-1) == then.argmax(-1)).float().mean() for now, then in pairs]
            point["pattern"], point["top"] = (torch.stack(x).mean().item() for x in (alike, same))
            for name, value in point.items():
                course.setdefault(name, []).append(value)
        optimiser.zero_grad()
        loss_on(task, model, *task.batch(run.seed, step)).backward()  # type: ignore[no-untyped-call]
        take_step(optimiser, step, run.cell.warm_up)
    return course


def _agreement(task: Task, model: Transformer, first: Batch, second: Batch) -> dict[str, float]:
    """Of W_Q in all blocks: ``gradient``, the norm of a batch's gradient, ``agreement``, the cosine
    between those of two batches, and ``shared``, their product.
    """
    queries = [block.attention.query.weight for block in model.blocks]
    one, other = (_gradient(task, model, batch, queries) for batch in (first, second))
    return {
        "gradient": one.norm().item(),
        "agreement": torch.cosine_similarity(one, other, dim=0).item(),
        "shared": (one @ other).item(),
    }


def _gradient(task: Task, model: Transformer, batch: Batch, parameters: Sequence[Tensor]) -> Tensor:
    return parameters_to_vector(torch.autograd.grad(loss_on(task, model, *batch), parameters))


def _double(batch: Batch) -> Batch:
    inputs, answers = batch
    return tuple(x.double() if x.is_floating_point() else x for x in inputs), answers


@torch.no_grad()
def _score_rows(model: Transformer, *inputs: Tensor) -> list[Tensor]:
    """Each block's rows of scores, (B, heads, n, n), less their means, which softmax ignores."""
    rows, x = [], model.embedded(*inputs)
    for block in model.blocks:
        scores = block.attention.scores(block.attended(x))
        rows.append(scores - scores.mean(-1, keepdim=True))
        x = block(x)
    return rows


def answer(runs: Sequence[Run], looks: Sequence[int]) -> Figures:
    """What is measured of one model, by name an entry for each seed."""
    measured = [in_training(run, looks) if looks else at_start(run) for run in runs]
    return {name: [_short(one[name]) for one in measured] for name in measured[0]}


def _short(value: Any) -> Any:
    return [short(x) for x in value] if isinstance(value, list) else short(value)


def make(
    out: Path,
    plan: Mapping[str, Question],
    *,
    workers: int = 1,
    scheduler: str | None = None,
) -> None:
    """Measure the models of a plan that ``out/worth.json`` does not hold yet, and store each as
    soon as it is done.

    Args:
        out: the folder; made when it is not there.
        plan: the questions.
        workers, scheduler: as in :func:`~sdpa_book.studies.resuming.executor`.
    """
    here = versions("torch", "numpy", "scikit-learn")
    here["device"] = device_name(torch.device("cpu"))
    runs = {
        (question.name, name): (runs, question.looks)
        for question in plan.values()
        for name, runs in question.models()
    }
    resume_tables(
        out / STORED.name,
        {key: partial(answer, *of) for key, of in runs.items()},
        here,
        whole=lambda key, figures: len(figures["gradient"]) == len(runs[key][0]),
        workers=workers,
        scheduler=scheduler,
    )
