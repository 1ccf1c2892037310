"""One training: which model on which task, how long it takes to learn, and what it did on the way.

What the study measures is declared here, before any run is made.

- **Time to learn**: the first step, of those at which a model is measured, from which on it answers
  ``LEARNED`` of the held-out questions for ``STAY`` steps in a row. A run that has not learned
  within its budget is censored there: it did not learn *by then*, and more is not known of it.
- **Blow-up**: after the learning rate has warmed up, a training loss of more than ``LOSS_BOUND``
  times that of guessing, a gradient whose norm is above ``GRADIENT_BOUND``, or a loss that is no
  number. It is looked for at every step, and counted apart from the time to learn: a run may blow
  up and learn.
"""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sdpa_book.studies.training.model import NORMS, Transformer
from sdpa_book.studies.training.tasks import CHOOSING, TASKS, LongRecall, Task
from sdpa_lib._checks import unknown_name
from sdpa_lib.device import get_device
from sdpa_lib.rescaling import LogBeyond, LogSteps, Rescaling
from sdpa_lib.sampling import make_generator
from sdpa_lib.saturation import entropy

LEARNED = 0.9
"""The share of held-out questions that a model answers once it has learned."""
STAY = 200
"""For how many steps it has to stay there."""
EVERY = 20
"""Steps from one measurement to the next."""
WARM_UP = 20
"""Steps over which the learning rate rises from zero."""
LOSS_BOUND = 2.0
"""A training loss of so many times that of guessing is a blow-up."""
GRADIENT_BOUND = 1000.0
"""A gradient of a larger norm is a blow-up."""

TEST_LENGTHS = (64, 256, 1024, 4096, 8192)
"""Among how many pairs a model that was trained on several lengths is tested."""

OPTIMISERS = ("adam", "sgd", "momentum")


@dataclass(frozen=True)
class Cell:
    """What all runs share that are compared with each other.

    Attributes:
        task: a name in ``TASKS``.
        d_k, d_model, n_heads, n_layers, norm: of the model.
        optimiser: ``"adam"``, ``"sgd"``, or ``"momentum"``, which is SGD with a momentum of 0.9.
        clip: gradients of a larger norm are shortened to it; ``None`` leaves them.
        other_rate: the learning rate, as a power of 10, of all parameters but W_Q and W_K, whose
            own is then the run's; ``None`` gives the run's to all.
        budget: steps until a run that has not learned is given up.
        whole: a run that reports goes on to its budget after it has learned.
    """

    task: str
    d_k: int
    d_model: int = 64
    n_heads: int = 2
    n_layers: int = 2
    norm: str = "pre"
    optimiser: str = "adam"
    clip: float | None = None
    other_rate: float | None = None
    budget: int = 4000
    whole: bool = False

    def __post_init__(self) -> None:
        if self.task not in TASKS:
            raise unknown_name("task", self.task, TASKS)
        if self.optimiser not in OPTIMISERS:
            raise unknown_name("optimiser", self.optimiser, OPTIMISERS)
        if self.norm not in NORMS:
            raise unknown_name("norm", self.norm, NORMS)


class Run(NamedTuple):
    """One training: a cell, a scaling, a learning rate 10^rate and a seed."""

    cell: Cell
    scaling: str
    rate: float
    seed: int

    @property
    def chooses(self) -> bool:
        """Whether the run helps to choose a learning rate, and reports nothing."""
        return self.seed >= CHOOSING


@dataclass(frozen=True)
class Record:
    """What a run gave.

    Attributes:
        learned_at: the time to learn, and ``None`` where the run is censored.
        censored_at: up to which step it would have counted: the budget, or for a run that chooses
            less, when the rate could not win any more.
        steps: how many were made.
        loss, accuracy: at the last measurement, on what is held out.
        worst_loss: the largest training loss after the warm-up, over that of guessing.
        worst_gradient: the largest norm of the whole gradient after the warm-up.
        finite: no loss was infinite or not a number.
        curves: of a run that reports, one number for each step of ``curve_steps``: ``loss`` and
            ``accuracy`` on what is held out; ``entropy`` of a row of weights as a fraction of ln n
            and ``score_std``, the standard deviation of a row of scores, each averaged over rows,
            heads and layers; ``gradient`` and ``gradient_qk``, the norm of the gradient of all
            parameters and of W_Q and W_K alone.
        tested: accuracy on other lengths, by length and, where it was exchanged after training, by
            rescaling.
        device: what it ran on.
        torch: PyTorch's version there: a cluster may have another than the machine that stores;
            empty where the line of versions before the run is all that says it.
        seconds: how long it took.
    """

    run: Run
    learned_at: int | None
    censored_at: int
    steps: int
    loss: float
    accuracy: float
    worst_loss: float
    worst_gradient: float
    finite: bool
    curves: dict[str, list[float]] = field(default_factory=dict)
    tested: dict[str, float] = field(default_factory=dict)
    device: str = field(default="", compare=False)
    torch: str = field(default="", compare=False)
    seconds: float = field(default=0.0, compare=False)

    @property
    def blew_up(self) -> bool:
        """The one flag for a run that exploded, whatever became of it afterwards."""
        return (
            not self.finite or self.worst_loss > LOSS_BOUND or self.worst_gradient > GRADIENT_BOUND
        )

    @property
    def time(self) -> int:
        """The time to learn, or the step until which it is known to be longer."""
        return self.censored_at if self.learned_at is None else self.learned_at


def curve_steps(budget: int) -> Iterator[int]:
    """The steps at which the curves of a run have a point: the first dozen measurements, then about
    six to a doubling.

    Example:
        >>> list(curve_steps(200))
        [0, 20, 40, 60, 80, 100, 120, 140, 160, 180, 200]
        >>> len(list(curve_steps(4000)))
        32
    """
    step = 0
    while step <= budget:
        yield step
        step += EVERY * max(1, step // (6 * EVERY))


def make_model(run: Run) -> Transformer:
    """The model of a run at its start: the same parameters for every scaling of a cell and seed."""
    cell, task = run.cell, TASKS[run.cell.task]
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
        )


def train(
    run: Run, *, until: int | None = None, device: str | torch.device | None = None
) -> Record:
    """Train one model and record how it went.

    Args:
        run: what to train.
        until: censor the run at this step; ``None`` takes the cell's budget. A run that is given up
            before its budget is no whole one.
        device: as in :func:`~sdpa_lib.device.get_device`.

    Example:
        >>> cell = Cell("recall 8", d_k=16, d_model=32)
        >>> run = Run(cell, "sqrt_d_k", rate=-2.0, seed=0)
        >>> record = train(run, until=20, device="cpu")
        >>> record.learned_at, record.curves["entropy"][0] > 0.8
        (None, True)
    """
    start, chosen = time.perf_counter(), get_device(device)
    cell, task = run.cell, TASKS[run.cell.task]
    until = cell.budget if until is None else min(until, cell.budget)
    model = make_model(run).to(chosen)
    optimiser = _optimiser(run, model)
    held_out = _to(chosen, *task.held_out(run.seed))
    points = set() if run.chooses else set(curve_steps(cell.budget))
    whole = cell.whole and not run.chooses and until == cell.budget
    curves: dict[str, list[float]] = {}
    stretch: int | None = None  # the step from which on every measurement was good enough
    worst_loss = worst_gradient = 0.0
    accuracy, finite, loss_held_out, step = 0.0, True, math.inf, 0
    while True:
        loss = _loss(task, model, *_to(chosen, *task.batch(run.seed, step)))
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        gradient = _norm(model.parameters())
        finite = math.isfinite(loss.item()) and math.isfinite(gradient)
        if not finite:
            break
        if step >= WARM_UP:
            worst_loss = max(worst_loss, loss.item() / math.log(task.n_classes))
            worst_gradient = max(worst_gradient, gradient)
        if step % EVERY == 0:
            loss_held_out, accuracy = _measure(task, model, *held_out)
            stretch = None if accuracy < LEARNED else step if stretch is None else stretch
            if step in points:
                point = {"step": step, "loss": loss_held_out, "accuracy": accuracy}
                point |= {"gradient": gradient, "gradient_qk": _norm(_query_and_key(model))}
                for name, value in (point | _look(model, *held_out[0])).items():
                    curves.setdefault(name, []).append(_short(value))
            if step >= cell.budget and whole:
                break
            if stretch is not None and step - stretch >= STAY and not whole:
                break
            if step >= until and (stretch is None or stretch > until) and not whole:
                break
        if cell.clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), cell.clip)
        for group in optimiser.param_groups:
            group["lr"] = group["full"] * min(1.0, (step + 1) / WARM_UP)
        optimiser.step()
        step += 1
    learned = finite and stretch is not None and step - stretch >= STAY
    return Record(
        run,
        learned_at=stretch if learned else None,
        censored_at=until,
        steps=step,
        loss=_short(loss_held_out) if math.isfinite(loss_held_out) else math.log(task.n_classes),
        accuracy=_short(accuracy),
        worst_loss=_short(worst_loss),
        worst_gradient=_short(worst_gradient),
        finite=finite,
        curves=curves,
        tested=_test(model, task, run.seed, chosen) if whole and finite else {},
        device=device_name(chosen),
        torch=torch.__version__,
        seconds=round(time.perf_counter() - start, 1),
    )


def device_name(device: torch.device) -> str:
    """What a device is called in a record.

    Example:
        >>> device_name(torch.device("cpu")).endswith(" cpu")
        True
    """
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{platform.machine()} {device.type}"


def _optimiser(run: Run, model: Transformer) -> torch.optim.Optimizer:
    cell, rate = run.cell, 10.0**run.rate
    other = rate if cell.other_rate is None else 10.0**cell.other_rate
    apart = set(_query_and_key(model))
    groups = [
        {"params": [p for p in model.parameters() if p in apart], "full": rate},
        {"params": [p for p in model.parameters() if p not in apart], "full": other},
    ]
    if cell.optimiser == "adam":
        return torch.optim.Adam(groups, fused=True)
    return torch.optim.SGD(groups, lr=0.0, momentum=0.9 if cell.optimiser == "momentum" else 0.0)


def _query_and_key(model: Transformer) -> list[Tensor]:
    """The matrices W_Q and W_K of all blocks."""
    both = ((block.attention.query, block.attention.key) for block in model.blocks)
    return [p for pair in both for module in pair for p in module.parameters()]


def _to(
    device: torch.device, inputs: tuple[Tensor, ...], answers: Tensor
) -> tuple[tuple[Tensor, ...], Tensor]:
    return tuple(x.to(device) for x in inputs), answers.to(device)


def _loss(task: Task, model: Transformer, inputs: tuple[Tensor, ...], answers: Tensor) -> Tensor:
    return F.cross_entropy(task.logits(model(*inputs)).flatten(0, -2), answers.flatten())


def _norm(parameters: Iterable[Tensor]) -> float:
    """The norm of the gradients that the last backward pass left."""
    gradients = [p.grad for p in parameters if p.grad is not None]
    return nn.utils.get_total_norm(gradients).item()


@torch.no_grad()
def _measure(
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
            tested[f"{n_pairs}{name}"] = _short(torch.stack(right).mean().item())
    return tested


def _short(value: float) -> float:
    """Four significant digits: what is stored."""
    return float(f"{value:.4g}")
