r"""How far a step of training moves the scores: five optimisers, three powers of ``d_k``.

The smallest problem in which it can be asked. ``N_TOKENS`` random tokens are given, and each has a
partner to which it shall give 90 % of its weight, besides its share of the other 10 %, which all
tokens get. Only W_Q and W_K are trained, so their learning rate is their own, and the scores are
divided by d_k^p. With :math:`G` the gradient of the loss at the scores and :math:`S = X X^T /
d_\text{model}`, the first step has a limit as ``d_k`` grows, which :func:`first_step` gives.

``python -m sdpa_book.studies.training.steps`` makes the stored figures again, in about an hour of
one core.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import multiprocessing
import platform
import statistics
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.optim import Optimizer

import sdpa_lib
from sdpa_book.measured import Measured
from sdpa_lib._checks import check_count, check_number, unknown_name
from sdpa_lib.attention import attention_scores
from sdpa_lib.rescaling import PowerOfDk
from sdpa_lib.sampling import make_generator, sample

STORED = Path(__file__).parent / "results" / "steps.json"
"""The figures that come with the book."""

N_TOKENS, D_MODEL = 16, 32
SMOOTHING = 0.1
WIDTHS = (16, 64, 256, 1024, 4096)
POWERS = (0.0, 0.5, 1.0)
FIRST_POWERS = tuple(i / 20 for i in range(21))
"""The powers of the figure that readers move, which shows nothing but the first step."""
STEPS = 100
MOVE_SEEDS, RATE_SEEDS = 6, 3
RATE_WIDTHS = (64, 256, 1024, 4096)
"""A head narrower than the number of tokens cannot give every token its partner."""
FINE = 8  # learning rates a decade


class Kind(NamedTuple):
    """An optimiser.

    Attributes:
        make: from the parameters and the learning rate.
        rate: the learning rate with which steps are compared.
        step: the power of d_k by which the first step grows, given p.
    """

    make: Callable[[list[Tensor], float], Optimizer]
    rate: float
    step: Callable[[float], float]


OPTIMISERS: dict[str, Kind] = {
    "SGD": Kind(lambda w, rate: torch.optim.SGD(w, rate), 0.1, lambda p: 1 - 2 * p),
    "momentum": Kind(
        lambda w, rate: torch.optim.SGD(w, rate, momentum=0.9), 0.01, lambda p: 1 - 2 * p
    ),
    "Adam": Kind(lambda w, rate: torch.optim.Adam(w, rate), 1e-3, lambda p: 1 - p),
    "Adafactor": Kind(
        # the paper's first epsilon: PyTorch's own is larger than the square of a small gradient
        lambda w, rate: torch.optim.Adafactor(w, rate, eps=(1e-30, 1e-3)),
        5e-3,
        lambda p: 1 - p,
    ),
    "Muon": Kind(
        lambda w, rate: torch.optim.Muon(w, rate, weight_decay=0.0), 3e-3, lambda p: 1 - p
    ),
}
"""By name. Muon is PyTorch's from 2.9 on, with its default factor of the matrix's shape."""


class Problem(NamedTuple):
    """Tokens (N_TOKENS, d_model), the partner of each (N_TOKENS,), and fresh matrices W_Q and W_K
    (d_k, d_model), laid out as in ``nn.Linear``, with entries of variance 1/d_model.
    """

    tokens: Tensor
    partner: Tensor
    w_q: Tensor
    w_k: Tensor


def make_problem(
    d_k: int, seed: int, *, d_model: int = D_MODEL, dtype: torch.dtype = torch.float64
) -> Problem:
    """The problem of one seed.

    Args:
        d_k: the dimension of the head, at least 1.
        seed: 0 or more.
        d_model: the dimension of the tokens, at least 1.
        dtype: of the tokens and the matrices.

    Example:
        >>> make_problem(64, seed=0).w_q.shape
        torch.Size([64, 32])
    """
    check_count("d_k", d_k)
    check_count("d_model", d_model)

    def draw(rows: int, stream: int) -> Tensor:
        return sample(rows, d_model, seed=seed, stream=stream, device="cpu", dtype=dtype)

    partner = torch.randperm(N_TOKENS, generator=make_generator(seed, stream=3))
    w_q, w_k = ((draw(d_k, s) / math.sqrt(d_model)).requires_grad_() for s in (1, 2))
    return Problem(draw(N_TOKENS, 0), partner, w_q, w_k)


def scores(problem: Problem, power: float) -> Tensor:
    """The scores (N_TOKENS, N_TOKENS), divided by d_k to ``power``.

    Example:
        >>> scores(make_problem(64, seed=0), 0.5).shape
        torch.Size([16, 16])
    """
    query, key = problem.tokens @ problem.w_q.T, problem.tokens @ problem.w_k.T
    return attention_scores(query, key, rescaling=PowerOfDk(power))


def excess(z: Tensor, partner: Tensor) -> Tensor:
    """The cross-entropy less the least possible: 0 where the weights are those that are wanted.

    Args:
        z: (n, n), the scores.
        partner: (n,), whom each token shall attend to.

    Returns:
        ().

    Example:
        >>> z = torch.full((16, 16), math.log(0.1 / 16)).fill_diagonal_(math.log(0.9 + 0.1 / 16))
        >>> abs(excess(z, torch.arange(16)).item()) < 1e-6
        True
    """
    n = len(partner)
    other, wanted = SMOOTHING / n, 1 - SMOOTHING + SMOOTHING / n
    least = -wanted * math.log(wanted) - (n - 1) * other * math.log(other)
    return F.cross_entropy(z, partner, label_smoothing=SMOOTHING) - least


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


def first_step(problem: Problem, power: float, optimiser: str, rate: float) -> Tensor:
    r"""What the first step changes in the scores of a wide head, to leading order in ``d_k``.

    Chapter 13 derives it. It depends on the matrices only through :math:`G`.

    Args:
        problem: fresh.
        power: the scores are divided by d_k to this power.
        optimiser: ``"SGD"``, ``"momentum"``, ``"Adam"``, or ``"Muon"`` for d_k > d_model.
        rate: the learning rate.

    Returns:
        (N_TOKENS, N_TOKENS).

    Example:
        >>> first_step(make_problem(64, seed=0), 0.5, "SGD", 0.1).shape
        torch.Size([16, 16])
    """
    x, (d_k, d_model) = problem.tokens, problem.w_q.shape
    z = scores(problem, power).detach().requires_grad_()
    (g,) = torch.autograd.grad(excess(z, problem.partner), z)
    s = x @ x.T / d_model  # (n, n)
    if optimiser in ("SGD", "momentum"):
        return -2 * rate * d_model * math.pow(d_k, 1 - 2 * power) * s @ g @ s
    spread_q, spread_k = x.T @ g @ s @ g.T @ x, x.T @ g.T @ s @ g @ x  # (d_model, d_model)
    if optimiser == "Adam":
        divided_q, divided_k = (torch.diag(m.diagonal().rsqrt()) for m in (spread_q, spread_k))
        factor = math.sqrt(2 / math.pi)
    elif optimiser == "Muon":
        divided_q, divided_k = (_inverse_root(m) for m in (spread_q, spread_k))
        factor = 1 / math.sqrt(d_model)
    else:
        raise ValueError(f"optimiser must be SGD, momentum, Adam or Muon, got {optimiser!r}")
    factor *= -rate * math.pow(d_k, 1 - power)
    return factor * (x @ divided_q @ x.T @ g @ s + s @ g @ x @ divided_k @ x.T)


def _inverse_root(matrix: Tensor) -> Tensor:
    """M^(-1/2) of a symmetric matrix on its range."""
    values, vectors = torch.linalg.eigh(matrix)
    kept = values > 1e-10 * values.max()
    vectors = vectors[:, kept]
    root: Tensor = vectors * values[kept].rsqrt() @ vectors.T
    return root


def exponent(widths: Sequence[int], values: Sequence[Sequence[float]]) -> Measured:
    """The power of the width by which something grows: the slope of its logarithm, by least
    squares, and the standard error of the mean over seeds.

    Args:
        widths: at least 2.
        values: for each of 2 or more seeds one number greater than 0 for each width.

    Example:
        >>> exponent((1, 10), [(1.0, 100.0), (1.0, 10.0)])
        Measured(value=1.5, error=0.5)
    """
    log_width = torch.tensor(widths, dtype=torch.float64).log()
    log_value = torch.tensor(values, dtype=torch.float64).log()
    centred = log_width - log_width.mean()
    slopes = log_value @ centred / centred.square().sum()
    return Measured(slopes.mean().item(), slopes.std().item() / math.sqrt(len(slopes)))


def _in_float32(
    d_k: int, power: float, optimiser: str, log_rate: float, seed: int, from_zero: bool
) -> Training:
    return train(
        d_k,
        power,
        optimiser,
        rate=10**log_rate,
        seed=seed,
        dtype=torch.float32,
        from_zero=from_zero,
    )


def best_rates(
    d_k: int, power: float, optimiser: str, *, from_zero: bool = False
) -> dict[str, list[float]]:
    """The learning rate of lowest loss, for each seed: first on a grid of half decades that goes a
    decade beyond the best on either side, then on eighths around it. For ``from_zero`` see
    :func:`train`.

    Returns:
        By criterion of :meth:`Training.loss` the decimal logarithms, one for each of
        ``RATE_SEEDS`` seeds.
    """

    @functools.cache
    def run(eighths: int, seed: int) -> Training:
        return _in_float32(d_k, power, optimiser, eighths / FINE, seed, from_zero)

    def lowest(criterion: str, grid: Iterable[int], seeds: Sequence[int]) -> int:
        return min(
            grid, key=lambda k: statistics.fmean(run(k, seed).loss(criterion) for seed in seeds)
        )

    half, seeds = FINE // 2, range(RATE_SEEDS)
    best = {}
    for criterion in ("end", "mean"):
        centre = round(FINE * math.log10(OPTIMISERS[optimiser].rate) / half) * half
        seen: set[int] = set()
        while not seen >= (around := {centre + i * half for i in range(-2, 3)}):
            seen |= around
            centre = lowest(criterion, sorted(seen), seeds)
        fine = range(centre - half, centre + half + 1)
        best[criterion] = [lowest(criterion, fine, [seed]) / FINE for seed in seeds]
    return best


def _moves(optimiser: str, power: float) -> dict[str, Any]:
    """For each seed and width: the scores' spread at the start, and how far the partners' rose in
    one step, in as many steps of that much less, and in as many whole ones.
    """
    rate = OPTIMISERS[optimiser].rate
    made: dict[str, Any] = {"start": [], "one step": [], "small steps": [], "steps": []}
    for seed in range(MOVE_SEEDS):
        whole, small = (
            [train(d_k, power, optimiser, rate=r, seed=seed) for d_k in WIDTHS]
            for r in (rate, rate / STEPS)
        )
        made["start"].append([_short(run.start) for run in whole])
        made["one step"].append([_short(run.first) for run in whole])
        made["small steps"].append([_short(run.last) for run in small])
        made["steps"].append([_short(run.last) for run in whole])
    return made


def _first_steps(optimiser: str, power: float) -> dict[str, Any]:
    """Of what :func:`_moves` gives the spread at the start and the one step."""
    made: dict[str, Any] = {"start": [], "one step": []}
    for seed in range(MOVE_SEEDS):
        runs = [train(d_k, power, optimiser, seed=seed, steps=1) for d_k in WIDTHS]
        made["start"].append([_short(run.start) for run in runs])
        made["one step"].append([_short(run.first) for run in runs])
    return made


def _rates(optimiser: str, power: float, from_zero: bool = False) -> dict[str, Any]:
    """By criterion, for each width and seed, the decimal logarithm of the best rate, and how far
    W_Q moves at the best rate of the end.
    """
    best = [best_rates(d_k, power, optimiser, from_zero=from_zero) for d_k in RATE_WIDTHS]
    made = {criterion: [rates[criterion] for rates in best] for criterion in best[0]}
    made["moved"] = [
        [
            _short(_in_float32(d_k, power, optimiser, rate, seed, from_zero).moved)
            for seed, rate in enumerate(rates["end"])
        ]
        for d_k, rates in zip(RATE_WIDTHS, best, strict=True)
    ]
    return made


def _short(value: float) -> float:
    return float(f"{value:.5g}")


def provenance() -> dict[str, Any]:
    """What decides the figures."""
    return {
        "settings": {
            "tokens": N_TOKENS,
            "d_model": D_MODEL,
            "steps": STEPS,
            "move_seeds": MOVE_SEEDS,
            "rate_seeds": RATE_SEEDS,
            "rates": {name: kind.rate for name, kind in OPTIMISERS.items()},
        },
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in ("torch", "numpy")}
        | {"sdpa-lib": sdpa_lib.__version__},
        "device": f"{platform.machine()} cpu",
    }


def load_steps(path: Path = STORED) -> dict[str, Any]:
    """The stored figures: ``provenance``, and by optimiser and power ``moves``, ``first steps``,
    ``rates`` and ``rates from zero``. The first steps are those of gradient descent and Adam at
    more powers. The last are those of scores that start at 0, for p = 0 and p = 1/2; at p = 1 the
    start is next to nothing as it is.

    Example:
        >>> load_steps()["provenance"]["settings"]["steps"]
        100
    """
    stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return stored


def make_steps(path: Path = STORED, *, workers: int = 1) -> None:
    """Make the figures, each run with one thread, and store them."""
    jobs: dict[str, tuple[Callable[[str, float], dict[str, Any]], Iterable[str], Sequence[float]]]
    jobs = {
        "moves": (_moves, OPTIMISERS, POWERS),
        "first steps": (_first_steps, ("SGD", "Adam"), FIRST_POWERS),
        "rates": (_rates, OPTIMISERS, POWERS),
        "rates from zero": (functools.partial(_rates, from_zero=True), OPTIMISERS, POWERS[:2]),
    }
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, torch.set_num_threads, (1,)) as pool:
        made = {
            (kind, name, f"{power:g}"): pool.submit(job, name, power)
            for kind, (job, names, powers) in jobs.items()
            for name in names
            for power in powers
        }
        result: dict[str, Any] = {"provenance": provenance()}
        for (kind, name, power), future in made.items():
            result.setdefault(kind, {}).setdefault(name, {})[power] = future.result()
    path.write_text(json.dumps(result, allow_nan=False) + "\n", encoding="utf-8")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m sdpa_book.studies.training.steps", description=make_steps.__doc__
    )
    parser.add_argument("--out", type=Path, default=STORED, help="the file (default: the book's)")
    parser.add_argument("--workers", type=int, default=1, help="runs at a time (default: 1)")
    options = parser.parse_args()
    make_steps(options.out, workers=options.workers)


if __name__ == "__main__":
    main()
