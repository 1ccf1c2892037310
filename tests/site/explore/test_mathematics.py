"""Every mathematical function of the explorables, against the library."""

import pytest
import scipy.stats
import torch

import sdpa_lib as sdpa
from sdpa_lib.moments import exact_moments, measure_moments
from sdpa_lib.sampling import DISTRIBUTIONS, get_distribution

from .conftest import SAMPLE

TRIALS = 100


def draws(*shape, stream=0):
    return sdpa.sample(TRIALS, *shape, seed=7, stream=stream, device="cpu")


def pairs(*tensors):
    """Lists of arguments, one for each trial."""
    return list(zip(*(tensor.tolist() for tensor in tensors), strict=True))


def close(ours, theirs):
    theirs = torch.as_tensor(theirs).double()
    torch.testing.assert_close(
        torch.tensor(ours, dtype=torch.float64), theirs, rtol=1e-6, atol=1e-6
    )


SCORES = draws(9) * torch.linspace(0.1, 30, TRIALS, dtype=torch.float64).unsqueeze(-1)
TEMPERATURES = torch.linspace(0.1, 10, TRIALS, dtype=torch.float64)
WEIGHTS = torch.softmax(SCORES / TEMPERATURES.unsqueeze(-1), -1)


def check_softmax(scripts):
    close(scripts("softmax", pairs(SCORES, TEMPERATURES)), WEIGHTS)


def check_effective_keys(scripts):
    close(scripts("effectiveKeys", pairs(WEIGHTS)), sdpa.effective_keys(WEIGHTS))


def check_largest_weight(scripts):
    close(scripts("largestWeight", pairs(WEIGHTS)), sdpa.largest_weight(WEIGHTS))


def check_jacobian(scripts):
    close(scripts("jacobian", pairs(WEIGHTS)), sdpa.softmax_jacobian(WEIGHTS))


def check_jacobian_norm(scripts):
    close(scripts("jacobianNorm", pairs(WEIGHTS)), sdpa.jacobian_norm(WEIGHTS))


def check_blend(scripts):
    values = draws(9, 2, stream=1)
    close(scripts("blend", pairs(WEIGHTS, values)), torch.einsum("tn,tnc->tc", WEIGHTS, values))


def check_critical_sigma(scripts):
    """The border is where n weights' squares sum to their even share: see study C."""
    n = torch.tensor([2.0, 32.0, 1e6])
    close(scripts("criticalSigma", pairs(n)), (2 * n.log()).sqrt())


def check_make_generator(scripts):
    """Mulberry32, in Python's integers."""

    def mulberry32(state, count):
        for _ in range(count):
            state = (state + 0x6D2B79F5) % 2**32
            x = (state ^ (state >> 15)) * (state | 1) % 2**32
            x ^= (x + (x ^ (x >> 7)) * (x | 61)) % 2**32
            yield (x ^ (x >> 14)) / 2**32

    take = "seed => Array.from({ length: 1000 }, Explorables.math.makeGenerator(seed))"
    seeds = (0, 1, 2**32 - 1)
    theirs = [list(mulberry32(seed, 1000)) for seed in seeds]
    assert scripts(take, [(seed,) for seed in seeds]) == theirs


def check_sample(scripts):
    """Draws have the library's distributions: Kolmogorov and Smirnov see no difference, where they
    see one in a thousand times by chance.
    """
    drawn = scripts(SAMPLE, [(50_000, name, 5) for name in DISTRIBUTIONS])
    for name, ours in zip(DISTRIBUTIONS, drawn, strict=True):
        theirs = sdpa.sample(200_000, seed=1, distribution=name, device="cpu")
        assert scipy.stats.ks_2samp(ours, theirs.numpy()).pvalue > 1e-3, name
        assert torch.tensor(ours).double().var().item() == pytest.approx(1, abs=0.05), name


DROPPED = [
    {"muQ": 0.0, "muK": 0.0, "rhoQ": 0.0, "rhoK": 0.0},
    {"muQ": 1.0, "muK": 0.5, "rhoQ": 0.0, "rhoK": 0.0},
    {"muQ": 0.7, "muK": 0.2, "rhoQ": 0.3, "rhoK": 0.1},
]
"""Means and correlations of components, when assumptions are dropped."""


def check_dot_product_variance(scripts):
    """By matrices of covariances; without correlations, the library's exact moments as well."""
    normal = get_distribution("normal")
    for d_k, dropped in ((d, dropped) for d in (1, 2, 64) for dropped in DROPPED):
        (ours,) = scripts("dotProductVariance", [(d_k, dropped)])
        one = torch.ones(d_k, dtype=torch.float64)
        s_q, s_k = (
            (1 - rho) * torch.eye(d_k, dtype=torch.float64) + rho
            for rho in (dropped["rhoQ"], dropped["rhoK"])
        )
        mu_q, mu_k = dropped["muQ"] * one, dropped["muK"] * one
        theirs = (s_q @ s_k).trace() + mu_q @ s_k @ mu_q + mu_k @ s_q @ mu_k
        close(ours["variance"], theirs)
        close(d_k * (ours["constant"] + (d_k - 1) * ours["excess"]), theirs)
        if dropped["rhoQ"] == 0:
            q, k = normal.shifted(dropped["muQ"]), normal.shifted(dropped["muK"])
            close(ours["variance"], exact_moments(d_k, query=q, key=k).variance)


PAIRS = {"pairs": 7, "dims": [1, 3, 5], "seed": 3}


def explicit_pairs(scripts, distribution):
    """What samplePairs draws, component by component: shared, (7, 1), and own, (7, 5), twice."""
    (drawn,) = scripts(SAMPLE, [(2 * 7 + 2 * 35, distribution, 3)])
    drawn = torch.tensor(drawn, dtype=torch.float64)
    return *drawn[:14].view(2, 7, 1), *drawn[14:].view(2, 7, 5)


def check_sample_pairs(scripts):
    for distribution in DISTRIBUTIONS:
        (ours,) = scripts("samplePairs", [(PAIRS | {"distribution": distribution},)])
        query, key, q, k = explicit_pairs(scripts, distribution)
        close(ours["query"], query.flatten())
        close(ours["key"], key.flatten())
        for d_k, sums in zip(PAIRS["dims"], ours["sums"], strict=True):
            close(sums["query"], q[:, :d_k].sum(-1))
            close(sums["key"], k[:, :d_k].sum(-1))
            close(sums["product"], (q * k)[:, :d_k].sum(-1))


def check_dot_products(scripts):
    take = """(setting, at, d, dropped) =>
        Explorables.math.dotProducts(Explorables.math.samplePairs(setting), at, d, dropped)"""
    query, key, q, k = explicit_pairs(scripts, "laplace")
    for dropped in DROPPED:
        whole = [
            dropped[f"mu{side}"]
            + dropped[f"rho{side}"] ** 0.5 * shared
            + (1 - dropped[f"rho{side}"]) ** 0.5 * own
            for side, shared, own in (("Q", query, q), ("K", key, k))
        ]
        for at, d_k in enumerate(PAIRS["dims"]):
            (ours,) = scripts(take, [(PAIRS | {"distribution": "laplace"}, at, d_k, dropped)])
            close(ours, (whole[0] * whole[1])[:, :d_k].sum(-1))


def check_measure_variance(scripts):
    values = draws(40).exp()
    ours = scripts("measureVariance", pairs(values))
    theirs = [measure_moments(row) for row in values]
    close([x["variance"] for x in ours], [m.variance for m in theirs])
    close([x["error"] for x in ours], [m.standard_error.variance for m in theirs])


CHECKS = {
    "blend": check_blend,
    "criticalSigma": check_critical_sigma,
    "dotProducts": check_dot_products,
    "dotProductVariance": check_dot_product_variance,
    "effectiveKeys": check_effective_keys,
    "jacobian": check_jacobian,
    "jacobianNorm": check_jacobian_norm,
    "largestWeight": check_largest_weight,
    "makeGenerator": check_make_generator,
    "measureVariance": check_measure_variance,
    "sample": check_sample,
    "samplePairs": check_sample_pairs,
    "softmax": check_softmax,
}


@pytest.mark.parametrize("name", CHECKS)
def test_a_function_gives_what_the_library_gives(scripts, name):
    CHECKS[name](scripts)


def test_no_function_is_left_out(scripts):
    assert sorted(scripts("() => Object.keys(Explorables.math)")[0]) == sorted(CHECKS)
