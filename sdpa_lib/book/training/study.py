"""The study: every scaling, every task, a learning rate swept for each, five seeds; one run at a
time, resumable.

A *cell* is what one table compares: a task, a key dimension, a depth, an optimiser. In each cell
each scaling is tried with two seeds at three learning rates, and at further ones as long as the
best stands at an edge; the best rate then gets all five seeds.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from sdpa_lib._checks import unknown_name
from sdpa_lib.book.training.model import SCALINGS, Transformer
from sdpa_lib.book.training.tasks import Digits, Recall, Task
from sdpa_lib.device import get_device
from sdpa_lib.saturation import entropy

SEEDS = 5
SWEEP_SEEDS = 2
WARM_UP = 20  # steps over which the learning rate rises from zero
LOG_EVERY = 20  # steps

TASKS: dict[str, Task] = {
    "digits": Digits(),
    "recall 8": Recall(8),
    "recall 32": Recall(32),
    "recall 64": Recall(64),
    "recall 128": Recall(128),
}

TEST_LENGTHS = ("recall 8", "recall 32", "recall 128")
"""What a model trained on recall is tested on besides its own length."""

RATES = {"adam": (-5, -4, -3), "sgd": (-2, -1, 0)}
"""Where a sweep starts: the learning rates are 10^(k/2) for these k."""
LIMITS = {"adam": (-8, -1), "sgd": (-6, 2)}
"""The k beyond which no sweep goes."""


class Cell(NamedTuple):
    """A task and the settings that all runs compared with each other share."""

    task: str
    d_k: int
    steps: int
    n_layers: int = 2
    optimiser: str = "adam"


STUDY: dict[Cell, tuple[str, ...]] = {
    **{Cell("digits", d_k, 300): tuple(SCALINGS) for d_k in (16, 64, 256)},
    **{Cell("recall 32", d_k, 400): tuple(SCALINGS) for d_k in (16, 64, 256)},
    Cell("recall 8", 64, 300): tuple(SCALINGS),
    Cell("recall 64", 64, 400): tuple(SCALINGS),
    Cell("digits", 64, 600, optimiser="sgd"): tuple(SCALINGS),
    Cell("digits", 64, 300, n_layers=8): ("none", "sqrt_d_k", "d_k", "k_total"),
}
"""The cells, and the scalings that each compares."""


class Run(NamedTuple):
    """One training: a cell, a scaling, a learning rate 10^(rate/2) and a seed."""

    cell: Cell
    scaling: str
    rate: int
    seed: int

    @property
    def learning_rate(self) -> float:
        return math.pow(10.0, self.rate / 2)


@dataclass(frozen=True)
class Record:
    """What a run gave.

    Attributes:
        curves: one number every ``LOG_EVERY`` steps, the first before training: ``step``;
            ``training_loss``, the mean since the last; ``loss`` and ``accuracy`` on the validation
            part; ``entropy`` of a row of weights as a fraction of ln n and ``score_std``, the
            standard deviation of a row of scores, each averaged over rows, heads and layers;
            ``gradient`` and ``gradient_qk``, the norm of the gradient of all parameters and of W_Q
            and W_K alone.
        test_accuracy: by task: the one trained on, and for recall the other lengths too.
        diverged: the loss was no number, or ended 10% above that of guessing.
        seconds: how long it took.
    """

    run: Run
    curves: dict[str, list[float]]
    test_accuracy: dict[str, float]
    diverged: bool
    seconds: float = field(compare=False)

    @property
    def mean_loss(self) -> float:
        """The validation loss averaged over the run: low for a run that learns soon and stays
        there.
        """
        return math.inf if self.diverged else statistics.fmean(self.curves["loss"])

    def steps_to(self, accuracy: float) -> int | None:
        """The first logged step from which on the validation accuracy stays at or above
        ``accuracy``, and None without one.
        """
        reached = None
        for step, value in zip(self.curves["step"], self.curves["accuracy"], strict=True):
            if value < accuracy:
                reached = None
            elif reached is None:
                reached = int(step)
        return reached


def make_model(run: Run) -> Transformer:
    """The model of a run at its start: the same parameters for every scaling of a cell and seed."""
    task = _task(run.cell.task)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(run.seed)
        embedding = task.embedding(32)
        return Transformer(
            embedding,
            task.n_tokens,
            task.n_classes,
            d_k=run.cell.d_k,
            n_layers=run.cell.n_layers,
            scaling=run.scaling,
        )


def train(
    run: Run, *, steps: int | None = None, device: str | torch.device | None = None
) -> Record:
    """Train one model and record how it went.

    Args:
        run: what to train.
        steps: stop after so many steps; ``None`` goes on to the cell's number.
        device: as in :func:`~sdpa_lib.device.get_device`.

    Example:
        >>> cell = Cell("recall 8", d_k=16, steps=300)
        >>> record = train(Run(cell, "sqrt_d_k", rate=-4, seed=0), steps=20, device="cpu")
        >>> record.curves["step"]
        [0, 20]
    """
    start, chosen = time.perf_counter(), get_device(device)
    task, model = _task(run.cell.task), make_model(run).to(chosen)
    optimiser = _optimiser(run, model)
    validation = _to(chosen, *task.held_out("validation"))
    curves: dict[str, list[float]] = {}
    losses: list[float] = []
    total = run.cell.steps if steps is None else steps
    for step in range(total + 1):
        inputs, answers = _to(chosen, *task.batch(run.seed, step))
        loss = _loss(task, model(*inputs), answers)
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        losses.append(loss.item())
        if not math.isfinite(losses[-1]):
            break
        if step % LOG_EVERY == 0:
            point = (
                {"step": step, "training_loss": statistics.fmean(losses)}
                | _gradients(model)
                | _look(task, model, *validation)
            )
            for name, value in point.items():
                curves.setdefault(name, []).append(value if name == "step" else _short(value))
            losses = losses[-1:] if step == total else []
        for group in optimiser.param_groups:
            group["lr"] = run.learning_rate * min(1.0, (step + 1) / WARM_UP)
        if step < total:
            optimiser.step()
    diverged = not (
        math.isfinite(losses[-1]) and curves["training_loss"][-1] < 1.1 * math.log(task.n_classes)
    )
    lengths = TEST_LENGTHS if isinstance(task, Recall) else ()
    test = {
        name: _short(_accuracy(TASKS[name], model, chosen))
        for name in TASKS
        if name == run.cell.task or name in lengths
    }
    return Record(run, curves, test, diverged, round(time.perf_counter() - start, 2))


def plan(records: Iterable[Record], study: Mapping[Cell, tuple[str, ...]] = STUDY) -> list[Run]:
    """The runs that are to be made next, given those made: none when the study is complete.

    A scaling without any run gets its sweeps: with every scaling stored, one that is added to
    ``RESCALINGS`` has all of them to come.
    """
    made: dict[tuple[Cell, str], dict[int, dict[int, Record]]] = {}
    for record in records:
        run = record.run
        made.setdefault((run.cell, run.scaling), {}).setdefault(run.rate, {})[run.seed] = record
    return [
        Run(cell, scaling, rate, seed)
        for cell, scalings in study.items()
        for scaling in scalings
        for rate, seed in _next(cell, made.get((cell, scaling), {}))
    ]


def best_rate(rates: dict[int, dict[int, Record]]) -> int:
    """The rate whose sweep runs have the lowest mean loss, given the records by rate and seed."""
    return min(
        rates,
        key=lambda rate: (
            statistics.fmean(rates[rate][seed].mean_loss for seed in range(SWEEP_SEEDS)),
            rate,
        ),
    )


def _next(cell: Cell, rates: dict[int, dict[int, Record]]) -> list[tuple[int, int]]:
    """The (rate, seed) pairs that one scaling of a cell needs next."""

    def missing(rate: int, seeds: int) -> list[tuple[int, int]]:
        return [(rate, seed) for seed in range(seeds) if seed not in rates.get(rate, {})]

    sweep = [
        pair
        for rate in sorted({*RATES[cell.optimiser], *rates})
        for pair in missing(rate, SWEEP_SEEDS)
    ]
    if sweep:
        return sweep
    best, (low, high) = best_rate(rates), LIMITS[cell.optimiser]
    beyond = best - 1 if best == min(rates) else best + 1 if best == max(rates) else best
    if beyond != best and low <= beyond <= high:
        return missing(beyond, SWEEP_SEEDS)
    return missing(best, SEEDS)


def _task(name: str) -> Task:
    if name not in TASKS:
        raise unknown_name("task", name, TASKS)
    return TASKS[name]


def _optimiser(run: Run, model: Transformer) -> torch.optim.Optimizer:
    if run.cell.optimiser == "adam":
        return torch.optim.Adam(model.parameters(), fused=True)
    if run.cell.optimiser == "sgd":
        return torch.optim.SGD(model.parameters())
    raise ValueError(f"optimiser must be 'adam' or 'sgd', got {run.cell.optimiser!r}")


def _to(
    device: torch.device, inputs: tuple[Tensor, ...], answers: Tensor
) -> tuple[tuple[Tensor, ...], Tensor]:
    return tuple(x.to(device) for x in inputs), answers.to(device)


def _loss(task: Task, features: Tensor, answers: Tensor) -> Tensor:
    return F.cross_entropy(task.logits(features).flatten(0, -2), answers.flatten())


def _gradients(model: Transformer) -> dict[str, float]:
    """Norms of the gradients that the last backward pass left."""

    def norm(parameters: Iterable[Tensor]) -> float:
        gradients = [p.grad for p in parameters if p.grad is not None]
        return torch.nn.utils.get_total_norm(gradients).item()

    both = (
        w
        for block in model.blocks
        for w in (block.attention.query.weight, block.attention.key.weight)
    )
    return {"gradient": norm(model.parameters()), "gradient_qk": norm(both)}


@torch.no_grad()
def _look(
    task: Task, model: Transformer, inputs: tuple[Tensor, ...], answers: Tensor
) -> dict[str, float]:
    """Loss and accuracy on held-out data, and how the attention looks there."""
    entropies, spreads = [], []
    x = model.embedding(*inputs)
    for block in model.blocks:
        scores = block.attention.scores(block.norm_1(x))  # (B, heads, n, n)
        entropies.append(
            entropy(torch.softmax(scores, -1)).mean().item() / math.log(scores.shape[-1])
        )
        spreads.append(scores.std(-1).mean().item())
        x = block(x)
    features = model.read_out(model.norm(x))
    correct = task.logits(features).argmax(-1) == answers
    return {
        "loss": _loss(task, features, answers).item(),
        "accuracy": correct.float().mean().item(),
        "entropy": statistics.fmean(entropies),
        "score_std": statistics.fmean(spreads),
    }


@torch.no_grad()
def _accuracy(task: Task, model: Transformer, device: torch.device) -> float:
    inputs, answers = _to(device, *task.held_out("test"))
    return (task.logits(model(*inputs)).argmax(-1) == answers).float().mean().item()


def _short(value: float) -> float:
    """Four significant digits: what is stored."""
    return float(f"{value:.4g}")
