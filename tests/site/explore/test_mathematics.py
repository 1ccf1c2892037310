"""Every mathematical function of the explorables, against the library."""

import math

import pytest
import scipy.stats
import torch

import sdpa_lib as sdpa
from sdpa_lib.book import plotting

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


def check_entropy(scripts):
    close(scripts("entropy", pairs(WEIGHTS)), sdpa.entropy(WEIGHTS))


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
    """The border is where n weights' squares sum to their even share: see chapter 11."""
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
    drawn = scripts(SAMPLE, [(50_000, name, 5) for name in sdpa.DISTRIBUTIONS])
    for name, ours in zip(sdpa.DISTRIBUTIONS, drawn, strict=True):
        theirs = sdpa.sample(200_000, seed=1, distribution=name, device="cpu")
        assert scipy.stats.ks_2samp(ours, theirs.numpy()).pvalue > 1e-3, name
        assert torch.tensor(ours).double().var().item() == pytest.approx(1, abs=0.05), name


SETTING = {"queries": 20, "n": 6, "dK": 16, "dV": 5}


def drawn(scripts, distribution, seed=3):
    """What sampleAttention gives, and its queries, keys, values and upstream gradients."""
    setting = SETTING | {"distribution": distribution, "seed": seed}
    (sample,) = scripts("sampleAttention", [(setting,)])
    shapes = {"query": (20, 16), "key": (6, 16), "value": (6, 5), "upstream": (20, 5)}
    tensors = [
        torch.tensor(sample[name], dtype=torch.float64).view(shape)
        for name, shape in shapes.items()
    ]
    return sample, tensors


def check_sample_attention(scripts):
    for distribution in sdpa.DISTRIBUTIONS:
        sample, (q, k, v, upstream) = drawn(scripts, distribution)
        close(sample["scores"], (q @ k.mT).flatten())
        close(sample["products"], (upstream @ v.mT).flatten())
        (first,) = scripts(SAMPLE, [(96, distribution, 3)])
        assert first == k.flatten().tolist()


def check_report(scripts):
    take = "(setting, c) => Explorables.math.report(Explorables.math.sampleAttention(setting), c)"
    for distribution in sdpa.DISTRIBUTIONS:
        _, (q, k, v, upstream) = drawn(scripts, distribution)
        for name, rescaling in sdpa.RESCALINGS.items():
            setting = SETTING | {"distribution": distribution, "seed": 3}
            (ours,) = scripts(take, [(setting, rescaling(k).item())])
            weights = sdpa.attention_weights(q, k, rescaling=name)
            gradients = sdpa.attention_gradients(q, k, v, rescaling=name, upstream=upstream)
            raw = (q @ k.mT)[:, 0]
            close(ours["raw"], raw)
            close(ours["first"], weights[:, 0])
            close(ours["shapeDistance"], sdpa.shape_distance(raw, weights[:, 0]))
            close(ours["entropyShare"], sdpa.entropy(weights).mean() / math.log(6))
            close(ours["effectiveKeys"], sdpa.effective_keys(weights).mean())
            close(ours["largestTimesN"], 6 * sdpa.largest_weight(weights).mean())
            close(ours["gradients"], gradients.query.norm(dim=-1))


def check_gradient_at_query(scripts):
    q, k, v = draws(1, 8), draws(6, 8, stream=1), draws(6, 4, stream=2)
    upstream = draws(1, 4, stream=3)
    theirs = sdpa.attention_gradients(q, k, v, upstream=upstream).query.norm(dim=-1).squeeze(-1)
    weights, products = sdpa.attention_weights(q, k).squeeze(-2), (upstream @ v.mT).squeeze(-2)
    divisors = torch.full((TRIALS,), 8.0, dtype=torch.float64).sqrt()
    close(
        scripts("gradientAtQuery", pairs(weights, products, k.flatten(1), divisors)),
        theirs,
    )


def check_median(scripts):
    for count in (7, 8):
        values = draws(count)
        close(scripts("median", pairs(values)), values.median(-1).values)


def check_standardise(scripts):
    values = draws(40).exp()
    mean, std = values.mean(-1, keepdim=True), values.std(-1, correction=0, keepdim=True)
    close(scripts("standardise", pairs(values)), (values - mean) / std)


def check_shape_distance(scripts):
    first, second = draws(40, stream=4), draws(40, stream=5).exp()
    theirs = [sdpa.shape_distance(a, b) for a, b in zip(first, second, strict=True)]
    close(scripts("shapeDistance", pairs(first, second)), theirs)


def check_kernel_density(scripts):
    for values in (draws(200)[0], draws(50, stream=1)[0].exp(), torch.tensor([0.0, 0, 0, 0, 1])):
        at, theirs = plotting.density_curve(values, points=50)
        close(scripts("kernelDensity", [(values.tolist(), at.tolist())])[0], theirs)


CHECKS = {
    "blend": check_blend,
    "criticalSigma": check_critical_sigma,
    "effectiveKeys": check_effective_keys,
    "entropy": check_entropy,
    "gradientAtQuery": check_gradient_at_query,
    "jacobian": check_jacobian,
    "jacobianNorm": check_jacobian_norm,
    "kernelDensity": check_kernel_density,
    "largestWeight": check_largest_weight,
    "makeGenerator": check_make_generator,
    "median": check_median,
    "report": check_report,
    "sample": check_sample,
    "sampleAttention": check_sample_attention,
    "shapeDistance": check_shape_distance,
    "softmax": check_softmax,
    "standardise": check_standardise,
}


@pytest.mark.parametrize("name", CHECKS)
def test_a_function_gives_what_the_library_gives(scripts, name):
    CHECKS[name](scripts)


def test_no_function_is_left_out(scripts):
    assert sorted(scripts("() => Object.keys(Explorables.math)")[0]) == sorted(CHECKS)
