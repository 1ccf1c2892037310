"""S2's question: how much of the shape of the scores' distribution survives softmax.

The measure is :func:`sdpa_lib.moments.shape_distance` between the first component before and after
softmax, over 300 queries; its mean over 30 sets of keys, with the standard error over the sets.
Divisors are compared set by set, on the same queries and keys.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import torch
from torch import Tensor

from sdpa_book.ledger.checks.saturation_checks import _weights, compared
from sdpa_book.ledger.verdict import Finding, finding
from sdpa_book.writing.measured import Measured, mean_and_error
from sdpa_lib.moments import measure_moments, shape_distance
from sdpa_lib.rescaling import RESCALINGS, get_rescaling, key_lengths
from sdpa_lib.sampling import Distribution, get_distribution, sample, sample_qkv, student_t
from sdpa_lib.saturation import jacobian_norm, largest_weight

SETS, QUERIES = 30, 300


def _distribution(name: str) -> Distribution:
    """A family's name, or one of the variations "mean 1", "std 2", "t(3)"."""
    kind, _, number = name.partition(" ")
    if name == "t(3)":
        return student_t(3.0)
    normal = get_distribution("normal")
    if name == "Laplace of std 3":
        return get_distribution("laplace").scaled(3.0)
    if kind == "mean":
        return normal.shifted(float(number))
    return normal.scaled(float(number)) if kind == "std" else get_distribution(name)


def _divisor(name: str, key: Tensor) -> Tensor:
    """A rescaling's divisor (SETS, 1, 1) by its name, or (sum of ||k||^p)^(1/p) by "p = ...", for
    any p above 0.
    """
    if not name.startswith("p = "):
        return get_rescaling(name)(key)
    p = float(name.removeprefix("p = "))
    return key_lengths(key).pow(p).sum(-1)[..., None, None] ** (1 / p)


@cache
def _raw(components: str, d_k: int, n: int) -> tuple[Tensor, Tensor]:
    distribution = _distribution(components)
    k = sample(SETS, n, d_k, seed=2, stream=0, distribution=distribution, device="cpu")
    q = sample(SETS, QUERIES, d_k, seed=2, stream=1, distribution=distribution, device="cpu")
    return q @ k.mT, k  # (SETS, QUERIES, n), (SETS, n, d_k)


@cache
def _distances(divisor: str, components: str, d_k: int, n: int) -> Tensor:
    raw, k = _raw(components, d_k, n)
    first = torch.softmax(raw / _divisor(divisor, k), dim=-1)[..., 0]
    return torch.tensor(
        [shape_distance(a, b) for a, b in zip(raw[..., 0], first, strict=True)], dtype=torch.float64
    )


def distortion(divisor: str, components: str = "normal", d_k: int = 64, n: int = 32) -> Finding:
    """The shape distance with one divisor."""
    return finding(*mean_and_error(_distances(divisor, components, d_k, n)))


def less_distortion(
    divisor: str,
    than: Sequence[str],
    components: Sequence[str] = ("normal",),
    d_k: Sequence[int] = (64,),
    n: Sequence[int] = (32,),
) -> Finding:
    """The shape distance with another divisor less that with ``divisor``, set by set: the smallest
    mean over the others, ``than``, and the settings.
    """
    settings = [(other, c, d, m) for other in than for c in components for d in d_k for m in n]
    differences = {
        s: mean_and_error(_distances(*s) - _distances(divisor, *s[1:])) for s in settings
    }
    least = min(differences, key=lambda s: differences[s].value)
    return finding(
        *differences[least],
        other_divisor=least[0],
        setting="{1}, d = {2}, n = {3}".format(*least),
        settings=len(settings),
    )


def family_against_spread(
    than: str, divisor: str, families: Sequence[str], spreads: Sequence[str]
) -> Finding:
    """The largest gain of ``divisor`` over ``than`` in some families, less that among other means
    and variances.
    """

    def gain(names: Sequence[str]) -> Measured:
        return max(
            mean_and_error(_distances(than, c, 64, 32) - _distances(divisor, c, 64, 32))
            for c in names
        )

    (a, a_error), (b, b_error) = gain(families), gain(spreads)
    return finding(a - b, math.hypot(a_error, b_error), of_families=a, of_spreads=b)


def skewness(divisor: str, d_k: int, n: int = 32) -> Finding:
    """The skewness of what 500 queries give to key 1 of a set: its mean over 200 sets."""
    return finding(*mean_and_error(_skews(divisor, d_k, n, published=False)))


@cache
def _skews(divisor: str, d_k: int, n: int, published: bool, sets: int = 200) -> Tensor:
    """The skewness of the first column in each of the sets, as the paper describes it or as its
    program lays it out.
    """
    skews = []
    for seed in range(sets):
        q, k, _ = sample_qkv(500, n, d_k, seed=seed, device="cpu")
        weights = torch.softmax(q @ k.T / get_rescaling(divisor)(k), dim=-1)
        skews.append(
            measure_moments((_as_published(weights) if published else weights)[:, 0]).skewness
        )
    return torch.tensor(skews, dtype=torch.float64)


def _as_published(attention: Tensor) -> Tensor:
    """Queries x keys laid out as attnsims does it: the numbers of one query after another fill the
    columns.

    The program is github.com/James-Bernhard/attnsims at commit
    4e55ac4cb83eb84a239e02c48d332b9c55ebe0b0 (2023-11-17, its newest): ``simulate_attentions`` in
    ``R/functions.R`` returns ``matrix(apply(queries, 1, ...), nrow = n_queries)``, as in the three
    commits before, and its README draws the paper's figures from column 1 of the result.
    """
    n_queries, n_keys = attention.shape
    return attention.flatten().view(n_keys, n_queries).T


def queries_and_keys_in_column(d_k: int, n_queries: int = 500, n: int = 32) -> Finding:
    """How many queries, and how many keys, the first column of the published layout holds; the
    skewness in both layouts.
    """
    of_query = torch.arange(n_queries, dtype=torch.float64).unsqueeze(-1).expand(n_queries, n)
    of_key = torch.arange(n, dtype=torch.float64).expand(n_queries, n)
    counts = [float(len(set(_as_published(index)[:, 0].tolist()))) for index in (of_query, of_key)]
    described, published = (
        _skews("sqrt_d_k", d_k, n, published=layout).mean().item() for layout in (False, True)
    )
    queries, keys = (int(count) for count in counts)
    return finding(
        counts, skew_described=described, skew_published=published, queries=queries, keys=keys
    )


def spread_of_components(
    d_k: int, divisor: str = "sqrt_d_k", n: int = 32, anew: bool = False
) -> Finding:
    """The largest over the smallest standard deviation among the components of the weights, a mean
    over 30 key sets with 300 queries each; or, ``anew``, over 4 samples of 3,000 queries, each
    with keys of its own.
    """
    if anew:
        std = torch.stack([_spread_anew(divisor, d_k, n, seed) for seed in range(4)])
        return finding(*mean_and_error(std.amax(-1) / std.amin(-1)))
    raw, k = _raw("normal", d_k, n)
    std = torch.softmax(raw / _divisor(divisor, k), dim=-1).std(dim=1)  # (SETS, n)
    return finding(*mean_and_error(std.amax(-1) / std.amin(-1)))


def _spread_anew(divisor: str, d_k: int, n: int, seed: int) -> Tensor:
    q, k = (sample(3000, m, d_k, seed=seed, stream=s, device="cpu") for s, m in enumerate((1, n)))
    return torch.softmax(q @ k.mT / _divisor(divisor, k), dim=-1).flatten(0, 1).std(dim=0)


def relative_sizes(n: int, d_k: int, longer: float = 1.0) -> Finding:
    """How far softmax, after a division by k_total, is from keeping the relative sizes of a row's
    scores, for queries ``longer`` times as long as they are drawn.

    Weights (1 + z_i - mean of z)/n would keep them: they are even, plus a multiple of the scores.
    The figure is the root mean square of what softmax's weights miss that by, over that of the
    scores; its mean over the sets. As facts: the same for longer queries, and how near a score
    comes to S2's bound.
    """
    raw, k = _raw("normal", d_k, n)
    z = raw / get_rescaling("k_total")(k)
    missed = {times: _missed(times * longer * z) for times in (1, 10, n)}
    q = sample(SETS, QUERIES, d_k, seed=2, stream=1, device="cpu")
    reached = (z.abs().amax(-1) / q.norm(dim=-1)).max().item()
    return finding(
        *missed[1],
        ten=missed[10].value,
        n_times=missed[n].value,
        length=q.norm(dim=-1).mean().item(),
        reached=reached,
        std=z.std().item(),
    )


def _missed(z: Tensor) -> Measured:
    centred = z - z.mean(-1, keepdim=True)
    miss = z.shape[-1] * torch.softmax(z, dim=-1) - 1 - centred
    sizes = [x.square().mean((1, 2)).sqrt() for x in (miss, centred)]
    return mean_and_error(sizes[0] / sizes[1])


def scales_of_axes(d_k: int = 256, n: int = 32) -> Finding:
    """The spread of the raw scores over that of the weights with k_total; how far a weight lies
    from 1/n, as a fact.
    """
    raw, k = _raw("normal", d_k, n)
    weights = torch.softmax(raw / get_rescaling("k_total")(k), dim=-1)[..., 0]
    within = (n * weights - 1).abs().amax(-1).mean().item()
    return finding(*mean_and_error(raw[..., 0].std(-1) / weights.std(-1)), within=within)


def k_total_is_positive(factor: float = 1.0) -> Finding:
    """k_total of random keys, times a factor."""
    return finding(get_rescaling("k_total")(factor * sample(32, 64, seed=4, device="cpu")).item())


def distortions_differ(
    first: str, second: str, components: str = "normal", d_k: int = 64, n: int = 32
) -> Finding:
    """The ratio of two divisors' mean shape distances."""
    a, b = (_distances(name, components, d_k, n) for name in (first, second))
    both = (a.mean() / b.mean()).item()
    return finding(both, ((a - both * b).std() / math.sqrt(SETS) / b.mean()).item())


def room_to_choose(divisor: str, d_k: int = 64, n: int = 32) -> Finding:
    """The largest weight in units of the even share 1/n."""
    raw, k = _raw("normal", d_k, n)
    weights = torch.softmax(raw / _divisor(divisor, k), dim=-1)
    return finding(*mean_and_error(n * largest_weight(weights).mean(-1)))


def shape_as_diagnosis(better: str, worse: str, d_k: int) -> Finding:
    """The median norm of softmax's derivative where the shape is kept worse, over that where it is
    kept better.
    """
    response = compared("Jacobian", d_k, to=better, rescaling=worse)
    shapes = {
        name: distortion(divisor, d_k=d_k).ours[0]
        for name, divisor in (("better", better), ("worse", worse))
    }
    return finding(response.ours, response.error, **response.facts, **shapes)


def best_in_context(stds: Sequence[float], d_k: int = 64, n: int = 32) -> Finding:
    """How many of the rescalings respond best, by softmax's median derivative, for components of
    one of these sizes.
    """
    names = {
        "none": "no divisor",
        "sqrt_d_k": "√d",
        "k_mean": "the mean key length",
        "k_total": "k_total",
        "k_rss": "the root of squares",
    }
    best = [max(RESCALINGS, key=lambda name: _responsiveness(name, std, d_k, n)) for std in stds]
    return finding(
        float(len(set(best))),
        first=names.get(best[0], best[0]),
        second=names.get(best[-1], best[-1]),
    )


def _responsiveness(divisor: str, std: float, d_k: int, n: int) -> float:
    return jacobian_norm(_weights(d_k, n, divisor, std)).median().item()
