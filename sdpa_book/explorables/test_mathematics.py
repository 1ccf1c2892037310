"""Every mathematical function of the explorables, against the library."""

import pytest
import scipy.stats
import torch

import sdpa_lib as sdpa
from sdpa_lib.moments import exact_moments
from sdpa_lib.sampling import get_distribution, sample

from .conftest import SAMPLE

TRIALS = 100


def draws(*shape, stream=0):
    return sample(TRIALS, *shape, seed=7, stream=stream, device="cpu")


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


def check_blend(scripts):
    values = draws(9, 2, stream=1)
    close(scripts("blend", pairs(WEIGHTS, values)), torch.einsum("tn,tnc->tc", WEIGHTS, values))


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


def check_sample_normal(scripts):
    """Draws have the library's distribution: Kolmogorov and Smirnov see no difference, where they
    see one in a thousand times by chance.
    """
    (ours,) = scripts(SAMPLE, [(50_000, 5)])
    theirs = sample(200_000, seed=1, device="cpu")
    assert scipy.stats.ks_2samp(ours, theirs.numpy()).pvalue > 1e-3
    assert torch.tensor(ours).double().var().item() == pytest.approx(1, abs=0.05)


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


CHECKS = {
    "blend": check_blend,
    "dotProductVariance": check_dot_product_variance,
    "effectiveKeys": check_effective_keys,
    "makeGenerator": check_make_generator,
    "sampleNormal": check_sample_normal,
    "softmax": check_softmax,
}


@pytest.mark.parametrize("name", CHECKS)
def test_a_function_gives_what_the_library_gives(scripts, name):
    CHECKS[name](scripts)


def test_no_function_is_left_out(scripts):
    assert sorted(scripts("() => Object.keys(Explorables.math)")[0]) == sorted(CHECKS)
