"""Each check of the ledger against another way to its figure: a closed form, a case small enough
for paper, or the same draws put through NumPy and SciPy.

What many checks summarise, such as the weights of a thousand random rows, is compared with its
definition once. The summaries are then asked of tables with a few invented numbers.
"""

import math
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.optimize
import scipy.stats
import torch
from reference import divisor, textbook

from sdpa_book.ledger import CHECKS
from sdpa_book.ledger.checks import (
    blending_checks,
    depth_checks,
    growth_checks,
    initialisation_checks,
    saturation_checks,
    shape_kept_checks,
    softmaxes_checks,
    training_checks,
)
from sdpa_book.studies import heads
from sdpa_book.studies.depth import Depth
from sdpa_book.studies.training.censoring import Median, Ratio, times_as_long
from sdpa_book.studies.training.plan import Cell, Comparison, Record, Run
from sdpa_book.studies.training.read import Contrast
from sdpa_book.writing.measured import Measured
from sdpa_lib.sampling import get_distribution, sample, sample_qkv

approx = pytest.approx


class Case(NamedTuple):
    """A check, its arguments, and the figures, the standard error and the facts that are right."""

    check: str
    given: dict[str, Any]
    figures: Any
    error: Any
    facts: dict[str, Any]
    of_tables: bool


CASES: list[Case] = []


def case(check, figures, error=0.0, facts=None, *, of_tables=False, **given):
    figures = tuple(figures) if isinstance(figures, (list, tuple)) else (figures,)
    CASES.append(Case(check, given, figures, error, facts or {}, of_tables))


tabled = partial(case, of_tables=True)


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


DIMENSIONS = (2, 8, 32)


def slope_error(first, last):
    """Of a line through three points that are ln 4 apart, from the errors of its two ends."""
    return math.hypot(first, last) / (2 * math.log(4))


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


def divisors(name, keys):
    """Of each set of keys, (sets, 1, 1), by the rescaling's definition or by "p = ..."."""
    if name.startswith("p = "):
        lengths = np.linalg.norm(keys, axis=-1)
        return np.linalg.norm(lengths, ord=float(name[4:]), axis=-1)[:, None, None]
    seen = torch.ones(len(keys), 1, keys.shape[1], dtype=torch.bool)
    return divisor(name, torch.from_numpy(keys), seen).numpy()


def attended(q, k, v, rescaling="sqrt_d_k"):
    return textbook(*map(torch.from_numpy, (q, k, v)), rescaling).numpy()


def of_variance(d, n):
    """The standard error of the variance of n dot products, relative to it: their kurtosis is
    3 + 6/d.
    """
    return math.sqrt((2 + 6 / d) / n)


# ---------------------------------------------------------------- shapes and formulas

case("shape_of_queries", (2, 4), d_k=4, n=2, d_model=6)
case("vectors_it_depends_on", 1, n_keys=5, d_k=4)
q, k, v = heads_of(3, 3, 64)
bare = np.abs(q @ k.T / 8 @ v - attended(q, k, v)).max()
case("left_out_softmax", bare)

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
copied = 3 * math.sqrt(8 / N)  # the product of two normals has the kurtosis 9
case("variance", near(3, copied), about(copied), d_k=3, power=0.5, copied=True, facts={"exact": 1})
case("mean", near(0, math.sqrt(4 / 4e5)), about(math.sqrt(4 / 4e5)), d_k=4)
for of, share in (("variance", 1), ("standard deviation", 0.5)):
    for power in (0.0, 0.25):
        e = share * slope_error(of_variance(2, 40_000), of_variance(32, 40_000))
        exponent = share - power * (2 if of == "variance" else 1)
        case("growth", near(exponent, e), about(e), of=of, power=power)
e = slope_error(of_variance(2, 40_000), of_variance(32, 40_000))
case("least_growth_of_other_powers", near(0.2, e), about(e), powers=[0.0, 0.4, 0.75])
tabled("growth", 1, slope_error(0.1, 0.1), of="mean size")
tabled("growth", 0.5, slope_error(0.1, 0.1), of="mean size", power=0.5)
tabled("growth_within_matrix", 2, slope_error(0.5, 0.5))
e = 4 * math.hypot(of_variance(2, N), of_variance(8, N))
case("variance_ratio", near(4, e), about(e), low=2, high=8)


def decoders_of_the_root(path, name):
    """A figure's means over the heads of each decoder with the root: at the start, at the end."""
    runs = heads.load_results(path).results.values()
    figures = [r.figures[name].double().numpy() for r in runs if r.run.scaling == "sqrt_d_k"]
    return [[f[i].mean() for f in figures] for i in (0, -1)]


# The dot product of two pairs of normal numbers has Laplace's density.
beyond = approx((math.exp(-3) + math.exp(-5)) / 2, rel=1e-4)
both = zip(("at_the_start", "trained"), decoders_of_the_root(heads.WIDE, "total_std"), strict=True)
sizes = {name: 8 * figures[0] for name, figures in both}
sizes |= {"stds": "3.5 and 3.5", "one_in": "35 and 35"}
case("chance_of_extremes", [beyond] * 2, 0, sizes, d_k=[2, 2], low=-3.0, high=5.0)


# The largest of three normal numbers has the mean 1.5/√π and the mean square 1 + √3/2π.
length = math.sqrt(2) * math.gamma(2.5) / math.gamma(2)
m, square = length * 1.5 / math.sqrt(math.pi), 4 * (1 + math.sqrt(3) / (2 * math.pi))
e = math.sqrt((square - m**2) / 20_000)
case("expected_largest", near(m, e), about(e), {"std": 2, "stds": 1.5}, n=3, d_k=4, score=3)
case("divide", (2, -1), scores=[8, -4], d_k=16)
case("implied_dimension", 3.5, scores=[1, 2, 3, 6], facts={"std": math.sqrt(3.5)})


case("order_by_similarity", 1, d_k=4)


# Both tell keys of one number apart that differ in sign, and agree on half of the others.
e = math.sqrt(3 / 16 / 20_000)
case("order_by_similarity", near(0.75, e), about(e), spread=2.0, d_k=1)


def test_the_mean_size_and_the_variance_within_a_matrix():
    size, error = growth_checks._sizes(1)
    assert size == near(2 / math.pi, error)  # the size of a normal number has the mean √(2/π)
    assert error == about(math.sqrt((1 - size**2) / 20_000))
    value, error = mean_of(growth_checks._within(5, 3))
    assert value == near(5, error)


# ---------------------------------------------------------------- softmax

LN = math.log
thirds = {"gap": LN(2), "of_sum": [LN(6) / LN(18), LN(3) / LN(18), 0]}
case("softmax", (0.6, 0.3, 0.1), scores=[LN(6), LN(3), 0], facts=thirds)
implied = {"gap": LN(2), "implied": LN(4), "divisor": 0.5}
case("softmax", (2 / 3, 1 / 3), scores=[LN(2), 0], published=[0.8, 0.2], facts=implied)
case("weight", 0.6, scores=[LN(6), LN(3), 0])
case("entries_of_softmax", 4, scores=[1, 2, 3, 4])
case("ratio_of_weights", 5, gap=LN(5), facts={"one_more": math.e})
case("sums_of_published_rows", (1, 1, 1))
case("keys_matter_to_softmax", 0, running=True)
case("distance_from_one_hot", 0.25, gap=LN(6))
case("jacobian", 0.375, scores=[LN(3), 0], facts={"even": 0.5})  # 2 p (1 - p)
half = {"scores": [0.0, 0.0], "shift": LN(3)}
case("change_under_shift", 0, **half, facts={"predicted": near(0, 1e-16)})
case("change_under_shift", 0.25, **half, only_first=True, facts={"predicted": LN(3) / 4})
three = {"scores": [0.0, 0.0, LN(2)], "shift": LN(5), "only_first": True}
case("change_under_shift", 0.25, **three, facts={"predicted": LN(5) / 8})
tiny = 2 / 3 * math.exp(-150)
case("perturbation_shows_gradient", 0, **half, facts={"one": 0.25, "saturated": tiny})


# Each weight loses the share that the new key takes.
case("keys_matter_to_softmax", softmaxed(draw(1000, 33, seed=5))[:, -1].min())


temperatures = np.arange(0.5, 5.001, 0.005)[:, None]
for row, column in ((0, 1), (2, 0)):
    scores = np.array(softmaxes_checks.DOG_BITES_MAN[row])
    misses = np.abs(softmaxed(scores / temperatures) - softmaxes_checks.PUBLISHED[row]).max(-1)
    facts = {"temperature": temperatures[misses.argmin(), 0], "miss": misses.min()}
    case("one_weight", softmaxed(scores)[column], 0, facts, row=row, column=column)
z = draw(1000, 32, seed=4)
halved = np.abs(softmaxed(z) - softmaxed(2 * z)).max()
case("divided_before_softmax", halved, 0, {"after": 0}, d_k=4)


# Of even weights over three scores the largest eigenvalue of the Jacobian is 1/3; of p, p, 1 - 2p
# the other two are p and 3p(1 - 2p).
p = 1 / (2 + math.e)
case("jacobian", 3 * p * (1 - 2 * p), scores=[0.0, 0.0, 1.0], facts={"even": 1 / 3})

# ---------------------------------------------------------------- saturation


def test_the_rows_of_weights_are_softmax_of_scaled_scores():
    q, k = (2 * draw(1000, m, 4, seed=1, stream=m // 3, dtype=torch.float32) for m in (1, 3))
    expected = softmaxed(q @ k.swapaxes(1, 2) / divisors("k_total", k))[:, 0]
    weights = saturation_checks._weights(4, 3, "k_total", 2.0)
    np.testing.assert_allclose(weights, expected, rtol=1e-4)


def test_the_gradients_are_those_by_softmaxs_derivative():
    q, k = (2 * draw(50, m, 4, seed=2, stream=m // 3) for m in (1, 3))
    v, c = draw(50, 3, 32, seed=2, stream=2), divisors("k_total", k)
    p = softmaxed(q @ k.swapaxes(1, 2) / c)
    arriving = draw(50, 1, 32, seed=0) @ v.swapaxes(1, 2)
    at_scores = p * (arriving - (p * arriving).sum(-1, keepdims=True))
    at_queries = np.linalg.norm(at_scores / c @ k, axis=-1)[:, 0]
    gradients = saturation_checks._gradients(4, 3, "k_total", 2.0, 50)
    for ours, theirs in zip(gradients, (p[:, 0], at_scores[:, 0], at_queries), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-15)


# The first of two weights in four rows, by d_k, number of keys, rescaling and std. Of two weights p
# and 1 - p the Jacobian's norm is 2p(1 - p): here 0, 0.18, 0.32 and 0.5, or 0.5 in every row.
FIRST = {
    (8, 2, "none", 1.0): [1.0, 0.9, 0.8, 0.5],
    (8, 2, "none", 3.0): [0.9995, 0.995, 0.7, 0.5],
    (8, 2, "d_k", 1.0): [0.5] * 4,
    (2, 2, "none", 1.0): [0.5, 0.6, 0.5, 0.6],
    (2, 2, "sqrt_d_k", 1.0): [0.5] * 4,
    (8, 2, "sqrt_d_k", 1.0): [0.6, 0.5, 0.5, 0.5],
    (4, 32, "none", 1.0): [1.0, 0.9, 0.8, 0.5],
    (4, 32, "d_k", 1.0): [0.5] * 4,
}


def weights_table(d_k, n, rescaling, std=1.0):
    first = torch.tensor(FIRST[d_k, n, rescaling, std], dtype=torch.float64)
    return torch.stack((first, 1 - first), dim=-1)


def entropy_of(p):
    return scipy.stats.entropy([p, 1 - p])


QUANTITIES = {
    "largest weight": lambda p: p,
    "effective keys": lambda p: 1 / (p**2 + (1 - p) ** 2),
    "perplexity": lambda p: np.exp(entropy_of(p)),
    "entropy": entropy_of,
    "Jacobian": lambda p: 2 * p * (1 - p),
    "ignored": lambda p: (p > 0.99) / 2,
    "nearly one-hot": lambda p: p > 0.99,
    "above 0.999": lambda p: p > 0.999,
}
for quantity, of_weights in QUANTITIES.items():
    both = mean_of(of_weights(np.array(FIRST[8, 2, "none", 3.0])))
    tabled("typical", *both, quantity=quantity, d_k=8, n=2, std=3.0)
two = {"d_k": 8, "n": 2}
tabled("median", 0.32, 0.16, {"mean": 0.25}, quantity="Jacobian", **two)
both = {"ours_median": 0.32, "other_median": 0.5}
tabled("compared", 0.64, 0.32, both, quantity="Jacobian", to="d_k", **two)
shapes = {"better": 1.5, "worse": 4}
tabled("shape_as_diagnosis", 0.64, 0.32, both | shapes, better="d_k", worse="none", d_k=4)
apart = {"low": 0.55, "high": 0.8}
error = mean_of([0.5, 0.3, 0.3, -0.1])[1]
tabled("compared_dimensions", 0.25, error, apart, quantity="largest weight", low=2, high=8, n=2)

# With the root 0.48 and three times 0.5; undivided 0, 0.18, 0.32 and 0.5.
ratios = [0.25 / 0.495, 0.5 / 0.495]
of_root, undivided = mean_of([0.48, 0.5, 0.5, 0.5]), mean_of([0.0, 0.18, 0.32, 0.5])
error = ratios[0] * math.hypot(undivided[1] / undivided[0], of_root[1] / of_root[0])
beside = {"quantity": "Jacobian", "rescaling": ["none", "d_k"]}
tabled("beside_the_root", ratios, error, {"even": 0.5 / 0.495}, **beside, d_k=8, n=2)

USUAL = torch.tensor([[1.0, -2.0, 3.0, -4.0]])  # the median 3 ± 1; torch's is the lower one, 2
GRADIENTS = {
    (8, 4, "sqrt_d_k", 1.0): (None, USUAL, USUAL[0].abs()),
    (2, 4, "sqrt_d_k", 1.0): (None, None, torch.full((4,), 2.0)),
    (8, 4, "d_k", 1.0): (None, torch.full((1, 4), -9.0), None),
    (8, 4, "k_total", 2.0): (None, None, torch.full((4,), 6.0)),
    (8, 4, "sqrt_d_k", 2.0): (None, None, USUAL[0].abs()),
    (8, 4, "none", 1.0): (
        torch.tensor([[0.0, 0.0, 0.0, 1.0], [0.0, 0.5, 0.5, 0.0]]),
        torch.tensor([[3.5, -3.5, 3.5, 9.0], [3.5, -9.0, 9.0, -3.5]]),
        None,
    ),
}


def gradients_table(d_k, n, rescaling, std=1.0, queries=1000):
    return GRADIENTS[d_k, n, rescaling, std]


wide = {"d_k": 8, "n": 4}
tabled("gradient", 3, 1, at="scores", divisor="d_k", to="sqrt_d_k", **wide)
tabled("gradient", 2, 2 / 3, at="query", divisor="k_total", to="sqrt_d_k", std=2.0, **wide)
tabled("gradient_across_dimensions", 1.5, 0.5, divisor="sqrt_d_k", low=2, high=8, n=4)
tabled("gradient_at_ignored", 3.5 / 3, 3.5 / 9, {"share": 5 / 8}, below=0.01, **wide)
tabled("weak_links", 0.625, 0.125, {"scaled": 0.75}, factor=0.5, **wide)  # below 4


# ---------------------------------------------------------------- blending


blend = softmaxed(softmaxes_checks.DOG_BITES_MAN[0]) @ np.array(blending_checks.VALUES)
from_scores = {"from_scores": ", ".join(f"{x:.3f}" for x in blend)}
case("blend", [0.6, 0.2, 0.05, 0.225], 0, from_scores, weights=[0.5, 0.25, 0.25])


def first_output(numbers):
    x = numbers.reshape(3, 16)
    return attended(*(x @ draw(16, 16, seed=3, stream=s) / 4 for s in (1, 2, 3)))[0].sum()


slopes = scipy.optimize.approx_fprime(draw(3, 16, seed=3).ravel(), first_output).reshape(3, 16)
least = np.linalg.norm(slopes[1:], axis=-1).min()
case("depends_on_others", near(least, 1e-7))

# ---------------------------------------------------------------- initialisation


VARIANCES = {
    "Xavier uniform": 32 * 2 / (32 + 16),
    "Kaiming normal": 2,
    "PyTorch's Linear": 1 / 3,
}


@pytest.mark.parametrize("name", VARIANCES)
def test_an_initialisation_has_its_formulas_variance(name):
    projected = initialisation_checks._queries(name, 32, 16)
    assert projected.shape == (20, 64, 16)
    mean, error = mean_of(projected.square().mean((1, 2)))
    assert mean == near(VARIANCES[name], error)


# Two matrices' queries, of one component.
PROJECTED = {
    "Xavier uniform": torch.tensor([[[1.0], [3.0]], [[1.0], [5.0]]]),
    "Kaiming normal": torch.tensor([[[1.0], [1.0]], [[2.0], [2.0]]]),
}
trained = {
    name: tuple(map(approx, mean_of(decoders_of_the_root(heads.STORED, name)[1]), (1e-4, 1e-2)))
    for name in ("query_variance", "query_shared", "alignment", "key_rank")
}
tabled("component_variance", (9, 2.5), 4, trained, initialisation=[*PROJECTED], d_model=16, d_k=1)


x = draw(20, 64, 32, seed=1)
q, k = (x @ draw(20, 32, 8, seed=1, stream=s) / math.sqrt(32) for s in (1, 2))
squares = (q @ k.swapaxes(1, 2)) ** 2 / 8
others = mean_of((squares.sum((1, 2)) - np.trace(squares, axis1=1, axis2=2)) / (64 * 63))
case("scaled_score_variance", *others, d_model=32, d_k=8)

case("asymmetry", 0, shared=True, d_model=8, d_k=4)
x = draw(400, 2, 8, seed=5)
W_Q, W_K = (draw(400, 8, 4, seed=5, stream=s) for s in (1, 2))
scores = x @ W_Q @ (x @ W_K).swapaxes(1, 2)
ups, downs = scores[:, 0, 1], scores[:, 1, 0]  # the two off the diagonal
(apart, e), (together, other) = (mean_of((ups + sign * downs) ** 2) for sign in (-1, 1))
e = apart / together * math.hypot(e / apart, other / together)
case("asymmetry", apart / together, e, shared=False, d_model=8, d_k=4, n=2)

# ---------------------------------------------------------------- the shape that survives softmax


def raw_of(d_k, n, **given):
    k = draw(30, n, d_k, seed=2, stream=0, **given)
    q = draw(30, 300, d_k, seed=2, stream=1, **given)
    return np.einsum("sqd,snd->sqn", q, k), k, q


@pytest.mark.parametrize(
    ("name", "components"),
    [
        ("laplace", get_distribution("laplace")),
        ("Laplace of std 3", get_distribution("laplace").scaled(3.0)),
        ("mean 1", get_distribution("normal").shifted(1.0)),
        ("std 2", get_distribution("normal").scaled(2.0)),
    ],
)
@pytest.mark.parametrize("divisor", ["k_total", "p = 4"])
def test_the_distance_is_wassersteins_between_standardised_columns(name, components, divisor):
    raw, k, _ = raw_of(4, 3, distribution=components)
    weights = softmaxed(raw / divisors(divisor, k))
    pairs = zip(raw[..., 0], weights[..., 0], strict=True)
    expected = [scipy.stats.wasserstein_distance(*map(scipy.stats.zscore, one)) for one in pairs]
    np.testing.assert_allclose(shape_kept_checks._distances(divisor, name, 4, 3), expected)


def test_the_skewness_is_that_of_a_column_in_either_layout():
    """The published program fills its columns with the numbers of one query after another."""
    described, published = [], []
    for seed in range(3):
        q, k, _ = heads_of(500, 3, 4, seed=seed)
        weights = softmaxed(q @ k.T / 2)
        described.append(scipy.stats.skew(weights[:, 0]))
        published.append(scipy.stats.skew([w for row in weights for w in row][:500]))
    for expected, layout in ((described, False), (published, True)):
        skews = shape_kept_checks._skews("sqrt_d_k", 4, 3, layout, sets=3)
        np.testing.assert_allclose(skews, expected)


DISTANCES = {  # of two sets, by divisor, components, d_k and number of keys
    (divisor, components, d_k, n): values
    for components, d_k, n, of_divisors in (
        ("normal", 4, 3, {"none": [3.0, 5.0], "p = 4": [9.0, 9.0], "k_total": [1.0, 2.0]}),
        ("std 2", 4, 3, {"none": [9.0, 9.0], "p = 4": [9.0, 9.0], "k_total": [1.0, 1.0]}),
        ("normal", 4, 32, {"none": [3.0, 5.0], "d_k": [1.0, 2.0]}),
        ("laplace", 64, 32, {"sqrt_d_k": [2.0, 4.0], "k_total": [1.0, 1.0]}),
        ("t(3)", 64, 32, {"sqrt_d_k": [1.5, 1.5], "k_total": [1.0, 1.0]}),
        ("std 2", 64, 32, {"sqrt_d_k": [1.0, 2.0], "k_total": [1.0, 1.0]}),
    )
    for divisor, values in of_divisors.items()
}
SKEWS = {("sqrt_d_k", 2, 3, False): [1.0, 2.0], ("sqrt_d_k", 2, 3, True): [7.0, 9.0]}
tabled("distortion", 4, 1, divisor="none", d_k=4, n=3)
tabled("distortions_differ", 3 / 8, 1 / 32, first="k_total", second="none", d_k=4, n=3)
least = {"divisor": "k_total", "than": ["none", "p = 4"], "components": ["std 2", "normal"]}
where = {"other_divisor": "none", "setting": "normal, d = 4, n = 3", "settings": 4}
tabled("less_distortion", 2.5, 0.5, where, **least, d_k=[4], n=[3])
families = {"families": ["t(3)", "laplace"], "spreads": ["std 2"]}
gains = {"of_families": 2, "of_spreads": 0.5}
error = math.hypot(1, 0.5)
tabled("family_against_spread", 1.5, error, gains, than="sqrt_d_k", divisor="k_total", **families)
tabled("skewness", 1.5, 0.5, divisor="sqrt_d_k", d_k=2, n=3)
layouts = {"queries": 2, "keys": 3, "skew_described": 1.5, "skew_published": 8}
tabled("queries_and_keys_in_column", (2, 3), 0, layouts, d_k=2, n_queries=6, n=3)

# Two sets of keys, whose lengths add up to 1, and two queries' weights in each.
WEIGHTS = torch.tensor(
    [[[0.02, 0.3, 0.68], [0.22, 0.5, 0.28]], [[0.1, 0.3, 0.6], [0.2, 0.6, 0.2]]],
    dtype=torch.float64,
)
KEYS = torch.full((2, 3, 1), 1 / 3, dtype=torch.float64)
three = {"d_k": 1, "n": 3}
tabled("room_to_choose", 1.785, 0.015, divisor="none", **three)  # 3 · 0.59 and 3 · 0.6
tabled("spread_of_components", 3, 1, divisor="none", **three)  # 0.4 over 0.2 and over 0.1
first, second = 5 * math.log(11), 10 * math.log(2)
tabled("scales_of_axes", (first + second) / 2, (first - second) / 2, {"within": 0.82}, **three)


ratios = []
for seed in range(4):
    q, k = (draw(3000, m, 4, seed=seed, stream=s) for s, m in enumerate((1, 3)))
    spreads = softmaxed((q * k).sum(-1) / 2).std(0)
    ratios.append(spreads.max() / spreads.min())
case("spread_of_components", *mean_of(ratios), d_k=4, n=3, anew=True)


def missed(x):
    """Of two weights, twice their difference from 1/2 is ± tanh of half the scores' gap."""
    return mean_of(np.sqrt(((np.tanh(x) - x) ** 2).mean(1) / (x**2).mean(1)))


raw, k, q = raw_of(4, 2)
z, lengths = raw / divisors("k_total", k), np.linalg.norm(q, axis=-1)
half = (z[..., 0] - z[..., 1]) / 2
facts = {"ten": missed(20 * half)[0], "n_times": missed(4 * half)[0], "std": z.std(ddof=1)}
facts |= {"length": lengths.mean(), "reached": (np.abs(z).max(-1) / lengths).max()}
case("relative_sizes", *missed(2 * half), facts, n=2, d_k=4, longer=2.0)

total = 2 * np.linalg.norm(draw(32, 64, seed=4), axis=-1).sum()
case("k_total_is_positive", total, factor=2.0)
case("k_total_is_positive", 0, factor=0.0)


def one_better(d_k, n, rescaling, std):
    """The Jacobian's norm is largest where the two weights are even."""
    best = {0.5: "none", 2.0: "k_rss", 3.0: "k_rss"}[std] == rescaling
    return torch.tensor([[0.5, 0.5] if best else [0.9, 0.1]] * 4)


names = {"first": "no divisor", "second": "the root of squares"}
tabled("best_in_context", 2, 0, names, stds=[0.5, 3.0])
names = {"first": "the root of squares", "second": "the root of squares"}
tabled("best_in_context", 1, 0, names, stds=[2.0, 3.0])

# ---------------------------------------------------------------- gradients through depth

E = math.e
TOTALS = {  # of three seeds: medians e, 2e², ..., and errors of the mean logarithm 1/√3 or 0
    ("none", "1/inputs"): ([1.0, E, E * E], [8.0 * E] * 3),
    ("sqrt_d_k", "1/inputs"): ([1.0] * 3, [6.0] * 3),
    ("none", "nn.Linear"): ([1.0] * 3, [10.0] * 3),
    ("sqrt_d_k", "nn.Linear"): ([1.0] * 3, [14.0] * 3),
}
GRADIENT_BY_BLOCK = {"none": ([6.0, 9.0], [8.0, 7.0]), "sqrt_d_k": ([2.0, 1.0], [2.0, 1.0])}
STARTS = {
    Depth(d_k, n_layers, scaling, start=start): SimpleNamespace(
        total=totals[place],
        query=GRADIENT_BY_BLOCK[scaling][0],
        key=GRADIENT_BY_BLOCK[scaling][1],
    )
    for (scaling, start), totals in TOTALS.items()
    for place, (d_k, n_layers) in enumerate(((16, 1), (64, 4)))
}
ARRIVING = {  # by d_k and divisor, at four queries
    (16, 1.0): [2.0, 4.0, 60.0, 80.0],
    (16, 4.0): [30.0] * 4,
    (64, 1.0): [2.0, 40.0, 60.0, 80.0],
    (64, 8.0): [30.0] * 4,
}


def arriving_table(n_queries, n_keys, d_k, c, **_):
    return torch.tensor(ARRIVING[d_k, c], dtype=torch.float64)


# The norms of models of 4 blocks are halved.
known = {"root": 3, "linear": 5, "linear_root": 7, "first": 6, "last": 9}
grows = {"d_k": [16, 64], "n_layers": [1, 4]}
tabled("first_gradient_grows", 4, 4 / math.sqrt(3), known, **grows)
known = {"root": 1 / 3, "linear": 1 / 5, "linear_root": 1 / 7}
known |= {"first": 6, "last": 9}
falls = {"d_k": [64, 16], "n_layers": [4, 1]}
tabled("first_gradient_grows", 1 / 4, 1 / 4 / math.sqrt(3), known, **falls)
tabled("weights_through_depth", (3, 4), 0, {"first": 3}, d_k=64, n_layers=4)
tabled("median_gradient", 2, 38 / 30, {"ratio": (2, 38 / 30)}, d_k=16)  # 60 ± 38 over 30
shares = {"medians": 4 / 30, "wider": 0.25}
tabled("starved_queries", 0.5, math.sqrt(1 / 12), shares, d_k=16, wider=64, factor=5.0)  # below 6


# ---------------------------------------------------------------- training, on an invented study

BOTH = {"scaling": "none", "against": "sqrt_d_k"}


def comparison(name, contrasts=("none",), **cell):
    return Comparison(name, "", Cell(**cell), ("none", "sqrt_d_k"), contrasts)


RECALL, DIGITS = {"task": "recall 32", "budget": 400}, {"task": "digits", "budget": 600}
COMPARISONS = {
    one.name: one
    for one in (
        comparison("recall", d_k=16, **RECALL),
        comparison("recall, deep", d_k=16, n_layers=3, **RECALL),
        comparison("digits", d_k=16, **DIGITS),
        comparison("descent", d_k=16, optimiser="sgd", **DIGITS),
        comparison("wide", (), d_k=64, n_layers=8, **RECALL),
        comparison("wide, longer", (), d_k=64, n_layers=8, **RECALL | {"budget": 800}),
        comparison("one seed", (), d_k=128, **RECALL | {"budget": 500}),
        comparison("own rate", (), d_k=16, other_rate=-3.0, **RECALL),
        comparison("digits, one rate", (), d_k=16, **DIGITS),  # the same runs once more
    )
}


def a_run(name, scaling, seed, learned_at=100, steps=None, finite=True, **fields):
    """A record; of its curves, the gradients at steps 0, 20, 40 and 60 can be given."""
    cell = COMPARISONS[name].cell
    fields = {"accuracy": 1.0, "worst_loss": 1.0, "worst_gradient": 8.0} | fields
    curves = {
        "step": [0, 20, 40, 60],
        "gradient": fields.pop("gradient", [4.0, 9.0, 8.0, 7.0]),
        "entropy": fields.pop("entropy", [0.9, 0.5]),
        "score_std": fields.pop("score_std", [1.0, 2.0]),
    }
    run = Run(cell, scaling, -2.0, seed)
    steps = cell.budget if steps is None else steps
    return Record(run, learned_at, cell.budget, steps, 0.1, finite=finite, curves=curves, **fields)


def several(comparison, none, root):
    """What the runs of each scaling are like, seed by seed."""
    return {
        scaling: [a_run(comparison, scaling, seed, **one) for seed, one in enumerate(runs)]
        for scaling, runs in (("none", none), ("sqrt_d_k", root))
    }


LATER = {"learned_at": None}
DESCENT = {"worst_gradient": 24.0}
DEEP = {"worst_gradient": 40.0, "gradient": [90.0, 9.0, 18.0, 80.0]}
DIGITS_2 = {"worst_gradient": 16.0}
RECALLED = (
    {"learned_at": 200, "worst_gradient": 600.0, "tested": {"64": 0.5}},
    {"learned_at": 300, "tested": {"64": 0.9}},
)
RECALLED_BY_ROOT = (
    {"learned_at": 120, "tested": {"64": 0.6}, "entropy": [0.9, 0.2]},
    {"learned_at": 80, "tested": {"64": 0.8}, "entropy": [0.7, 0.4]},
)
ON_DIGITS = (DIGITS_2 | {"learned_at": 500, "worst_loss": 2.5}, DIGITS_2 | LATER)
TOO_WIDE = (LATER | {"accuracy": 0.3, "finite": False}, LATER | {"accuracy": 0.5})
STILL = ({"learned_at": 700}, LATER | {"accuracy": 0.95})
RUNS = {
    name: several(name, none, root)
    for name, none, root in (
        ("recall", RECALLED, RECALLED_BY_ROOT),
        ("recall, deep", [DEEP] * 2, [{}] * 2),
        ("digits", ON_DIGITS, [{"learned_at": 160}] * 2),
        ("descent", [DESCENT] * 2, [{}] * 2),
        ("wide", TOO_WIDE, [{}] * 2),
        ("wide, longer", STILL, [{}] * 2),
        ("one seed", [LATER | {"accuracy": 0.97}], [{}]),
        ("own rate", [LATER], [{"learned_at": 999}]),
    )
}
RUNS["digits, one rate"] = RUNS["digits"]
CHOSE = [
    a_run("one seed", "none", 100, None, steps=300, accuracy=0.2),
    a_run("one seed", "none", 101, None, worst_loss=3.0, accuracy=0.4),
    a_run("recall", "sqrt_d_k", 100, None, steps=300, finite=False),
]


REPORTING = [run for scalings in RUNS.values() for seeds in scalings.values() for run in seeds]
medians = Median(250, 200, 300), Median(100, 80, 120)
CONTRASTS = [
    Contrast("recall", *BOTH.values(), *medians, 0.01, 0.03),
    Contrast("recall, deep", *BOTH.values(), *medians[::-1], 0.01, 0.03),
]

times = times_as_long(*RUNS["recall"].values())  # a run learned between two looks, 20 steps apart
medians = {"steps": 250, "other_steps": 100, "times": Ratio((250 - 10) / (100 - 10), *times[1:])}
tabled("learns_later", 0.03, 0, medians, comparison="recall", **BOTH)
medians = {"steps": 100, "other_steps": 250, "times": times_as_long(*RUNS["recall, deep"].values())}
tabled("learns_later", 1, 0, medians, comparison="recall, deep", **BOTH)  # sooner
behind = (
    "wide (0 of 2 by step 400, the others at 30 to 50 %, then 1 of 2 by step 800, the others "
    "at 95 %, past 90 % too late to stay there for 200 steps); "
    "one seed (0 of 1 by step 500, at 97 %, and the seed that chose its rate at 20 to 40 %)"
)
learned = {"learned": 7, "seeds": 8, "last": 600, "other_last": 160, "least_budget": 400}
learned |= {"budget": 600, "elsewhere": "0 of 3", "behind": behind, "behind_seeds": 2}
learned |= {"reach": 1 - math.sqrt(0.025)}
tabled("share_that_learns", 7 / 8, math.sqrt(0.75 * 0.25 / 12), learned, **BOTH)

# A gradient of 600 after one of 4, a loss of 2.5, and one that is no number.
diverged = {"runs": 14, "diverged": 3, "deepest": 8, "worst_loss": 2.5, "rise": 150}
diverged |= {"chose": 2, "chose_diverged": 1, "chose_given_up": 1}
error = math.sqrt(5 / 18 * 13 / 18 / 18)
tabled("share_that_diverges", 3 / 14, error, diverged, scaling="none")

# Of the two on recall, the one whose interval begins lower: √75 e^(-3/2 ln 75) or 5.
middle = math.sqrt(75)
recall = (middle, middle * LN(75) / 2)
ratios = {"where": "recall", "least": recall, "most": recall, "digits": (2, 0), "descent": (3, 0)}
ratios |= {"smallest": "5.000 ± 0 times, in “recall, deep”", "largest": "9 ± 19, in “recall”"}
tabled("largest_gradient", middle * (1 - 1.5 * LN(75)), 0, ratios, **BOTH)
# Neither a look before the warm-up's end counts, nor one after the step.
ratios = {"where": "recall", "least": (1, 0), "most": (2, 0), "digits": (1, 0), "descent": (1, 0)}
ratios |= {"smallest": "1.000 ± 0 times, in “recall”", "largest": "2.000 ± 0, in “recall, deep”"}
tabled("largest_gradient", 1, 0, ratios, **BOTH, until=40)

accuracies = {"accuracy": 0.7, "other_accuracy": 0.7}
tabled("accuracy_kept", near(0, 1e-16), 0.1, accuracies, comparison="recall", **BOTH, pairs=64)
ends = {
    name: mean_of(decoders_of_the_root(path, "entropy")[1])
    for name, path in (("decoders", heads.STORED), ("longer", heads.LONGER))
}
known = {"first": 0.8, "spread": 2.0, "beside": (0.5, 0.0)} | ends
of_root = {"scaling": "sqrt_d_k", "beside": "wide"}
tabled("evenness_once_learned", 0.3, 0.1, known, comparison="recall", **of_root)


# ---------------------------------------------------------------- the test of every case


def in_float64(table):
    """A function that looks its arguments up."""
    return lambda *key: torch.tensor(table[key], dtype=torch.float64)


TABLES = [
    (growth_checks, "_sizes", lambda d_k: Measured(d_k, 0.1 * d_k)),
    (growth_checks, "_within", lambda d_k, n: torch.tensor([d_k**2.0, 3.0 * d_k**2])),
    (saturation_checks, "_weights", weights_table),
    (saturation_checks, "_gradients", gradients_table),
    (initialisation_checks, "_queries", lambda name, d_model, d_k: PROJECTED[name]),
    (shape_kept_checks, "_distances", in_float64(DISTANCES)),
    (shape_kept_checks, "_skews", lambda *key, published: in_float64(SKEWS)(*key, published)),
    (shape_kept_checks, "_raw", lambda *_: (WEIGHTS.log(), KEYS)),
    (shape_kept_checks, "_weights", one_better),
    (shape_kept_checks, "SETS", 2),
    (depth_checks, "_stored", lambda: STARTS),
    (depth_checks, "sample_gradients", arriving_table),
    (
        training_checks,
        "_study",
        lambda: REPORTING + CHOSE,
    ),
    (training_checks, "_comparisons", lambda: COMPARISONS),
    (training_checks, "_runs", RUNS.__getitem__),
    (training_checks, "_contrasts", lambda: CONTRASTS),
]


@pytest.mark.parametrize("one", CASES, ids=lambda one: f"{one.check}-{one.given}")
def test_a_check_finds_what_is_so(monkeypatch, one):
    monkeypatch.setattr(growth_checks, "DIMENSIONS", DIMENSIONS)
    for table in TABLES if one.of_tables else ():
        monkeypatch.setattr(*table)
    finding = CHECKS[one.check](**one.given)
    assert finding.ours == close(one.figures)
    assert finding.error == close(one.error)
    assert dict(finding.facts) == {name: close(fact) for name, fact in one.facts.items()}


def test_every_check_has_a_case():
    assert {one.check for one in CASES} == {*CHECKS}
