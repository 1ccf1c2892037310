"""The trainings of :mod:`~sdpa_book.studies.optimiser_steps.problem`, and the figures of a plan."""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from sdpa_book.studies.making import device_name, short, versions
from sdpa_book.studies.optimiser_steps.plan import (
    D_MODEL,
    FINE,
    N_TOKENS,
    OPTIMISERS,
    SMALL,
    STEPS,
    Question,
)
from sdpa_book.studies.optimiser_steps.problem import excess, first_step, make_problem, scores
from sdpa_book.studies.optimiser_steps.read import STORED
from sdpa_book.studies.resuming import Checkpoint, resume_tables, state_path
from sdpa_lib._checks import check_count, check_number, unknown_name

DIGITS = 5
"""Significant digits that are stored."""


class Training(NamedTuple):
    """What some steps did.

    Attributes:
        start: the standard deviation of the scores at the start.
        first: by how much the scores of the partners rose in the first step, on average.
        last: the same in all steps.
        moved: how far W_Q ended from where it began, over its size then, as Frobenius norms.
        losses: the excess loss before each step, and after the last; cut off where it is no number.
    """

    start: float
    first: float
    last: float
    moved: float
    losses: list[float]

    def loss(self, criterion: str) -> float:
        """What is compared between learning rates: the mean over all steps (``"mean"``), or over
        the last ``STEPS`` / 5 (``"end"``); infinite where training was cut off.
        """
        losses = self.losses[-STEPS // 5 :] if criterion == "end" else self.losses
        return statistics.fmean(losses) if math.isfinite(self.losses[-1]) else math.inf


def train(
    d_k: int,
    power: float,
    optimiser: str,
    *,
    rate: float | None = None,
    seed: int,
    steps: int = STEPS,
    dtype: torch.dtype = torch.float64,
    from_zero: bool = False,
) -> Training:
    """Train W_Q and W_K.

    Args:
        d_k: the dimension of the head, at least 1.
        power: the scores are divided by d_k to this power.
        optimiser: a name in ``OPTIMISERS``.
        rate: the learning rate; ``None`` takes the one of ``OPTIMISERS``.
        seed: 0 or more.
        steps: at least 1.
        dtype: of the computation.
        from_zero: the fresh head's own scores are subtracted throughout, so that they start at 0
            and nothing of them has to be unlearned. The matrices and their steps stay as they are.

    Raises:
        ValueError: the optimiser is not known, or a number is out of range.

    Example:
        >>> wide, narrow = (train(d_k, 0.5, "SGD", seed=0, steps=1) for d_k in (4096, 256))
        >>> 0.9 < wide.first / narrow.first < 1.1  # the root keeps the step of gradient descent
        True
    """
    if optimiser not in OPTIMISERS:
        raise unknown_name("optimiser", optimiser, OPTIMISERS)
    kind = OPTIMISERS[optimiser]
    rate = kind.rate if rate is None else check_number("rate", rate, above=0.0)
    check_count("steps", steps)
    problem = make_problem(d_k, seed, dtype=dtype)
    updates = kind.make([problem.w_q, problem.w_k], rate)
    began = problem.w_q.detach().clone()
    losses: list[float] = []
    rises: list[float] = []
    before = None
    for step in range(steps + 1):
        z = scores(problem, power)
        before = z.detach() if before is None else before
        loss = excess(z - before if from_zero else z, problem.partner)
        losses.append(loss.item())
        if step in (1, steps):
            rises.append((z.detach() - before)[range(N_TOKENS), problem.partner].mean().item())
        if step == steps or not math.isfinite(losses[-1]):
            break
        updates.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        updates.step()
    assert before is not None
    first, last = (rises[0], rises[-1]) if rises else (math.nan, math.nan)
    moved = ((problem.w_q.detach() - began).norm() / began.norm()).item()
    return Training(before.std().item(), first, last, moved, losses)


def best_rates(
    d_k: int, power: float, optimiser: str, n_seeds: int, *, from_zero: bool = False
) -> dict[str, list[float]]:
    """The learning rate of lowest loss, for each seed: first on a grid of half decades that goes a
    decade beyond the best on either side, then on eighths around it. For ``from_zero`` see
    :func:`train`.

    Returns:
        One number for each of ``n_seeds`` seeds: by criterion of :meth:`Training.loss` the decimal
        logarithms, and as ``moved`` how far W_Q moves at the best rate of the end.
    """
    training = functools.partial(train, dtype=torch.float32, from_zero=from_zero)

    @functools.cache
    def run(eighths: int, seed: int) -> Training:
        return training(d_k, power, optimiser, rate=10 ** (eighths / FINE), seed=seed)

    def lowest(criterion: str, grid: Iterable[int], seeds: Sequence[int]) -> int:
        return min(
            grid, key=lambda k: statistics.fmean(run(k, seed).loss(criterion) for seed in seeds)
        )

    half, seeds = FINE // 2, range(n_seeds)
    best = {}
    for criterion in ("end", "mean"):
        centre = round(FINE * math.log10(OPTIMISERS[optimiser].rate) / half) * half
        seen: set[int] = set()
        while not seen >= (around := {centre + i * half for i in range(-2, 3)}):
            seen |= around
            centre = lowest(criterion, sorted(seen), seeds)
        fine = range(centre - half, centre + half + 1)
        best[criterion] = [lowest(criterion, fine, [seed]) for seed in seeds]
    moved = [short(run(k, seed).moved, DIGITS) for seed, k in enumerate(best["end"])]
    return {name: [k / FINE for k in eighths] for name, eighths in best.items()} | {"moved": moved}


def small_step(
    d_k: int, power: float, optimiser: str, *, seed: int, n_tokens: int, d_model: int
) -> dict[str, float]:
    """What one step at ``SMALL`` times the optimiser's rate does to the scores of a problem.

    Args:
        d_k, power, optimiser, seed: as in :func:`train`.
        n_tokens, d_model: of the problem.

    Returns:
        How far the ``partners`` rise on average, how far ``all`` scores move as a root mean square,
        and that of the ``theorem``'s leading term.

    Example:
        >>> moved = small_step(4096, 0.5, "SGD", seed=0, n_tokens=16, d_model=32)
        >>> 0.9 < moved["all"] / moved["theorem"] < 1.1
        True
    """
    kind = OPTIMISERS[optimiser]
    rate = SMALL * kind.rate
    problem = make_problem(d_k, seed, n_tokens=n_tokens, d_model=d_model)
    theorem = first_step(problem, power, optimiser, rate)
    before = scores(problem, power)
    excess(before, problem.partner).backward()  # type: ignore[no-untyped-call]
    kind.make([problem.w_q, problem.w_k], rate).step()
    move = (scores(problem, power) - before).detach()
    return {
        "partners": move[range(n_tokens), problem.partner].mean().item(),
        "all": move.square().mean().sqrt().item(),
        "theorem": theorem.square().mean().sqrt().item(),
    }


def answer(
    question: Question, optimiser: str, power: float, checkpoint: Path | None = None
) -> dict[str, Any]:
    """What a question measures of one optimiser and power. Widths that are done are kept in a
    checkpoint, if learning rates are looked for.

    Of steps, for each seed and width: the scores' spread at the start, and how far the partners'
    rose in one step; for ``moves`` also in as many steps of that much less, and in as many whole
    ones. Of learning rates what :func:`best_rates` gives, for each width and seed. Of many tokens
    by shape what :func:`small_step` gives, for each seed and width.
    """
    widths, seeds = question.widths, range(question.seeds)
    if question.name == "many tokens":
        return {
            shape: _by_seed(
                [
                    [
                        small_step(d, power, optimiser, seed=seed, n_tokens=n, d_model=d_model)
                        for d in widths
                    ]
                    for seed in seeds
                ]
            )
            for shape, (n, d_model) in zip(question.shape_names, question.shapes, strict=True)
        }
    if question.name.startswith("rates"):
        from_zero, saved = question.name == "rates from zero", Checkpoint(checkpoint)
        best: list[dict[str, list[float]]] = saved.load() or []
        for d_k in widths[len(best) :]:
            best.append(best_rates(d_k, power, optimiser, question.seeds, from_zero=from_zero))
            saved.save(best)
        return {name: [of_width[name] for of_width in best] for name in best[0]}

    def runs(rate: float, steps: int) -> list[list[Training]]:
        given = functools.partial(train, power=power, optimiser=optimiser, rate=rate, steps=steps)
        return [[given(d_k, seed=seed) for d_k in widths] for seed in seeds]

    def stored(of_seeds: list[list[Training]], name: str) -> list[list[float]]:
        return [[short(getattr(run, name), DIGITS) for run in of_widths] for of_widths in of_seeds]

    rate, many = OPTIMISERS[optimiser].rate, question.name == "moves"
    whole = runs(rate, STEPS if many else 1)
    figures = {"start": stored(whole, "start"), "one step": stored(whole, "first")}
    if many:
        figures["small steps"] = stored(runs(rate / STEPS, STEPS), "last")
        figures["steps"] = stored(whole, "last")
    return figures


def _by_seed(moves: list[list[dict[str, float]]]) -> dict[str, list[list[float]]]:
    """By figure, for each seed and width."""
    return {
        name: [[short(move[name], DIGITS) for move in of_widths] for of_widths in moves]
        for name in moves[0][0]
    }


def settings(plan: Mapping[str, Question]) -> dict[str, Any]:
    """What decides the figures."""
    noted: dict[str, Any] = {
        "tokens": N_TOKENS,
        "d_model": D_MODEL,
        "steps": STEPS,
        "rates": {name: kind.rate for name, kind in OPTIMISERS.items()},
    }
    return noted | {
        f"{name}, {field}": list(value) if isinstance(value, tuple) else value
        for name, question in plan.items()
        for field, value in (
            ("widths", question.widths),
            ("seeds", question.seeds),
            *([("shapes", question.shape_names)] if question.shapes else []),
        )
    }


def make(
    out: Path,
    plan: Mapping[str, Question],
    *,
    workers: int = 1,
    scheduler: str | None = None,
) -> None:
    """Make the figures of a plan that ``out/steps.json`` does not hold yet, and store those of each
    optimiser and power as soon as they are done.

    Args:
        out: the folder; made when it is not there.
        plan: the questions.
        workers, scheduler: as in :func:`~sdpa_book.studies.resuming.executor`.

    Raises:
        ValueError: the file was made with other settings.
    """
    noted = settings(plan)
    here = {"versions": versions("torch", "numpy"), "device": device_name(torch.device("cpu"))}

    def state(key: tuple[str, ...]) -> Path | None:
        """A cluster has other disks."""
        return state_path(out, key, plan[key[0]], noted, here) if scheduler is None else None

    planned = {
        (key := (name, optimiser, f"{power:g}")): functools.partial(
            answer, question, optimiser, power, state(key)
        )
        for name, question in plan.items()
        for optimiser in question.optimisers
        for power in question.powers
    }
    resume_tables(
        out / STORED.name,
        planned,
        here,
        settings=noted,
        state=state,
        workers=workers,
        scheduler=scheduler,
    )
