"""The trainings of a plan, with :func:`~sdpa_book.studies.lookup.layer.steps_to_learn`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor

from sdpa_book.studies.lookup.layer import (
    HELD_OUT,
    KEYS,
    MOST_STEPS,
    SEEDS,
    WIDTH,
    steps_to_learn,
)
from sdpa_book.studies.lookup.plan import Question
from sdpa_book.studies.lookup.read import LEVELS, STORED
from sdpa_book.studies.making import device_name, versions
from sdpa_book.studies.resuming import resume_tables
from sdpa_book.writing.measured import mean_and_error
from sdpa_lib.device import get_device


def answer(d_k: int, queries: int, rate: float) -> dict[str, list[str]]:
    """What is stored of a pair: by level the steps undivided, with the root, and the difference."""
    none, root = (
        steps_to_learn(name, d_k, queries, rate).double() for name in ("none", "sqrt_d_k")
    )
    return {
        level: [_mean_steps(steps) for steps in three]
        for level, three in zip(LEVELS, zip(none, root, none - root, strict=True), strict=True)
    }


def _mean_steps(steps: Tensor) -> str:
    late = int((~steps.isfinite()).sum())
    return f"{late} of {len(steps)} not yet" if late else str(mean_and_error(steps))


def settings(plan: Mapping[str, Question]) -> dict[str, Any]:
    """What decides the figures."""
    noted: dict[str, Any] = {"seeds": list(SEEDS), "keys": KEYS, "width": WIDTH}
    noted |= {"held_out": HELD_OUT, "most_steps": MOST_STEPS}
    return noted | {f"{name}, d_k": question.d_k for name, question in plan.items()}


def make(
    out: Path,
    plan: Mapping[str, Question],
    *,
    workers: int = 1,
    scheduler: str | None = None,
) -> None:
    """Make the pairs of a plan that ``out/steps.json`` does not hold yet, and store each as soon as
    it is done.

    Args:
        out: the folder; made when it is not there.
        plan: the questions.
        workers, scheduler: as in :func:`~sdpa_book.studies.resuming.executor`.

    Raises:
        ValueError: the file was made with other settings.
    """
    planned = {
        (name, pair): partial(answer, *given)
        for name, question in plan.items()
        for pair, given in question.pairs.items()
    }
    resume_tables(
        out / STORED.name,
        planned,
        {"versions": versions("torch", "numpy"), "device": device_name(get_device())},
        settings=settings(plan),
        workers=workers,
        scheduler=scheduler,
    )
