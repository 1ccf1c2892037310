"""Each check of the ledger against another way to its figure: a closed form, a case small enough
for paper, or the same draws put through NumPy, SciPy and plain loops.

The cases are smaller than the ledger's own, which the ledger's notebook computes.
"""

import json
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.stats
import torch
from reference import attention_row, divisor
from torch import nn

from sdpa_book.ledger import CHECKS
from sdpa_book.ledger.checks import (
    blending_checks,
    growth_checks,
    shape_kept_checks,
    shapes_checks,
    softmaxes_checks,
    training_checks,
)
from sdpa_book.studies import depth, heads
from sdpa_book.studies.training.censoring import Contrast, Median, times_as_long
from sdpa_book.studies.training.plan import Cell, Comparison, Record, Run
from sdpa_lib import RESCALINGS, sample, sample_gradients, sample_qkv
from sdpa_lib.sampling import get_distribution, make_generator, student_t

approx = pytest.approx


class Case(NamedTuple):
    """A check, its arguments, and the figures, the standard error and the facts that are right."""

    check: str
    given: dict[str, Any]
    expected: Callable[[], tuple[Any, Any, dict[str, Any]]]


CASES: list[Case] = []


def case(check, figures, error=0.0, facts=None, **given):
    """A case whose figures are known without a computation."""
    CASES.append(Case(check, given, lambda: (figures, error, facts or {})))


def computed(check, **given):
    """A case whose figures a function computes: figures, or with a standard error, and facts."""

    def add(function):
        def expected():
            made = function(**given)
            figures, error, *facts = made if isinstance(made, tuple) else (made, 0.0)
            return figures, error, facts[0] if facts else {}

        CASES.append(Case(check, given, expected))
        return function

    return add


def close(x):
    """Two ways to one number; a number that is 0 is compared to 1e-12."""
    if isinstance(x, (tuple, list)):
        return tuple(map(close, x)) if isinstance(x, tuple) else [*map(close, x)]
    return approx(float(x), rel=1e-6, abs=1e-12 if x == 0 else 0) if _is_number(x) else x


def _is_number(x):
    return isinstance(x, (int, float, np.floating))


def near(x, error):
    """What is sampled: within four standard errors."""
    return approx(x, abs=4 * error)


def about(x):
    """A standard error, from its formula or from other draws."""
    return approx(x, rel=0.15)


@pytest.fixture(autouse=True)
def few_dimensions(monkeypatch):
    monkeypatch.setattr(growth_checks, "DIMENSIONS", DIMENSIONS)


DIMENSIONS = (2, 8, 32)

# ---------------------------------------------------------------- what the cases are computed with


def draw(*shape, **given):
    """The check's own draws, as an array."""
    return sample(*shape, device="cpu", **given).double().numpy()


def heads_of(n, m, d, seed=0):
    """Queries, keys and values as the checks draw them."""
    return [x.numpy() for x in sample_qkv(n, m, d, seed=seed, device="cpu")]


def softmaxed(z):
    e = np.exp(np.asarray(z, dtype=float) - np.max(z, axis=-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def mean_of(values):
    values = np.asarray(values, dtype=float)
    return values.mean(), values.std(ddof=1) / math.sqrt(values.size)


def median_of(values):
    values = np.sort(np.asarray(values, dtype=float).ravel())
    n, step = len(values), math.sqrt(len(values)) / 2
    low, high = values[math.floor(n / 2 - step)], values[math.ceil(n / 2 + step)]
    return values[n // 2], (high - low) / 2


def ratio_of(a, b):
    value = a[0] / b[0]
    return value, value * math.hypot(a[1] / a[0], b[1] / b[0])


def of_variance(d, n):
    """The standard error of the variance of n dot products, relative to it: their kurtosis is
    3 + 6/d.
    """
    return math.sqrt((2 + 6 / d) / n)


def slope_of(logs, errors):
    """A line through the figures at the dimensions, fitted by NumPy."""
    x = np.log(DIMENSIONS)
    influence = [np.polyfit(x, row, 1)[0] for row in np.eye(len(x))]
    return np.polyfit(x, logs, 1)[0], math.hypot(
        *(i * e for i, e in zip(influence, errors, strict=True))
    )


# ---------------------------------------------------------------- shapes and formulas

for of, shape in {
    "X": (2, 6),
    "W": (6, 4),
    "Q": (2, 4),
    "scores": (2, 2),
    "divided": (2, 2),
    "weights": (2, 2),
    "output": (2, 4),
}.items():
    case("shape", shape, of=of, d_k=[4], n=2, d_model=6)
case("shape", (2, 3, 2, 5), of="Q", d_k=[3, 5], n=2)
case("dimensions", 3, n_keys=5, d_k=8, d_v=3)
case("values_and_keys_must_pair", 1)
case("terms", (2, 7), d_k=[2, 7])
case("dot_product", 11, q=[1, 2], k=[3, 4], facts={"terms": 2})
case("largest_possible_ratio", 3, low=2, high=6, bound=10)
case("vector_attention", 5, part="numbers", n_keys=5, d_k=4)
case("vector_attention", 1, part="queries", n_keys=5, d_k=4)


def attention_in_loops(divided=8.0):
    q, k, v = (x.tolist() for x in heads_of(3, 3, 64))
    every = {"visible": [True] * 3, "bias": [0.0] * 3}
    return np.array([attention_row(row, k, v, divisor=divided, **every)[1] for row in q])


@computed("attention_formula")
@computed("attention_formula", written="with the query divided")
@computed("attention_formula", written="without softmax")
def _(written=""):
    q, k, v = heads_of(3, 3, 64)
    apart = {"undivided": np.abs(attention_in_loops(1.0) - attention_in_loops()).max()}
    bare = np.abs(q @ k.T / 8 @ v - attention_in_loops()).max()
    return bare if written == "without softmax" else 0, 0, apart


for query, key, row, column in (("love", "phones", 1, 3), ("Apple", "love", 2, 1)):
    case("score_entry", 0, query=query, key=key, facts={"row": row, "column": column})
case("all_score_entries", 0)
for order in ("divisor", "formula", "one by one"):
    case("prescaled_softmax", 0, order=order)
    case("prescaled_softmax", 0, order=order, rescaling="k_total")
case("query_length_divided_out", 0, factor=3.0)

# ---------------------------------------------------------------- growth

N = 100_000
for d in (2, 8):
    e = of_variance(d, N)
    case("variance", near(d, d * e), about(d * e), d_k=d, facts={"exact": d})
    case("variance", near(1, e), about(e), d_k=d, power=0.5, facts={"exact": 1})
    case(
        "standard_deviation",
        near(math.sqrt(d), math.sqrt(d) * e / 2),
        about(math.sqrt(d) * e / 2),
        d_k=d,
        facts={"exact": math.sqrt(d)},
    )
    case("component_spread", near(9, 4.5 * e), about(4.5 * e), d_k=d, std=3.0)
    case("growing_components", near(16, 16 * e), about(16 * e), d_k=d, std=2.0)
copied = 3 * math.sqrt(8 / N)  # the product of two normals has the kurtosis 9
case("variance", near(3, copied), about(copied), d_k=3, power=0.5, copied=True, facts={"exact": 1})
case("scaled_variance", (4, 9), d_k=[4, 9], power=0.0)
case("scaled_variance", (1, 1), d_k=[4, 9], power=0.5)
case("scaled_variance", (2,), d_k=[8], power=1 / 3)
case("mean", near(0, math.sqrt(4 / 4e5)), about(math.sqrt(4 / 4e5)), d_k=4)
case("product_moment", (0,) * 5, moment="mean")
case("product_moment", (1,) * 5, moment="variance")


@computed("growth")
@computed("growth", power=0.25)
@computed("growth", of="standard deviation")
@computed("growth", of="standard deviation", power=0.25)
def _(of="variance", power=0.0):
    share = 1 if of == "variance" else 0.5
    error = slope_of([0] * 3, [share * of_variance(d, 40_000) for d in DIMENSIONS])[1]
    return near(share * (1 - 2 * power), error), about(error)


@computed("growth", of="mean size")
@computed("growth", of="mean size", power=0.5)
def _(of, power=0.0):
    """E|q·k| is that of the length of q, times that of a normal number."""
    means = [
        2 / math.sqrt(math.pi) * math.gamma((d + 1) / 2) / math.gamma(d / 2) for d in DIMENSIONS
    ]
    errors = [math.sqrt((d / m**2 - 1) / 20_000) for d, m in zip(DIMENSIONS, means, strict=True)]
    slope, error = slope_of(np.log(means), errors)
    return near(slope - power, error), about(error)


@computed("least_growth_of_other_powers", powers=[0.0, 0.4, 0.75])
def _(powers):
    error = slope_of([0] * 3, [of_variance(d, 40_000) for d in DIMENSIONS])[1]
    return near(0.2, error), about(error)


@computed("growth_within_matrix")
def _():
    """The entries of a matrix are uncorrelated, so that its variance is d on average."""
    errors = []
    for d in DIMENSIONS:
        q, k = np.random.default_rng(0).standard_normal((2, 4000, 3, d))
        within = [(a @ b.T).var(ddof=1) for a, b in zip(q, k, strict=True)]
        errors.append(np.std(within) / d / math.sqrt(4000))
    error = slope_of([0] * 3, errors)[1]
    return near(1, error), about(error)


@computed("variance_ratio", low=2, high=8)
def _(low, high):
    error = 4 * math.hypot(of_variance(2, N), of_variance(8, N))
    return near(4, error), about(error)


case("variance_of_multiple", 9, a=3.0)


@computed("product_variance_formula", means=[1.0, -2.0], variances=[4.0, 0.25])
def _(means, variances):
    x, y = np.random.default_rng(0).standard_normal((2, 400_000))
    xy = (1 + 2 * x) * (-2 + y / 2)
    error = ((xy - xy.mean()) ** 2).std() / xy.var() / math.sqrt(400_000)
    return near(1, error), about(error), {"by_formula": 4 * 0.25 + 4 * 4 + 0.25 * 1}


error = math.sqrt((1 + 9 + 4) / 4e5) / 6  # Var(XY) = 1 + 3² + 2²
same = near(10 / 9, math.sqrt((2 + 36) / 4e5) / 9)  # Var(X²) = 2 + 4 · 3²
case("product_of_means", near(1, error), about(error), means=[3.0, 2.0], facts={"same": same})
error = math.sqrt((1 + 2) / 4e5) / 3  # Var(X - X²) = 1 + 2
case("sum_of_means", near(1, error), about(error), means=[1.0, 2.0])


def decoders_of_the_root(path, name):
    """A figure's means over the heads of each decoder with the root: at the start, at the end."""
    runs = heads.load_results(path).results.values()
    figures = [r.figures[name].double().numpy() for r in runs if r.run.scaling == "sqrt_d_k"]
    return [[f[i].mean() for f in figures] for i in (0, -1)]


@computed("chance_of_extremes", d_k=2, low=-3.0, high=5.0)
def _(d_k, low, high):
    """The dot product of two pairs of normal numbers has Laplace's density."""
    start, end = decoders_of_the_root(heads.WIDE, "total_std")
    return (
        approx((math.exp(low) + math.exp(-high)) / 2, rel=1e-4),
        0,
        {
            "std": math.sqrt(2),
            "stds": 5 / math.sqrt(2),
            "one_in": "35",
            "at_the_start": 8 * start[0],
            "trained": 8 * end[0],
        },
    )


@computed("expected_largest", n=3, d_k=4, score=3)
def _(n, d_k, score):
    """The largest of three normal numbers has the mean 1.5/√π and the mean square 1 + √3/2π."""
    length = math.sqrt(2) * math.gamma(2.5) / math.gamma(2)
    mean, square = length * 1.5 / math.sqrt(math.pi), 4 * (1 + math.sqrt(3) / (2 * math.pi))
    error = math.sqrt((square - mean**2) / 20_000)
    return near(mean, error), about(error), {"std": 2, "stds": 1.5}


case("divide", (2, -1), scores=[8, -4], d_k=16)
case("implied_dimension", 3.5, scores=[1, 2, 3, 6], facts={"std": math.sqrt(3.5)})
case("mean_of", 3, scores=[1, 2, 6])


@computed("first_component_moments", d_k=4, n_queries=50, sets=20)
def _(d_k, n_queries, sets):
    tables = (heads_of(n_queries, 1, d_k, seed=seed) for seed in range(sets))
    return mean_of([scipy.stats.skew(q @ k[0]) for q, k, _ in tables])


case("order_by_similarity", 1, d_k=4)


@computed("order_by_similarity", spread=2.0, d_k=4)
def _(spread, d_k):
    rng = np.random.default_rng(0)
    q, a, b = rng.standard_normal((3, 200_000, d_k))
    cosines = [(q * x).sum(-1) / np.linalg.norm(x, axis=-1) for x in (a, b)]
    lengths = spread ** rng.random((2, 200_000))
    share = np.mean(
        (cosines[0] > cosines[1]) == (lengths[0] * cosines[0] > lengths[1] * cosines[1])
    )
    error = math.sqrt(share * (1 - share) / 20_000)
    return near(share, error), about(error)


# ---------------------------------------------------------------- softmax

LN = math.log
thirds = {"gap": LN(2), "of_sum": [LN(6) / LN(18), LN(3) / LN(18), 0]}
case("softmax", (0.6, 0.3, 0.1), scores=[LN(6), LN(3), 0], facts=thirds)
implied = {"gap": LN(2), "implied": LN(4), "divisor": 0.5}
case("softmax", (2 / 3, 1 / 3), scores=[LN(2), 0], published=[0.8, 0.2], facts=implied)
case("weight", 0.6, scores=[LN(6), LN(3), 0])
case("weight", 0.3, scores=[LN(6), LN(3), 0], place=2)
case("perplexity_of_weights", 2**1.5, weights=[0.5, 0.25, 0.25])
case("entries_of_softmax", 4, scores=[1, 2, 3, 4])
case("ratio_of_weights", 5, gap=LN(5), facts={"one_more": math.e})
case("sum_of_weights", 0.5, weights=[0.2, 0.3])
case("by_definition", 0)
case("shift_invariance", 0, shift=10.0)
case("keys_matter_to_softmax", 0, running=True)
case("distance_from_one_hot", 0.25, gap=LN(6))
case("jacobian", 0.375, scores=[LN(3), 0], facts={"even": 0.5})  # 2 p (1 - p)
case("first_step", 0.1875, scores=[LN(3), 0.0])  # p (1 - p), p = 1/4
case("first_step", near(1, 1e-6), scores=[LN(3), 0.0], optimiser="Adam")
half = {"scores": [0.0, 0.0], "shift": LN(3)}
case("change_under_shift", 0, **half, facts={"predicted": near(0, 1e-16)})
case("change_under_shift", 0.25, **half, only_first=True, facts={"predicted": LN(3) / 4})
three = {"scores": [0.0, 0.0, LN(2)], "shift": LN(5), "only_first": True}
case("change_under_shift", 0.25, **three, facts={"predicted": LN(5) / 8})
tiny = 2 / 3 * math.exp(-150)
case("perturbation_shows_gradient", 0, **half, facts={"one": 0.25, "saturated": tiny})


@computed("rows_are_distributions")
def _():
    return 1, 0, {"smallest": softmaxed(4 * draw(1000, 32, seed=0)).min()}


@computed("keys_matter_to_softmax")
def _():
    """Each weight loses the share that the new key takes."""
    return softmaxed(draw(1000, 33, seed=5))[:, -1].min()


@computed("one_weight", row=0, column=1)
@computed("one_weight", row=2, column=0)
def _(row, column):
    scores, published = (
        np.array(x)[row] for x in (softmaxes_checks.DOG_BITES_MAN, softmaxes_checks.PUBLISHED)
    )
    misses = {
        t / 200: np.abs(softmaxed(scores * 200 / t) - published).max() for t in range(100, 1001)
    }
    best = min(misses, key=misses.get)
    return softmaxed(scores)[column], 0, {"temperature": best, "miss": misses[best]}


@computed("shift_invariance", shift=1.0, factor=2.0)
def _(shift, factor):
    z = draw(1000, 32, seed=2)
    return np.abs(softmaxed(2 * z) - softmaxed(z)).max()


@computed("divided_before_softmax", d_k=4)
def _(d_k):
    z = draw(1000, 32, seed=4)
    return np.abs(softmaxed(z) - softmaxed(2 * z)).max(), 0, {"after": 0}


@computed("jacobian", scores=[1.0, 0.0, -2.0])
def _(scores):
    p = softmaxed(scores)
    norm = np.linalg.eigvalsh(np.diag(p) - np.outer(p, p)).max()
    return norm, 0, {"even": 1 / 3}


# ---------------------------------------------------------------- saturation


def divisors(name, keys):
    """Of each set of keys, by the rescaling's definition or by "p = ..."."""
    if name.startswith("p = "):
        p = float(name[4:])
        return [(np.linalg.norm(k, axis=-1) ** p).sum() ** (1 / p) for k in keys]
    return [divisor(name, k.tolist(), [True] * len(k)) for k in keys]


def jacobian_norms(p):
    return np.array([np.linalg.norm(np.diag(row) - np.outer(row, row)) for row in p])


QUANTITIES = {
    "largest weight": lambda p: p.max(-1),
    "effective keys": lambda p: 1 / (p**2).sum(-1),
    "perplexity": lambda p: np.exp(scipy.stats.entropy(p, axis=-1)),
    "entropy": lambda p: scipy.stats.entropy(p, axis=-1),
    "Jacobian": jacobian_norms,
    "ignored": lambda p: (p < 0.01).mean(-1),
    "nearly one-hot": lambda p: (p.max(-1) > 0.99) * 1.0,
    "above 0.999": lambda p: (p.max(-1) > 0.999) * 1.0,
}


def rows_of(d_k, n, rescaling="none", std=1.0):
    q = draw(1000, 1, d_k, seed=1, stream=0, dtype=torch.float32)
    k = draw(1000, n, d_k, seed=1, stream=1, dtype=torch.float32)
    scores = [std**2 * (b @ a[0]) for a, b in zip(q, k, strict=True)]
    return softmaxed(np.array(scores) / np.array(divisors(rescaling, std * k))[:, None])


def single(x):
    """A figure of rows whose scores the checks compute in single precision."""
    return approx(x, rel=1e-4)


def all_single(figures):
    return [single(x) for x in figures]


for quantity in QUANTITIES:
    computed("typical", quantity=quantity, d_k=64, n=4, rescaling="none")(
        lambda quantity, d_k, n, rescaling: tuple(
            all_single(mean_of(QUANTITIES[quantity](rows_of(d_k, n))))
        )
    )


@computed("typical", quantity="entropy", d_k=4, n=4, rescaling="d_k", std=2.0)
def _(quantity, d_k, n, rescaling, std):
    return tuple(all_single(mean_of(QUANTITIES[quantity](rows_of(d_k, n, rescaling, std)))))


@computed("median", quantity="Jacobian", d_k=4, n=4, rescaling="sqrt_d_k")
def _(quantity, d_k, n, rescaling):
    values = jacobian_norms(rows_of(d_k, n, rescaling))
    even = math.sqrt(3) / 4
    return *all_single(median_of(values)), {"mean": single(values.mean()), "even_row": even}


@computed("compared", quantity="Jacobian", d_k=8, n=4, to="d_k", rescaling="sqrt_d_k", std=2.0)
def _(quantity, d_k, n, to, rescaling, std):
    a, b = (median_of(jacobian_norms(rows_of(d_k, n, name, std))) for name in (rescaling, to))
    facts = {"ours_median": single(a[0]), "other_median": single(b[0])}
    return *all_single(ratio_of(a, b)), facts


@computed("compared_dimensions", quantity="largest weight", low=2, high=8, n=4)
def _(quantity, low, high, n):
    a, b = (rows_of(d, n).max(-1) for d in (low, high))
    divided = [rows_of(d, n, "sqrt_d_k").max(-1).mean() for d in (low, high)]
    facts = {"low": a.mean(), "high": b.mean(), "fall": (a - b).mean()}
    facts = {name: single(x) for name, x in facts.items()}
    facts["divided"] = approx(divided[1] - divided[0], abs=1e-5)
    return *all_single(mean_of(b - a)), facts


def gradients_of(d_k, n, rescaling, std=1.0, queries=1000):
    """Weights, gradients at scores and their lengths at queries, by softmax's derivative."""
    q = std * draw(queries, 1, d_k, seed=2, stream=0)[:, 0]
    k = std * draw(queries, n, d_k, seed=2, stream=1)
    v = draw(queries, n, 32, seed=2, stream=2)
    c = np.array(divisors(rescaling, k))[:, None]
    p = softmaxed(np.einsum("qd,qnd->qn", q, k) / c)
    arriving = np.einsum("qv,qnv->qn", draw(queries, 1, 32, seed=0)[:, 0], v)
    at_scores = p * (arriving - (p * arriving).sum(-1, keepdims=True))
    at_queries = np.einsum("qn,qnd->qd", at_scores / c, k)
    return p, np.abs(at_scores), np.linalg.norm(at_queries, axis=-1)


@computed(
    "gradient", at="query", divisor="k_total", to="sqrt_d_k", d_k=4, n=4, std=2.0, queries=500
)
@computed("gradient", at="scores", divisor="none", to="sqrt_d_k", d_k=4, n=4)
def _(at, divisor, to, d_k, n, **changes):
    place = ("weights", "scores", "query").index(at)
    return ratio_of(*(median_of(gradients_of(d_k, n, c, **changes)[place]) for c in (divisor, to)))


@computed("gradient_across_dimensions", divisor="sqrt_d_k", low=2, high=8, n=4)
def _(divisor, low, high, n):
    return ratio_of(*(median_of(gradients_of(d, n, divisor)[2]) for d in (high, low)))


@computed("gradient_at_ignored", d_k=8, n=4, below=0.01)
def _(d_k, n, below):
    p, at_scores, _ = gradients_of(d_k, n, "none")
    usual = gradients_of(d_k, n, "sqrt_d_k")[1]
    both = median_of(at_scores[p < below]), median_of(usual)
    return *ratio_of(*both), {"share": (p < below).mean()}


@computed("weak_links", d_k=8, n=4, factor=5.0)
def _(d_k, n, factor):
    undivided, usual = (gradients_of(d_k, n, name)[1] for name in ("none", "sqrt_d_k"))
    bound = (
        np.sort(usual.ravel())[(usual.size - 1) // 2] / factor
    )  # torch's median is the lower one
    return *mean_of((undivided < bound).mean(-1)), {"scaled": (usual < bound).mean()}


# ---------------------------------------------------------------- blending


@computed("blend", weights=[0.5, 0.25, 0.25])
def _(weights):
    p, v = softmaxed(softmaxes_checks.DOG_BITES_MAN[0]), np.array(blending_checks.VALUES)
    return [0.6, 0.2, 0.05, 0.225], 0, {"from_scores": ", ".join(f"{x:.3f}" for x in p @ v)}


case("shares_of_dog", (44, 35, 21), printed=True)
computed("shares_of_dog", printed=False)(
    lambda printed: list(100 * softmaxed(softmaxes_checks.DOG_BITES_MAN[0]))
)
case("output_is_weighted_sum", 0)
case("one_hot_copies", 0)
case("blend_is_linear", 0)
case("depends_on_others", 0, after=False)
case("depends_on_others", 0, after=True, causal=True)
case("unseen_share", 0, d_model=16, d_v=16)


def attended(q, k, v):
    return softmaxed(q @ k.T / math.sqrt(q.shape[-1])) @ v


@computed("in_hull")
def _():
    q, k, v = heads_of(1000, 8, 16, seed=1)
    directions = draw(16, 200, seed=2)
    return max((attended(q, k, v) @ directions).max(0) - (v @ directions).max(0))


@computed("depends_on_others", after=True)
def _(after):
    """By moving each number of the other tokens a little."""
    X = draw(3, 16, seed=3)
    W = [draw(16, 16, seed=3, stream=s) / 4 for s in (1, 2, 3)]

    def first(X):
        return attended(*(X @ w for w in W))[0].sum()

    slopes = np.zeros((3, 16))
    for i, j in np.ndindex(3, 16):
        step = np.zeros((3, 16))
        step[i, j] = 1e-4
        slopes[i, j] = (first(X + step) - first(X - step)) / 2e-4
    return near(np.linalg.norm(slopes[1:], axis=-1).min(), 1e-7)


@computed("where_values_enter")
def _():
    q, k, _ = heads_of(3, 5, 16, seed=7)
    return 0, 0, {"output": softmaxed(q @ k.T / 4).sum(0).max()}


@computed("unseen_share", d_model=16, d_v=4)
def _(d_model, d_v):
    u, W = draw(1, 16, seed=4)[0], draw(16, 4, seed=4, stream=1)
    within = np.linalg.qr(W)[0]  # what W sees is the part of u in its columns' span
    return 1 - np.sum((within.T @ u) ** 2) / np.sum(u**2)


@computed("projection_changes", d_model=8)
def _(d_model):
    X, W = draw(3, 8, seed=6), draw(8, 8, seed=6, stream=1) / math.sqrt(8)
    return math.sqrt(np.sum((X @ W - X) ** 2) / np.sum(X**2))


# ---------------------------------------------------------------- initialisation


def layers(fill, d_model, d_k):
    """Queries and keys of 20 layers, and the weights' own variance."""
    generator, x = make_generator(0), draw(20, 64, d_model, seed=0)
    W = torch.empty(2, 20, d_k, d_model, dtype=torch.float64)
    for one in W.flatten(0, 1):
        fill(one, generator=generator)
    return [np.einsum("mnd,mkd->mnk", x, w) for w in W.numpy()]


@computed("component_variance", initialisation="Xavier uniform", d_model=32, d_k=16)
def _(initialisation, d_model, d_k):
    q, _ = layers(nn.init.xavier_uniform_, d_model, d_k)
    facts = {}
    for name in ("query_variance", "query_shared", "alignment", "key_rank"):
        mean, error = mean_of(decoders_of_the_root(heads.STORED, name)[1])
        facts[name] = (approx(mean, rel=1e-4), approx(error, rel=1e-2))
    return *mean_of((q**2).mean((1, 2))), facts


VARIANCES = {
    "Xavier uniform": 32 * 2 / (32 + 16),
    "Xavier normal": 32 * 2 / (32 + 16),
    "Kaiming uniform": 2,
    "Kaiming normal": 2,
    "PyTorch's Linear": 1 / 3,
}


@pytest.mark.parametrize("name", VARIANCES)
def test_an_initialisation_has_its_formulas_variance(name):
    finding = CHECKS["component_variance"](initialisation=name, d_model=32, d_k=16)
    assert finding.ours == (approx(VARIANCES[name], abs=4 * finding.error),)


@computed("component_mean", initialisation="Kaiming normal", d_model=32, d_k=16)
def _(initialisation, d_model, d_k):
    q, _ = layers(nn.init.kaiming_normal_, d_model, d_k)
    return mean_of(q.mean((1, 2)) / q.std((1, 2), ddof=1))


@computed("scaled_score_variance", d_model=32, d_k=8)
@computed("scaled_score_variance", d_model=32, d_k=8, by="d_model")
@computed("scaled_score_variance", d_model=32, d_k=8, initialisation="Kaiming normal")
def _(d_model, d_k, by="d_k", initialisation=""):
    if initialisation:
        q, k = layers(nn.init.kaiming_normal_, d_model, d_k)
    else:
        x = draw(20, 64, 32, seed=1)
        q, k = (x @ draw(20, 32, 8, seed=1, stream=s) / math.sqrt(32) for s in (1, 2))
    divided = {"d_k": 8, "d_model": 32}[by]
    others = [(i, j) for i in range(64) for j in range(64) if i != j]
    return mean_of(
        [
            np.mean([(a[i] @ b[j]) ** 2 for i, j in others]) / divided
            for a, b in zip(q, k, strict=True)
        ]
    )


@computed("query_key_correlation", initialisation="Xavier normal", d_model=16, d_k=8, n=500)
def _(initialisation, d_model, d_k, n):
    x, generator = draw(n, d_model, seed=2), make_generator(2)
    W = [torch.empty(d_k, d_model, dtype=torch.float64) for _ in range(2)]
    q, k = (x @ nn.init.xavier_normal_(w, generator=generator).numpy().T for w in W)
    sizes = []
    for a, b in ((q, k), [draw(n, d_k, seed=3, stream=s) for s in (0, 1)]):
        # the check divides by n where the correlation divides by n - 1
        each = [abs(np.corrcoef(a[:, i], b[:, i])[0, 1]) * (n - 1) / n for i in range(d_k)]
        sizes.append(mean_of(each))
    (size, error), (baseline, other) = sizes
    return size - baseline, math.hypot(error, other), {"size": size, "baseline": baseline}


case("asymmetry", 0, shared=True, d_model=8, d_k=4)


@computed("asymmetry", shared=False, d_model=8, d_k=4, n=2)
def _(shared, d_model, d_k, n):
    """For two tokens, from the two scores off the diagonal."""
    x = draw(400, 2, 8, seed=5)
    W_Q, W_K = (draw(400, 8, 4, seed=5, stream=s) for s in (1, 2))
    scores = [(a @ q) @ (a @ k).T for a, q, k in zip(x, W_Q, W_K, strict=True)]
    apart, together = ([(s[0, 1] + sign * s[1, 0]) ** 2 for s in scores] for sign in (-1, 1))
    return ratio_of(mean_of(apart), mean_of(together))


# ---------------------------------------------------------------- the shape that survives softmax

COMPONENTS = {
    "normal": lambda: get_distribution("normal"),
    "laplace": lambda: get_distribution("laplace"),
    "t(3)": lambda: student_t(3.0),
    "Laplace of std 3": lambda: get_distribution("laplace").scaled(3.0),
    "mean 1": lambda: get_distribution("normal").shifted(1.0),
    "std 2": lambda: get_distribution("normal").scaled(2.0),
}


def raw_of(d_k, n, components="normal"):
    chosen = COMPONENTS[components]()
    k = draw(30, n, d_k, seed=2, stream=0, distribution=chosen)
    q = draw(30, 300, d_k, seed=2, stream=1, distribution=chosen)
    return np.einsum("sqd,snd->sqn", q, k), k, q


def weights_of(divisor, d_k, n, components="normal"):
    raw, k, _ = raw_of(d_k, n, components)
    return softmaxed(raw / np.array(divisors(divisor, k))[:, None, None])


def distances_of(divisor, d_k, n, components="normal"):
    raw = raw_of(d_k, n, components)[0]
    weights = weights_of(divisor, d_k, n, components)
    pairs = zip(raw[..., 0], weights[..., 0], strict=True)
    return np.array(
        [scipy.stats.wasserstein_distance(*map(scipy.stats.zscore, pair)) for pair in pairs]
    )


@computed("distortion", divisor="none", d_k=4, n=3)
@computed("distortion", divisor="k_total", components="laplace", d_k=4, n=3)
def _(divisor, d_k, n, components="normal"):
    return mean_of(distances_of(divisor, d_k, n, components))


@computed(
    "less_distortion",
    divisor="k_total",
    than="none",
    components=["std 2", "normal"],
    d_k=[4, 2],
    n=[3],
)
def _(divisor, than, components, d_k, n):
    gains = {
        f"{c}, d = {d}, n = 3": mean_of(
            distances_of(than, d, 3, c) - distances_of(divisor, d, 3, c)
        )
        for c in components
        for d in d_k
    }
    least = min(gains, key=gains.get)
    return *gains[least], {"setting": least, "settings": 4}


@computed(
    "family_against_spread",
    than="sqrt_d_k",
    divisor="k_total",
    families=["t(3)", "Laplace of std 3"],
    spreads=["mean 1", "std 2"],
)
def _(than, divisor, families, spreads):
    (a, e), (b, f) = (
        max(
            mean_of(distances_of(than, 64, 32, c) - distances_of(divisor, 64, 32, c)) for c in names
        )
        for names in (families, spreads)
    )
    return a - b, math.hypot(e, f), {"of_families": a, "of_spreads": b}


def columns_of(divisor, d_k, n):
    """The first column of 200 tables of weights: as it is, and as the published program has it, 500
    numbers of one query after another.
    """
    described, published = [], []
    for seed in range(200):
        q, k, _ = heads_of(500, n, d_k, seed=seed)
        weights = softmaxed(q @ k.T / divisors(divisor, [k])[0])
        described.append(weights[:, 0])
        published.append([w for row in weights for w in row][:500])
    return [scipy.stats.skew(columns, axis=-1) for columns in (described, published)]


@computed("skewness", divisor="k_mean", d_k=2, n=2)
def _(divisor, d_k, n):
    return mean_of(columns_of(divisor, d_k, n)[0])


@computed("queries_and_keys_in_column", d_k=2, n_queries=6, n=3)
def _(d_k, n_queries, n):
    described, published = (skews.mean() for skews in columns_of("sqrt_d_k", d_k, n))
    skews = {"skew_described": described, "skew_published": published}
    return (2, 3), 0, {"queries": 2, "keys": 3, **skews}


@computed("near_zero", d_k=4, divisor="sqrt_d_k", n=4)
def _(d_k, divisor, n):
    return mean_of((weights_of(divisor, d_k, n)[..., 0] < 0.1 / 4).mean(-1))


@computed("spread_of_components", d_k=4, n=3)
@computed("spread_of_components", d_k=4, n=3, anew=True)
def _(d_k, n, anew=False):
    if anew:
        rows = []
        for seed in range(4):
            q, k = (draw(3000, m, d_k, seed=seed, stream=s) for s, m in enumerate((1, n)))
            rows.append(softmaxed((q * k).sum(-1) / 2))
    else:
        rows = weights_of("sqrt_d_k", d_k, n)
    spreads = [row.std(0, ddof=1) for row in rows]
    return mean_of([std.max() / std.min() for std in spreads])


case("dependence", 0, n=4, d_k=4)


@computed("bound", n=3, d_k=2, part="first")
@computed("bound", n=3, d_k=2, part="second")
def _(n, d_k, part):
    q, k, _ = heads_of(500, n, d_k, seed=3)
    lengths, of_keys = np.linalg.norm(q, axis=-1)[:, None], np.linalg.norm(k, axis=-1)
    middle = lengths * of_keys / of_keys.sum()
    first = np.abs(q @ k.T) / of_keys.sum()
    return ((first - middle) if part == "first" else (middle - lengths)).max()


@computed("relative_sizes", n=4, d_k=4, longer=2.0)
def _(n, d_k, longer):
    raw, k, q = raw_of(d_k, n)
    z = raw / np.array(divisors("k_total", k))[:, None, None]

    def missed(z):
        centred = z - z.mean(-1, keepdims=True)
        miss = (softmaxed(z) - (1 + centred) / n) * n
        return mean_of(np.sqrt((miss**2).mean((1, 2)) / (centred**2).mean((1, 2))))

    lengths = np.linalg.norm(q, axis=-1)
    facts = {
        "ten": missed(20 * z)[0],
        "n_times": missed(8 * z)[0],
        "length": lengths.mean(),
        "reached": (np.abs(z).max(-1) / lengths).max(),
        "std": z.std(ddof=1),
    }
    return *missed(2 * z), facts


@computed("scales_of_axes", d_k=4, n=4)
def _(d_k, n):
    first = weights_of("k_total", d_k, n)[..., 0]
    spreads = raw_of(d_k, n)[0][..., 0].std(-1, ddof=1) / first.std(-1, ddof=1)
    return *mean_of(spreads), {"within": np.abs(4 * first - 1).max(-1).mean()}


@computed("k_total_is_positive", factor=2.0)
def _(factor):
    return 2 * np.linalg.norm(draw(32, 64, seed=4), axis=-1).sum()


case("k_total_is_positive", 0, factor=0.0)
case("longer_query", 2, factor=2.0)
case("p_norm", 0, p=2.0, divisor="k_rss")
case("p_norm", 0, p=1.0, divisor="k_total")


@computed("p_norm", p=2.0, divisor="k_total")
def _(p, divisor):
    k = raw_of(64, 32)[1]
    return np.abs(np.subtract(divisors("p = 2", k), divisors(divisor, k))).max()


@computed("distortions_differ", first="k_total", second="none", d_k=4, n=3)
def _(first, second, d_k, n):
    """The error by leaving out one set of keys after another."""
    a, b = (distances_of(name, d_k, n) for name in (first, second))
    without = [np.delete(a, i).mean() / np.delete(b, i).mean() for i in range(30)]
    return a.mean() / b.mean(), approx(np.std(without) * math.sqrt(29), rel=0.05)


@computed("room_to_choose", divisor="none", d_k=4, n=3)
def _(divisor, d_k, n):
    return mean_of(3 * weights_of(divisor, d_k, n).max(-1).mean(-1))


@computed("shape_as_diagnosis", better="d_k", worse="none", d_k=4)
def _(better, worse, d_k):
    a, b = (median_of(jacobian_norms(rows_of(d_k, 32, name))) for name in (worse, better))
    shapes = {
        name: distances_of(divisor, d_k, 32).mean()
        for name, divisor in (("better", better), ("worse", worse))
    }
    medians = {"ours_median": single(a[0]), "other_median": single(b[0])}
    return *all_single(ratio_of(a, b)), shapes | medians


@computed("least_over_p", p=[0.5, 4.0])
def _(p):
    best = distances_of("k_total", 64, 32)
    gains = {f"p = {x:g}": mean_of(distances_of(f"p = {x:g}", 64, 32) - best) for x in p}
    least = min(gains, key=gains.get)
    return *gains[least], {"which": least}


@computed("best_in_context", stds=[0.5, 3.0], d_k=4, n=4)
def _(stds, d_k, n):
    best = [
        max(RESCALINGS, key=lambda name: np.median(jacobian_norms(rows_of(4, 4, name, std))))
        for std in stds
    ]
    named = {"none": "no divisor", "sqrt_d_k": "√d", "k_mean": "the mean key length"}
    named |= {"k_total": "k_total", "k_rss": "the root of squares"}
    first, second = (named.get(name, name) for name in best)
    return len({*best}), 0, {"first": first, "second": second}


case("gradient_near_corner", (0.16, 0.25), weights=[0.2, 0.5], facts={"even": 0.25})


# ---------------------------------------------------------------- gradients through depth

STORED = {
    tuple(row["cell"]): row for row in json.loads(depth.STORED.read_text("utf-8"))["measured"]
}


def first_gradients(d_k, n_layers, scaling, start="1/inputs"):
    """The median over seeds, for a block, and the error of the mean logarithm."""
    totals = np.array(STORED[d_k, n_layers, scaling, "pre", start]["total"])
    return np.median(totals) / math.sqrt(n_layers), mean_of(np.log(totals))[1]


@computed("first_gradient_grows", d_k=[16, 256], n_layers=[24, 24])
@computed("first_gradient_grows", d_k=[256, 256], n_layers=[48, 2])
def _(d_k, n_layers):
    def growth(scaling, start="1/inputs"):
        (a, e), (b, f) = (
            first_gradients(*cell, scaling, start) for cell in zip(d_k, n_layers, strict=True)
        )
        return b / a, math.hypot(e, f)

    value, error = growth("none")
    query = STORED[d_k[1], n_layers[1], "none", "pre", "1/inputs"]["query"]
    factor = max(value, 1 / value)
    return (
        factor,
        factor * error,
        {
            "grows": value,
            "root": growth("sqrt_d_k")[0],
            "linear": growth("none", "nn.Linear")[0],
            "linear_root": growth("sqrt_d_k", "nn.Linear")[0],
            "first": query[0],
            "last": query[-1],
        },
    )


@computed("weights_through_depth", at="W_Q", d_k=64)
@computed("weights_through_depth", at="W_K", d_k=16, n_layers=8)
def _(at, d_k, n_layers=24):
    name = {"W_Q": "query", "W_K": "key"}[at]
    ours, root = (STORED[d_k, n_layers, c, "pre", "1/inputs"][name] for c in ("none", "sqrt_d_k"))
    ratios = np.array(ours) / root
    return ratios.min(), 0, {"first": ratios[0]}


def arriving(n, n_keys, d_k, scaling, seed):
    c = {"none": 1.0, "sqrt_d_k": math.sqrt(d_k)}[scaling]
    return sample_gradients(n, n_keys, d_k, c, d_v=64, seed=seed, device="cpu").numpy()


@computed("median_gradient", d_k=16, n=4)
def _(d_k, n):
    undivided, root = (
        median_of(arriving(2**14, n, d_k, scaling, seed))
        for scaling, seed in (("none", 2), ("sqrt_d_k", 1))
    )
    return *ratio_of(undivided, root), {"ratio": ratio_of(undivided, root)}


@computed("starved_queries", d_k=16, wider=64, n=4, factor=10.0)
def _(d_k, wider, n, factor):
    def lower_median(values):
        return np.sort(values)[(len(values) - 1) // 2]

    shares, medians = [], []
    for d in (d_k, wider):
        undivided, root = (arriving(2**15, n, d, c, 2) for c in ("none", "sqrt_d_k"))
        shares.append(undivided < lower_median(root) / factor)
        medians.append(lower_median(undivided) / lower_median(root))
    return *mean_of(shares[0]), {"medians": medians[0], "wider": shares[1].mean()}


@pytest.mark.parametrize("one", CASES, ids=lambda one: f"{one.check}-{one.given}")
def test_a_check_finds_what_is_so(one):
    finding = CHECKS[one.check](**one.given)
    figures, error, facts = one.expected()
    assert finding.ours == close(
        tuple(figures) if isinstance(figures, (list, tuple)) else (figures,)
    )
    assert finding.error == close(error)
    assert dict(finding.facts) == {name: close(fact) for name, fact in facts.items()}


def test_every_check_has_a_case():
    assert {one.check for one in CASES} | STUDY == {*CHECKS}


# ---------------------------------------------------------------- both sides of a difference


def of_softmax(rescaling):
    q, k, _ = heads_of(20, 32, 16)
    return softmaxed(q @ k.T / divisors(rescaling, [k])[0])


def unit_queries_times_keys():
    q, k, _ = heads_of(20, 32, 16)
    return [[a @ b / math.sqrt(a @ a) for b in k] for a in q]


def all_scores():
    q, k, _ = heads_of(3, 3, 64)
    return [sum(a * b) for a in q for b in k]


def blended():
    v, x, y = draw(5, 16, seed=8), draw(5, seed=9), draw(5, seed=10)
    return (2 * x - 3 * y) @ v


SIDES = [
    ("attention_formula", {}, attention_in_loops),
    ("attention_formula", {"written": "with the query divided"}, attention_in_loops),
    ("all_score_entries", {}, all_scores),
    ("query_length_divided_out", {"factor": 3.0}, unit_queries_times_keys),
    ("output_is_weighted_sum", {}, lambda: attended(*heads_of(3, 5, 16))),
    ("one_hot_copies", {}, lambda: heads_of(1, 5, 16)[2]),
    ("blend_is_linear", {}, blended),
    ("by_definition", {}, lambda: softmaxed(draw(1000, 32, seed=1))),
    ("shift_invariance", {"shift": 10.0}, lambda: softmaxed(draw(1000, 32, seed=2))),
    ("p_norm", {"p": 2.0, "divisor": "k_rss"}, lambda: divisors("k_rss", raw_of(64, 32)[1])),
]
for order in ("divisor", "formula", "one by one"):
    for rescaling in ("sqrt_d_k", "k_total"):
        given = {"order": order, "rescaling": rescaling}
        SIDES.append(
            ("prescaled_softmax", given, lambda rescaling=rescaling: of_softmax(rescaling))
        )


@pytest.mark.parametrize(("check", "given", "expected"), SIDES)
def test_a_check_that_finds_no_difference_compares_two_right_sides(
    monkeypatch, check, given, expected
):
    """That nothing differs would be found between two zeros, too."""
    seen = []

    def spy(first, second):
        seen.append((first, second))
        return 0.0

    for module in (shapes_checks, softmaxes_checks, blending_checks, shape_kept_checks):
        monkeypatch.setattr(module, "difference", spy)
    CHECKS[check](**given)
    right = np.array(expected())
    if len(seen) < len(right):
        seen = seen[:1]  # what follows are facts
    for side in zip(*seen, strict=True):
        np.testing.assert_allclose(np.ravel(np.array([*map(np.asarray, side)])), right.ravel())


def test_a_value_without_a_key_can_be_accepted(monkeypatch):
    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", lambda *_: None)
    assert CHECKS["values_and_keys_must_pair"]().ours == (0.0,)


# ---------------------------------------------------------------- training, on an invented study

STUDY = {name for name, check in CHECKS.items() if check.__module__ == training_checks.__name__}
BOTH = {"scaling": "none", "against": "sqrt_d_k"}


def comparison(name, contrasts=("none",), **cell):
    return Comparison(name, "", Cell(**cell), ("none", "sqrt_d_k"), contrasts)


COMPARISONS = {
    one.name: one
    for one in (
        comparison("recall", task="recall 32", d_k=16, budget=400),
        comparison("recall, deep", task="recall 32", d_k=16, n_layers=3, budget=400),
        comparison("digits", task="digits", d_k=16, budget=600),
        comparison("descent", task="digits", d_k=16, optimiser="sgd", budget=600),
        comparison("wide", (), task="recall 32", d_k=64, n_layers=8, budget=400),
        comparison("wide, longer", (), task="recall 32", d_k=64, n_layers=8, budget=800),
        comparison("one seed", (), task="recall 32", d_k=128, budget=500),
        comparison("own rate", (), task="recall 32", d_k=16, other_rate=-3.0),
    )
}


def a_run(name, scaling, seed, learned_at=100, steps=None, finite=True, **made):
    """A record; of its curves, the gradients at steps 0, 20, 40 and 60 can be given."""
    cell = COMPARISONS[name].cell
    made = {"accuracy": 1.0, "worst_loss": 1.0, "worst_gradient": 8.0, "qk": 1.0} | made
    first = made.pop("qk")
    curves = {
        "step": [0, 20, 40, 60],
        "gradient": made.pop("gradient", [4.0, 9.0, 8.0, 7.0]),
        "gradient_qk": [first, 99.0],
        "entropy": made.pop("entropy", [0.9, 0.5]),
        "score_std": made.pop("score_std", [1.0, 2.0]),
    }
    run = Run(cell, scaling, -2.0, seed)
    steps = cell.budget if steps is None else steps
    return Record(run, learned_at, cell.budget, steps, 0.1, finite=finite, curves=curves, **made)


RUNS = {
    "recall": {
        "none": [
            a_run("recall", "none", 0, 200, qk=4.0, worst_gradient=600.0, tested={"64": 0.5}),
            a_run("recall", "none", 1, 300, qk=1.0, tested={"64": 0.9}),
        ],
        "sqrt_d_k": [
            a_run("recall", "sqrt_d_k", 0, 120, qk=2.0, tested={"64": 0.6}, entropy=[0.9, 0.2]),
            a_run("recall", "sqrt_d_k", 1, 80, qk=0.25, tested={"64": 0.8}, entropy=[0.7, 0.4]),
        ],
    },
    "recall, deep": {
        "none": [a_run("recall, deep", "none", i, qk=5.0, worst_gradient=40.0) for i in (0, 1)],
        "sqrt_d_k": [a_run("recall, deep", "sqrt_d_k", i, qk=2.0) for i in (0, 1)],
    },
    "digits": {
        "none": [
            a_run("digits", "none", 0, 500, qk=3.0, worst_loss=2.5, worst_gradient=16.0),
            a_run("digits", "none", 1, None, qk=3.0, worst_gradient=16.0),
        ],
        "sqrt_d_k": [a_run("digits", "sqrt_d_k", i, 160, qk=2.0) for i in (0, 1)],
    },
    "descent": {
        "none": [a_run("descent", "none", i, qk=4.0, worst_gradient=24.0) for i in (0, 1)],
        "sqrt_d_k": [a_run("descent", "sqrt_d_k", i, qk=2.0) for i in (0, 1)],
    },
    "wide": {
        "none": [
            a_run("wide", "none", 0, None, accuracy=0.3, finite=False),
            a_run("wide", "none", 1, None, accuracy=0.5),
        ],
        "sqrt_d_k": [a_run("wide", "sqrt_d_k", i) for i in (0, 1)],
    },
    "wide, longer": {
        "none": [
            a_run("wide, longer", "none", 0, 700),
            a_run("wide, longer", "none", 1, None, accuracy=0.95),
        ],
        "sqrt_d_k": [a_run("wide, longer", "sqrt_d_k", i) for i in (0, 1)],
    },
    "one seed": {
        "none": [a_run("one seed", "none", 0, None, accuracy=0.97)],
        "sqrt_d_k": [a_run("one seed", "sqrt_d_k", 0)],
    },
    "own rate": {
        "none": [a_run("own rate", "none", 0, None)],
        "sqrt_d_k": [a_run("own rate", "sqrt_d_k", 0, 999)],
    },
}
CHOSE = [
    a_run("one seed", "none", 100, None, steps=300, accuracy=0.2),
    a_run("one seed", "none", 101, None, worst_loss=3.0, accuracy=0.4),
    a_run("recall", "sqrt_d_k", 100, None, steps=300, finite=False),
]


@pytest.fixture
def study(monkeypatch):
    runs = [run for scalings in RUNS.values() for seeds in scalings.values() for run in seeds]
    medians = Median(250, 200, 300), Median(100, 80, 120)
    tests = [
        Contrast("recall", *BOTH.values(), *medians, 0.01, 0.03),
        Contrast("recall, deep", *BOTH.values(), *medians[::-1], 0.01, 0.03),
    ]
    monkeypatch.setattr(training_checks, "_study", lambda: (*runs, *CHOSE))
    monkeypatch.setattr(training_checks, "_comparisons", lambda: COMPARISONS)
    monkeypatch.setattr(training_checks, "_runs", RUNS.__getitem__)
    monkeypatch.setattr(training_checks, "_contrasts", lambda: tests)


def expect(finding, figure, error=0.0, **facts):
    assert finding.ours == (close(figure),)
    assert finding.error == close(error)
    assert dict(finding.facts) == {name: close(fact) for name, fact in facts.items()}


def test_later_is_decided_by_the_declared_test(study):
    check, ours = CHECKS["learns_later"], RUNS["recall"]
    times = times_as_long(ours["none"], ours["sqrt_d_k"])
    assert times.times == close((250 - 10) / (100 - 10))
    expect(check(comparison="recall", **BOTH), 0.03, times=times, steps=250, other_steps=100)
    assert check(comparison="recall, deep", **BOTH).ours == (1.0,)  # sooner


def test_first_gradients_are_compared_seed_by_seed(study):
    middle = math.sqrt(2 * 4)
    most = (middle, middle * LN(2) / 2)  # half the difference of ln 2 and ln 4
    expect(CHECKS["first_gradient"](**BOTH), 1.5, where="digits", most=most)


def test_the_share_that_learns(study):
    wide = (
        "wide (0 of 2 by step 400, the others at 30% to 50%, then 1 of 2 by step 800, the others "
        "at 95%, past 90% too late to stay there for 200 steps)"
    )
    one = "one seed (0 of 1 by step 500, at 97%, and the seed that chose its rate at 20% to 40%)"
    expect(
        CHECKS["share_that_learns"](**BOTH),
        7 / 8,
        math.sqrt(0.75 * 0.25 / 12),
        learned=7,
        seeds=8,
        last=600,
        other_last=160,
        least_budget=400,
        budget=600,
        elsewhere="0 of 3",
        behind=f"{wide}; {one}",
        behind_seeds=2,
        reach=1 - math.sqrt(0.025),
    )


def test_the_share_that_diverges(study):
    """A gradient of 600 after one of 4, a loss of 2.5, and one that is no number."""
    expect(
        CHECKS["share_that_diverges"](scaling="none"),
        3 / 14,
        math.sqrt(5 / 18 * 13 / 18 / 18),
        runs=14,
        diverged=3,
        deepest=8,
        worst_loss=2.5,
        rise=150,
        chose=2,
        chose_diverged=1,
        chose_given_up=1,
    )


def test_the_largest_gradient(study):
    """Of the two on recall, the one whose interval begins lower: √75 e^(-3/2 ln 75) or 5."""
    middle = math.sqrt(75)
    recall = (middle, middle * LN(75) / 2)
    expect(
        CHECKS["largest_gradient"](**BOTH),
        middle * (1 - 1.5 * LN(75)),
        where="recall",
        least=recall,
        smallest="5.000 ± 0 times, in “recall, deep”",
        largest="9 ± 19, in “recall”",
        most=recall,
        digits=(2, 0),
        descent=(3, 0),
    )


def test_the_largest_gradient_up_to_a_step(study, monkeypatch):
    """Neither a look before the warm-up's end counts, nor one after the step."""
    ours = [a_run("recall", "none", i, gradient=[90.0, 9.0, 18.0, 80.0]) for i in (0, 1)]
    monkeypatch.setattr(
        training_checks,
        "_runs",
        lambda name: RUNS[name] | ({"none": ours} if name == "recall" else {}),
    )
    finding = CHECKS["largest_gradient"](**BOTH, until=40)
    assert finding.facts["most"] == close((2.0, 0.0))
    assert finding.ours == (close(1.0),)


def test_accuracy_is_compared_seed_by_seed(study):
    finding = CHECKS["accuracy_kept"](comparison="recall", **BOTH, pairs=64)
    expect(finding, near(0, 1e-16), 0.1, accuracy=0.7, other_accuracy=0.7)


def test_evenness_is_that_of_the_last_look(study):
    finding = CHECKS["evenness_once_learned"](
        comparison="recall", scaling="sqrt_d_k", beside="wide"
    )
    ends = {
        name: mean_of(decoders_of_the_root(path, "entropy")[1])
        for name, path in (("decoders", heads.STORED), ("longer", heads.LONGER))
    }
    known = {"first": 0.8, "spread": 2.0, "beside": (0.5, 0.0)}
    expect(finding, 0.3, 0.1, **known, **ends)
