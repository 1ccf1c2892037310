"""What the explorables know of the library, measured, integrated and named here, for a script that
can't ask Python.

``explorable.py`` writes :func:`script` into the built site at every build. The sliders take few
values, so all that doesn't follow a drag is in the tables below, for each of them.
"""

from __future__ import annotations

import base64
import json
import math
import statistics
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
import scipy.fft
import scipy.interpolate
import scipy.stats
import sdpa_lib as sdpa
import torch
from matplotlib.markers import MarkerStyle
from matplotlib.path import Path as Outline
from matplotlib.transforms import Affine2D
from sdpa_book.drawing import plotting, svg
from sdpa_book.studies import depth as depths
from sdpa_book.studies import optimiser_steps as steps
from sdpa_book.studies.heads.measure import normal_rows
from sdpa_book.studies.heads.plan import DecoderRun
from sdpa_book.studies.heads.read import LONGER, load_places, load_results, load_vectors
from sdpa_book.studies.tasks import TASKS, Recall
from sdpa_book.studies.training.censoring import survival
from sdpa_book.studies.training.plan import EVERY, Record, load_plan
from sdpa_book.studies.training.read import load_study, reported
from torch import Tensor

DIGITS = 4
"""Significant digits of a divisor; readouts show three."""


class Component(NamedTuple):
    """What the explorables know of a distribution that the library does not say.

    Attributes:
        label: the name in menus.
        law: of one component; None where it takes the values -1 and 1 alone.
    """

    label: str
    law: Any

    @property
    def widest(self) -> float:
        """The largest value that it takes, or that matters in double precision."""
        _, end = self.law.support()
        return float(self.law.isf(1e-16) if math.isinf(end) else end)


COMPONENTS = {
    "normal": Component("normal", scipy.stats.norm()),
    "uniform": Component("uniform", scipy.stats.uniform(-math.sqrt(3), 2 * math.sqrt(3))),
    "rademacher": Component("±1", None),
    "laplace": Component("Laplace", scipy.stats.laplace(scale=1 / math.sqrt(2))),
    "student_t": Component("Student’s t", scipy.stats.t(10, scale=math.sqrt(0.8))),
}
"""One for each of ``sdpa.DISTRIBUTIONS``."""


OPTIMISERS = {"SGD": plotting.SEQUENCE[0], "Adam": plotting.SEQUENCE[3]}
"""Their colours in chapter 13's figures."""


def script(name: str) -> str:
    """A classic script that adds to ``explorableData`` what the explorable ``name`` needs: pages
    must work from a folder, too, where no script may fetch.
    """
    roles = plotting.ROLES | OPTIMISERS
    data: dict[str, object] = {
        "colours": {name: on_both_grounds(color) for name, color in roles.items()},
        "letters": {name: on_both_grounds(svg.for_letters(color)) for name, color in roles.items()},
        "rescalings": [{"name": name} | look(name) for name in sdpa.RESCALINGS],
        "distributions": {name: COMPONENTS[name].label for name in sdpa.DISTRIBUTIONS},
    }
    if name in OWN:
        data[name] = OWN[name]()
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"Object.assign(window.explorableData??={{}},{text});\n"


# ---------------------------------------------------------------- heads

HEADS = DecoderRun("sqrt_d_k")
FIRST = 7
"""The first character that may look: shorter rows say nothing of a spread."""

LEVELS_PER_ROOT = 24
"""A score is kept as the root of its distance from its row's largest, in so many parts of 1: fine
where a weight is, coarse where none is.
"""

GAP = 0.125
"""From one spread of normal rows to the next: between, their keys are interpolated."""


def heads() -> dict[str, Any]:
    """Which passage, and of which moments of a training a decoder's scores are there. `reach` is,
    by head and by the character that looks, from `first` on, how far a score goes from the mean of
    its row at any moment, in the whole row and in its two parts; `normal`, by that character and by
    the spread, what normal rows with as many keys have of effective ones.
    """
    stored = load_results(LONGER)
    query, key = load_vectors(HEADS, "line", LONGER)
    whole, place = sdpa.attention_scores(query, key), load_places(HEADS, "line", LONGER)
    parts = torch.stack([whole, place, whole - place])
    rows = [parts[..., at, : at + 1] for at in range(FIRST, key.shape[-2])]
    most = [(row - row.mean(-1, keepdim=True)).abs().amax((0, 1, -1)) for row in rows]
    widest = max(row.std(-1, correction=0).max().item() for row in rows)
    spreads = torch.arange(0, widest + GAP, GAP)
    _, squares, _ = normal_rows(spreads, torch.tensor([[row.shape[-1]] for row in rows]))

    return {
        "first": FIRST,
        "reach": torch.stack(most, dim=-1).flatten(0, 1).ceil().int().tolist(),
        "gap": GAP,
        "normal": [[float(f"{x:.3g}") for x in of_row] for of_row in (1 / squares).tolist()],
        "text": stored.passages["line"],
        "moments": stored.kept[f"{HEADS.name}, line"],
        "layers": key.shape[1],
        "heads": key.shape[2],
        "unit": LEVELS_PER_ROOT,
    }


def heads_scripts() -> dict[str, str]:
    """By name a classic script with a moment's scores: all rows of all heads, each up to its own
    character, a byte a score; then the same less what place decides.
    """
    query, key = load_vectors(HEADS, "line", LONGER)
    scores = sdpa.attention_scores(query, key, is_causal=True)
    seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    read = (scores - load_places(HEADS, "line", LONGER)).masked_fill(~seen, -math.inf)
    both = torch.stack([scores, read], dim=1)  # (moments, 2, layers, heads, n, n)
    below = both.amax(-1, keepdim=True) - both
    levels = (below.sqrt() * LEVELS_PER_ROOT).round().clamp(max=255).to(torch.uint8)
    scripts = {}
    for moment, of_moment in zip(heads()["moments"], levels, strict=True):
        kept = base64.b64encode(of_moment[..., seen].numpy().tobytes()).decode()
        scripts[f"heads_{moment}"] = f'(window.explorableHeads??={{}})["{moment}"]="{kept}";\n'
    return scripts


# ---------------------------------------------------------------- row: two rows of six scores


def row() -> dict[str, list[float]]:
    """Of many rows of six normal scores, the largest first, the one whose two best keys are as far
    apart as half of the rows' are, and the one in which they are nearer than in 19 of 20 others.
    """
    drawn = sdpa.sample(2001, 6, seed=0, device="cpu").sort(-1, descending=True).values
    by_gap = drawn[(drawn[:, 0] - drawn[:, 1]).argsort()]
    return {
        name: [round(z, 3) for z in by_gap[at].tolist()]
        for name, at in (("decided", 1000), ("level", 100))
    }


# ---------------------------------------------------------------- looks


def on_both_grounds(color: str) -> list[str]:
    """A colour on the light ground and on the dark one, where it is what figures have there."""
    return [color, svg.in_the_dark(color)]


def look(name: str) -> dict[str, Any]:
    """A rescaling's label, colours, those of letters, SVG dashes, and its marker as an SVG path
    around (0, 0).
    """
    style = plotting.style(name, marker=True)
    marker = MarkerStyle(style["marker"])
    return {
        "label": sdpa.get_rescaling(name).label,
        "colours": on_both_grounds(style["color"]),
        "letters": on_both_grounds(svg.for_letters(style["color"])),
        "dashes": dashes(style["linestyle"]),
        "marker": outline(marker),
        "filled": marker.is_filled(),
    }


def dashes(line: str | tuple[float, tuple[float, ...]], width: float = 2.0) -> str:
    """A Matplotlib line style as an SVG dash array, at this width of the line."""
    if line == "-":
        return "none"
    patterns = {
        "--": mpl.rcParams["lines.dashed_pattern"],
        "-.": mpl.rcParams["lines.dashdot_pattern"],
        ":": mpl.rcParams["lines.dotted_pattern"],
    }
    pattern = patterns[line] if isinstance(line, str) else line[1]
    return " ".join(f"{width * length:g}" for length in pattern)


def outline(marker: MarkerStyle, area: float = 70.0) -> str:
    """A marker as an SVG path, y downwards: all that are filled cover the same area."""
    path = marker.get_path().transformed(marker.get_transform())
    size = 9.0
    if marker.is_filled():
        x, y = np.asarray(path.transformed(Affine2D().scale(100)).to_polygons()[0]).T / 100
        size = math.sqrt(area / abs(np.trapezoid(y, x)))
    letters = {
        Outline.MOVETO: "M",
        Outline.LINETO: "L",
        Outline.CURVE3: "Q",
        Outline.CURVE4: "C",
        Outline.CLOSEPOLY: "Z",
    }
    drawn = ""
    for points, code in path.iter_segments(simplify=False):
        places = np.round(points * np.tile([size, -size], len(points) // 2), 2) + 0.0
        letter = letters[code]
        drawn += letter if letter == "Z" else letter + " ".join(f"{x:g}" for x in places)
    return drawn


# ---------------------------------------------------------------- growth: densities of q·k


def growth() -> dict[str, Any]:
    """For each distribution and d_k the density of q·k over its standard deviation: on a grid of
    half of it, or, at -1 and 1, the heights of the lattice's upper half.
    """
    d_k = [2**e for e in range(10)]
    return {
        "d_k": d_k,
        "grid": [round(x, 5) for x in (GRID * STEP).tolist()],
        "density": {
            name: [[round(x, 3) for x in density(name, d)] for d in d_k]
            for name in sdpa.DISTRIBUTIONS
        },
    }


STEP = 1 / 2000
"""Of the lattice on which densities are convolved, in standard deviations of q·k."""

REACH = 40
"""How far the lattice goes, in the same unit: beyond, nothing is left of any of them."""

GRID = 4 + np.round((5 / STEP - 4) * np.linspace(0, 1, 49) ** 2).astype(int)
"""Where densities are given, in steps: densest near 0, where those of few components are peaked;
not at 0, where that of one is infinite.
"""


def density(distribution: str, d_k: int) -> np.ndarray:
    """Density of q·k / sqrt(d_k) on the grid; at -1 and 1 its probabilities over their spacing."""
    root = math.sqrt(d_k)
    if COMPONENTS[distribution].law is None:
        sums = np.arange(d_k % 2, min(d_k, 5 * root) + 1, 2)
        return np.asarray(scipy.stats.binom.pmf((d_k + sums) / 2, d_k, 0.5)) * root / 2
    if d_k == 1:
        return product_density(distribution, GRID * STEP)
    # Probabilities of the lattice's cells for one product, then the d_k-fold convolution.
    cells = np.arange(int(REACH / STEP) + 1)
    below = product_probability(distribution, (cells + 0.5) * STEP * root)
    half = np.diff(below, prepend=-below[0])  # the cell around 0 has two halves
    transformed = scipy.fft.rfft(np.concatenate([half, half[:0:-1]]))
    convolved = scipy.fft.irfft(transformed**d_k, 2 * len(half) - 1)
    return np.asarray(convolved[GRID]) / STEP


def product_density(distribution: str, z: np.ndarray) -> np.ndarray:
    """Density of a product of two components at z > 0: the integral of f(x) f(z/x) / x over x on
    both sides of 0, in ln x, as far as both factors have a density.
    """
    law, widest = COMPONENTS[distribution].law, COMPONENTS[distribution].widest
    nodes, weights = np.polynomial.legendre.leggauss(200)
    low, high = np.log(z / widest)[:, None], math.log(widest)
    x = np.exp(low + (high - low) * (nodes + 1) / 2)
    inside = np.minimum(x, widest), np.minimum(z[:, None] / x, widest)
    integral = (law.pdf(inside[0]) * law.pdf(inside[1])) @ weights * (high - low[:, 0]) / 2
    return np.where(z < widest**2, 2 * integral, 0.0)


@cache
def product_probabilities(distribution: str) -> scipy.interpolate.PPoly:
    """The probability that a product of two components lies between 0 and z, in ln z."""
    widest = COMPONENTS[distribution].widest
    log_z = np.linspace(-25, 2 * math.log(widest), 2001)
    z = np.exp(log_z)
    return scipy.interpolate.CubicSpline(
        log_z, z * product_density(distribution, z)
    ).antiderivative()


def product_probability(distribution: str, z: np.ndarray) -> np.ndarray:
    """The same at z."""
    spline = product_probabilities(distribution)
    return np.asarray(spline(np.clip(np.log(z), spline.x[0], spline.x[-1])))


# ---------------------------------------------------------------- scalings: along the divisor


@cache
def scalings() -> dict[str, Any]:
    """For each n and d_k what a divisor of r times the root does, for many r, as pairs of effective
    keys and gradient at the query; and the rescalings that the explorable compares, as their r.

    Keys a times as long make every score a times as large, and so does a divisor that is a times
    smaller: the explorable finds longer keys at another r.
    """
    n, d_k = [2**e for e in range(2, 9)], [4**e for e in range(1, 5)]
    # Below the first but one all weight is at one key. From 8 on weights are nearly even and the
    # gradient falls as 1 / r: a straight line.
    ratios = [2 ** (e / 2) for e in (-22, *range(-15, 7), 10, 36)]
    root = sdpa.RESCALINGS["sqrt_d_k"]
    settings = [[Setting.draw(keys, d) for d in d_k] for keys in n]
    return {
        "n": n,
        "d_k": d_k,
        "labels": {name: called(name) for name in COMPARED},
        "ratios": [rounded(r) for r in ratios],
        "along": [
            [[setting.measure(r * root) for r in ratios] for setting in row] for row in settings
        ],
        "compared": {
            name: [[ratio(name, keys, d) for d in d_k] for keys in n] for name in COMPARED
        },
    }


COMPARED = ("none", "sqrt_d_k", "k_mean", "k_total")
"""Those that chapter 7 is about; its folded table has the others."""


def ratio(name: str, n: int, d_k: int) -> float:
    """A rescaling's mean divisor over the root, for normal keys."""
    key = sdpa.sample(2**11 // n, n, d_k, seed=0)
    return rounded(sdpa.RESCALINGS[name](key).mean().item() / math.sqrt(d_k))


class Setting(NamedTuple):
    """Random queries with random keys and values, as chapter 7 has them, in several sets, and a
    random gradient that arrives at each output.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    upstream: Tensor

    @classmethod
    def draw(cls, n: int, d_k: int) -> Setting:
        sets = max(4, min(32, 2**16 // (n * (d_k + 64))))  # seconds for all settings together
        sizes = ((100, d_k), (n, d_k), (n, 64), (100, 64))
        drawn = (sdpa.sample(sets, *size, seed=0, stream=s) for s, size in enumerate(sizes))
        return cls(*(components.float() for components in drawn))

    def measure(self, rescaling: sdpa.Rescaling) -> list[float]:
        """The mean of the effective keys, and the median gradient."""
        weights = sdpa.attention_weights(self.query, self.key, rescaling=rescaling)
        gradients = sdpa.attention_gradients(
            self.query, self.key, self.value, rescaling=rescaling, upstream=self.upstream
        ).query
        measures = sdpa.effective_keys(weights).mean(), gradients.norm(dim=-1).median()
        return [rounded(measure.item()) for measure in measures]


# ---------------------------------------------------------------- phases: how many keys share


@cache
def phases() -> dict[str, Any]:
    """For each number of keys and each standard deviation of normal scores the mean of ln(effective
    keys) over ln(n): 0 where one key has all weight, 1 where all share it.
    """
    n = [2**e for e in range(1, 18)]
    sigma = [float(f"{2 ** (i / 4 - 3.25):.4g}") for i in range(35)]
    return {
        "n": n,
        "sigma": sigma,
        "d_k": [2**e for e in range(1, 11)],
        "share": [shares(m, sigma) for m in n],
    }


def shares(n: int, sigma: list[float], block: int = 2**17) -> list[float]:
    """By standard deviation the mean of ln(effective keys) over ln(n), in at least 128 rows; so
    many scores are drawn at a time.
    """
    generator = torch.Generator().manual_seed(n)
    rows, blocks = block // n, max(1, 128 * n // block)
    total = torch.zeros(len(sigma))
    for _ in range(blocks):
        scores = torch.randn(rows, n, generator=generator)
        weights = (torch.softmax(s * scores, -1) for s in sigma)
        total += torch.stack([sdpa.effective_keys(w).log().mean() for w in weights])
    return [round(share, 3) for share in (total / blocks / math.log(n)).tolist()]


def rounded(x: float) -> float:
    """To the digits that are shown and some more; a whole number without its point."""
    short = float(f"{x:.{DIGITS}g}")
    return int(short) if short.is_integer() else short


# ---------------------------------------------------------------- budget: when models learn


COMPARISONS = ("recall, d_k 16", "recall, d_k 64", "recall, 64 pairs")
"""Of chapter 12: its first figure and its test of all scalings."""


def called(name: str) -> str:
    """What chapters 10 and 12 call a rescaling beside a curve."""
    return "undivided" if name == "none" else sdpa.RESCALINGS[name].label


def budget() -> dict[str, Any]:
    """For each comparison and rescaling the steps at which the models that report have learned, and
    by how many have, where a step has so many, the interval of the share that has not.
    """
    study, records = load_plan(), load_study()[1]
    cells: dict[str, dict[str, Any]] = {}
    for name in COMPARISONS:
        d_k, task = study[name].cell.d_k, TASKS[study[name].cell.task]
        assert isinstance(task, Recall)
        runs = reported(records, study[name])
        cells[f"{d_k}-{task.n_pairs}"] = {
            "label": f"heads of {d_k}, {task.n_pairs} pairs",
            "learned": {
                scaling: sorted(run.learned_at for run in runs[scaling] if run.learned_at)
                for scaling in runs
                if scaling in sdpa.RESCALINGS
            },
            "intervals": {
                scaling: _intervals(runs[scaling]) for scaling in runs if scaling in sdpa.RESCALINGS
            },
        }
    learned = [cell["learned"] for cell in cells.values()]
    last = max(times[-1] for cell in learned for times in cell.values())
    return {
        "labels": {name: called(name) for name in learned[0]},
        "cells": cells,
        "start": list(cells)[-1],
        "steps": list(range(EVERY, 100 * math.ceil(last / 100) + 1, EVERY)),
    }


def _intervals(runs: Sequence[Record]) -> list[list[float] | None]:
    """Of the share that has not learned, by how many of these runs have."""
    curve = survival(runs)
    by_share = {
        round(share * len(runs)): [rounded(low), rounded(high)]
        for share, low, high in zip(curve.share, curve.low, curve.high, strict=True)
    }
    return [by_share.get(len(runs) - count) for count in range(len(runs) + 1)]


# ---------------------------------------------------------------- power: a step, and the start


class Growth(NamedTuple):
    """Something that grows like a power of d_k.

    Attributes:
        label, short, kept: its name, the one beside a line, and the one within a sentence.
        optimiser, stored: where ``steps.json`` has it.
        exponent: of d_k, given p.
    """

    label: str
    short: str
    kept: str
    optimiser: str
    stored: str
    exponent: Callable[[float], float]


GROWTHS = {
    "start": Growth(
        "spread of the scores at the start",
        "fresh scores",
        "the spread of fresh scores",
        "SGD",
        "start",
        lambda p: 0.5 - p,
    ),
    "SGD": Growth(
        "one step of gradient descent",
        "descent step",
        "gradient descent’s step",
        "SGD",
        "one step",
        steps.OPTIMISERS["SGD"].step,
    ),
    "Adam": Growth(
        "one step of Adam",
        "Adam step",
        "Adam’s step",
        "Adam",
        "one step",
        steps.OPTIMISERS["Adam"].step,
    ),
}


def power() -> dict[str, Any]:
    """The exponents of chapter 13's theorem, which are linear in p, at p = 0 and 1, and for each
    p what was measured, over its size in the narrowest head: means over the seeds.
    """
    first_steps = steps.load_steps()["first steps"]
    lines = {}
    for name, (label, short, kept, optimiser, stored, exponent) in GROWTHS.items():
        measured = {}
        for p, made in first_steps[optimiser].items():
            means = np.mean(made[stored], axis=0)
            measured[p] = [rounded(x) for x in (means / means[0]).tolist()]
        lines[name] = {
            "label": label,
            "short": short,
            "kept": kept,
            "exponents": [exponent(0.0), exponent(1.0)],
            "measured": measured,
        }
    first, last = (int(math.log2(steps.WIDTHS[end])) for end in (0, -1))
    return {
        "d_k": [2**e for e in range(first, last + 1)],
        "measured_at": steps.WIDTHS,
        "lines": lines,
    }


# ---------------------------------------------------------------- depth: the first gradient


KINDS = {
    "pre": ("pre-norm, variance 1/inputs", "pre", "1/inputs"),
    "post": ("post-norm, variance 1/inputs", "post", "1/inputs"),
    "linear": ("pre-norm, started by nn.Linear", "pre", "nn.Linear"),
}
"""What a model is called, where its normalisations stand, and how its matrices start."""


def depth() -> dict[str, Any]:
    """For each kind of model, rescaling, d_k and number of blocks the norm of the first gradient:
    the median, and all models in order.
    """
    measured = depths.load_depth()[1]

    def norms(scaling: str, norm: str, start: str) -> list[list[dict[str, Any]]]:
        of_widths = []
        for d_k in depths.DIMENSIONS:
            totals = [
                measured[depths.Depth(d_k, blocks, scaling, norm, start)].total
                for blocks in depths.LAYERS
            ]
            of_widths.append(
                [{"median": rounded(statistics.median(t)), "all": sorted(t)} for t in totals]
            )
        return of_widths

    labels = {"none": called("none"), "sqrt_d_k": "root"}
    return {
        "d_k": depths.DIMENSIONS,
        "blocks": depths.LAYERS,
        "labels": labels,
        "kinds": {
            name: {
                "label": label,
                "norms": {scaling: norms(scaling, norm, start) for scaling in labels},
            }
            for name, (label, norm, start) in KINDS.items()
        },
    }


OWN: dict[str, Callable[[], object]] = {
    function.__name__: function
    for function in (growth, scalings, phases, heads, row, budget, power, depth)
}
"""By explorable what nobody else needs of the tables; others need none."""
