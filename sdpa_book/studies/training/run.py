"""One training: how long a model takes to learn, and what it did on the way; and all of them, each
stored as soon as it is done: a line of JSON for the provenance, then one for each run.

A run made elsewhere, with other versions or on another device, is kept like any other: it says what
it ran on, and a line before it the versions.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sdpa_book.studies.making import (
    check_settings,
    denormals_are_zero,
    device_name,
    short,
    versions,
    write,
)
from sdpa_book.studies.resuming import Checkpoint, resume, state_path
from sdpa_book.studies.tasks import TASKS, LongRecall, Task
from sdpa_book.studies.training.plan import (
    EVERY,
    LEARNED,
    STAY,
    WARM_UP,
    Cell,
    Comparison,
    Job,
    Record,
    Run,
    curve_steps,
    next_jobs,
)
from sdpa_book.studies.training.read import STORED, load_study
from sdpa_book.studies.transformer import BRANCHES, Transformer, check_scaling
from sdpa_lib.device import get_device
from sdpa_lib.rescaling import LogBeyond, LogSteps, Rescaling
from sdpa_lib.sampling import make_generator
from sdpa_lib.saturation import entropy

TEST_LENGTHS = (64, 256, 1024, 4096, 8192)
"""Among how many pairs a model that was trained on several lengths is tested."""


def make_model(run: Run) -> Transformer:
    """The model of a run at its start: the same parameters for every scaling of a cell and seed."""
    cell, task = run.cell, run.cell.trained_on
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(make_generator(run.seed).initial_seed())
        embedding = task.embedding(cell.d_model)
        return Transformer(
            embedding,
            task.n_tokens,
            task.n_classes,
            d_model=cell.d_model,
            n_heads=cell.n_heads,
            d_k=cell.d_k,
            n_layers=cell.n_layers,
            scaling=run.scaling,
            norm=cell.norm,
            start=cell.start,
            branch=cell.n_layers ** BRANCHES[cell.branch],
        )


def train(
    run: Run,
    *,
    until: int | None = None,
    device: str | torch.device | None = None,
    checkpoint: Path | None = None,
) -> Record:
    """Train one model and record how it went.

    Args:
        run: what to train.
        until: censor the run at this step; ``None`` takes the cell's budget. A run that is given up
            before its budget is no whole one.
        device: as in :func:`~sdpa_lib.device.get_device`.
        checkpoint: a file from which the same run goes on if it is there, and which is written
            every few minutes; ``None`` keeps none.

    Example:
        >>> cell = Cell("recall 8", d_k=16, d_model=32)
        >>> run = Run(cell, "sqrt_d_k", rate=-2.0, seed=0)
        >>> record = train(run, until=20, device="cpu")
        >>> record.learned_at, record.curves["entropy"][0] > 0.8
        (None, True)
    """
    start, chosen = time.perf_counter(), get_device(device)
    cell, task = run.cell, run.cell.trained_on
    until = cell.budget if until is None else min(until, cell.budget)
    model = make_model(run).to(chosen)
    optimiser = make_optimiser(run, model)
    held_out = _to(chosen, *task.held_out(run.seed))
    points = set() if run.chooses else set(curve_steps(cell.budget))
    whole = cell.whole and not run.chooses and until == cell.budget
    curves: dict[str, list[float]] = {}
    stretch: int | None = None  # the step from which on every measurement was good enough
    worst_loss = worst_gradient = 0.0
    accuracy, finite, loss_held_out, step, before = 0.0, True, math.inf, 0, 0.0
    saved = Checkpoint(checkpoint)
    if (state := saved.load()) is not None:
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
        curves, stretch, worst_loss, worst_gradient = state["so far"]
        accuracy, loss_held_out, step, before = state["last"]
    while True:
        loss = loss_on(task, model, *_to(chosen, *task.batch(run.seed, step)))
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        gradient = _norm(model.parameters())
        finite = math.isfinite(loss.item()) and math.isfinite(gradient)
        if not finite:
            break
        if step >= cell.warm_up:
            worst_loss = max(worst_loss, loss.item() / math.log(task.n_classes))
            worst_gradient = max(worst_gradient, gradient)
        if step % cell.every == 0:
            loss_held_out, accuracy = measure(task, model, *held_out)
            stretch = None if accuracy < LEARNED else step if stretch is None else stretch
            if step in points:
                point = {"step": step, "loss": loss_held_out, "accuracy": accuracy}
                point |= {"gradient": gradient, "gradient_qk": _norm(query_and_key(model))}
                for name, value in (point | _look(model, *held_out[0])).items():
                    curves.setdefault(name, []).append(short(value))
            if step >= cell.budget and whole:
                break
            if stretch is not None and step - stretch >= cell.stay and not whole:
                break
            if step >= until and (stretch is None or stretch > until) and not whole:
                break
        if cell.clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), cell.clip)
        take_step(optimiser, step, cell.warm_up)
        step += 1
        if saved.is_due():
            so_far = curves, stretch, worst_loss, worst_gradient
            last = accuracy, loss_held_out, step, before + time.perf_counter() - start
            both = {"model": model.state_dict(), "optimiser": optimiser.state_dict()}
            saved.save(both | {"so far": so_far, "last": last})
    learned = finite and stretch is not None and step - stretch >= cell.stay
    return Record(
        run,
        learned_at=stretch if learned else None,
        censored_at=until,
        steps=step,
        loss=short(loss_held_out) if math.isfinite(loss_held_out) else math.log(task.n_classes),
        accuracy=short(accuracy),
        worst_loss=short(worst_loss),
        worst_gradient=short(worst_gradient),
        finite=finite,
        curves=curves,
        tested=_test(model, task, run.seed, chosen) if whole and finite else {},
        device=device_name(chosen),
        torch=torch.__version__,
        seconds=round(before + time.perf_counter() - start, 1),
    )


def make_optimiser(run: Run, model: Transformer) -> torch.optim.Optimizer:
    """The optimiser of a run, W_Q and W_K in a group of their own."""
    cell, rate = run.cell, 10.0**run.rate
    other = rate if cell.other_rate is None else 10.0**cell.other_rate
    apart = set(query_and_key(model))
    groups = [
        {"params": [p for p in model.parameters() if p in apart], "full": rate},
        {"params": [p for p in model.parameters() if p not in apart], "full": other},
    ]
    if cell.optimiser == "adam":
        return torch.optim.Adam(groups, fused=True)
    return torch.optim.SGD(groups, lr=0.0, momentum=0.9 if cell.optimiser == "momentum" else 0.0)


def take_step(optimiser: torch.optim.Optimizer, step: int, warm_up: int) -> None:
    """Step number ``step``, counted from 0, at the rate that it has then."""
    for group in optimiser.param_groups:
        group["lr"] = group["full"] * min(1.0, (step + 1) / max(1, warm_up))
    optimiser.step()


def query_and_key(model: Transformer) -> list[Tensor]:
    """The matrices W_Q and W_K of all blocks."""
    both = ((block.attention.query, block.attention.key) for block in model.blocks)
    return [p for pair in both for module in pair for p in module.parameters()]


def _to(
    device: torch.device, inputs: tuple[Tensor, ...], answers: Tensor
) -> tuple[tuple[Tensor, ...], Tensor]:
    return tuple(x.to(device) for x in inputs), answers.to(device)


def loss_on(task: Task, model: Transformer, inputs: tuple[Tensor, ...], answers: Tensor) -> Tensor:
    """The loss on a batch."""
    return F.cross_entropy(task.logits(model(*inputs)).flatten(0, -2), answers.flatten())


def _norm(parameters: Iterable[Tensor]) -> float:
    """The norm of the gradients that the last backward pass left."""
    gradients = [p.grad for p in parameters if p.grad is not None]
    return nn.utils.get_total_norm(gradients).item()


@torch.no_grad()
def measure(
    task: Task, model: Transformer, inputs: tuple[Tensor, ...], answers: Tensor
) -> tuple[float, float]:
    """Loss and accuracy on held-out questions."""
    logits = task.logits(model(*inputs))
    loss = F.cross_entropy(logits.flatten(0, -2), answers.flatten()).item()
    return loss, (logits.argmax(-1) == answers).float().mean().item()


@torch.no_grad()
def _look(model: Transformer, *inputs: Tensor) -> dict[str, float]:
    """How even the weights are, and how far the scores spread, averaged over the layers."""
    entropies, spreads, x = 0.0, 0.0, model.embedded(*inputs)
    for block in model.blocks:
        scores = block.attention.scores(block.attended(x))  # (B, heads, n, n)
        weights = torch.softmax(scores, -1)
        entropies += entropy(weights).mean().item() / math.log(scores.shape[-1])
        spreads += scores.std(-1).mean().item()
        x = block(x)
    return {"entropy": entropies / len(model.blocks), "score_std": spreads / len(model.blocks)}


@torch.no_grad()
def _test(model: Transformer, task: Task, seed: int, device: torch.device) -> dict[str, float]:
    """Accuracy among other numbers of pairs. A model that divides by the root is tested with the
    two divisors that follow the length only beyond that of training as well: in training they
    cannot be told from the root.
    """
    if not isinstance(task, LongRecall):
        return {}
    tested = {}
    exchanged: dict[str, Rescaling | None] = {"": None}
    if model.blocks[0].attention.scaling == "sqrt_d_k":
        exchanged |= {
            " ln_beyond": LogBeyond(task.n_tokens),
            " ln_steps": LogSteps(task.n_tokens, 0.1),
        }
    for name, rescaling in exchanged.items():
        for block in model.blocks:
            block.attention.rescaling = rescaling or block.attention.rescaling
        for n_pairs in TEST_LENGTHS:
            right = []
            for part in range(max(16, 2**15 // n_pairs) // 4):  # four sequences at a time
                generator = make_generator(seed, 1_000_000 + 10_000 * part + n_pairs)
                inputs, answers = _to(device, *task.sequences(4, n_pairs, generator))
                right.append((task.logits(model(*inputs)).argmax(-1) == answers).float().mean())
            tested[f"{n_pairs}{name}"] = short(torch.stack(right).mean().item())
    return tested


def make(
    out: Path,
    plan: Mapping[str, Comparison],
    *,
    workers: int = 1,
    scheduler: str | None = None,
) -> None:
    """Make all runs of a study that ``out/cpu.jsonl`` does not hold yet, and append them.

    Args:
        out: the folder; made when it is not there.
        plan: what the study consists of; the first comparisons are made first.
        workers, scheduler: as in :func:`~sdpa_book.studies.resuming.executor`.

    Raises:
        ValueError: the file holds a study with other settings: two studies don't mix. Runs of other
            versions and devices do, and say so.
    """
    comparisons = list(plan.values())
    for scaling in {scaling for comparison in comparisons for scaling in comparison.scalings}:
        check_scaling(scaling)
    path, here = out / STORED.name, json.loads(json.dumps(provenance(get_device())))
    records = _records(path, here)
    if next_jobs(records, comparisons):
        _begin(path, here)
    asked = {(c.cell, scaling) for c in comparisons for scaling in c.scalings}

    def checkpoint(run: Run) -> Path | None:
        """A cluster has other disks."""
        return state_path(out, run, here) if scheduler is None else None

    def left() -> dict[Run, Callable[[], Record]]:
        jobs = next_jobs(records, comparisons)
        return {job.run: partial(_make, job, checkpoint(job.run)) for job in jobs}

    def store(run: Run, record: Record) -> None:
        records.append(record)
        with path.open("a", encoding="utf-8") as file:
            file.write(_to_line(record))

    done = sum((record.run.cell, record.run.scaling) in asked for record in records)
    resume(path, done, left, store, state=checkpoint, workers=workers, scheduler=scheduler)


@denormals_are_zero()
def _make(job: Job, checkpoint: Path | None) -> Record:
    return train(job.run, until=job.until, checkpoint=checkpoint)


def provenance(device: torch.device) -> dict[str, Any]:
    """What decides a study's figures besides what stands in each run."""
    return {
        "settings": {
            "learned": LEARNED,
            "stay": STAY,
            "every": EVERY,
            "warm_up": WARM_UP,
            "tasks": {name: repr(task) for name, task in TASKS.items()},
        },
        "versions": versions("torch", "numpy", "scikit-learn"),
        "device": device_name(device),
    }


def _records(path: Path, here: dict[str, Any]) -> list[Record]:
    """The records that a file holds, if it was made with these settings."""
    if not path.exists():
        return []
    there, records = load_study(path)
    check_settings(path, there[-1]["settings"], here["settings"])
    return records


def _begin(path: Path, here: dict[str, Any]) -> None:
    """Make a file ready for more records: one that is not there yet is begun, a line cut off at the
    end is removed, and where versions or device have changed since, a line says what comes next.
    """
    whole = ""
    there: list[dict[str, Any]] = []
    if path.exists():
        text, (there, _) = path.read_text(encoding="utf-8"), load_study(path)
        whole = text[: text.rindex("\n") + 1]
    if there[-1:] != [here]:
        whole += json.dumps(here) + "\n"
    write(path, whole)


def _to_line(record: Record) -> str:
    """A record as a line, without what has its default."""
    cell, attributes = record.run.cell, asdict(record)
    given = {f.name: getattr(cell, f.name) for f in fields(Cell)}
    line = {f.name: given[f.name] for f in fields(Cell) if given[f.name] != f.default}
    line |= {"scaling": record.run.scaling, "rate": record.run.rate, "seed": record.run.seed}
    line |= {name: value for name, value in attributes.items() if name != "run" and value != {}}
    return json.dumps(line, allow_nan=False) + "\n"
