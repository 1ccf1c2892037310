"""Sharpness and gradients, against autograd and closed forms."""

import math

import pytest
import scipy.stats
import torch
from every import EVERY_RESCALING
from hypothesis import given, settings
from hypothesis import strategies as st

from sdpa_lib import (
    attention_gradients,
    effective_keys,
    entropy,
    jacobian_norm,
    largest_weight,
    sample,
    sample_gradients,
    sample_qkv,
    scaled_dot_product_attention,
    softmax_jacobian,
)


@pytest.mark.parametrize("n", [1, 2, 5, 64])
def test_even_and_one_hot_rows(n):
    even = torch.full((n,), 1 / n, dtype=torch.float64)
    assert largest_weight(even).item() == pytest.approx(1 / n)
    assert entropy(even).item() == pytest.approx(math.log(n))
    assert jacobian_norm(even).item() == pytest.approx(math.sqrt(n - 1) / n, abs=1e-9)
    one_hot = torch.eye(n, dtype=torch.float64)[0]
    assert entropy(one_hot).item() == 0.0
    assert jacobian_norm(one_hot).item() == jacobian_norm(one_hot, "spectral").item() == 0.0
    for order in (1, 2):
        assert effective_keys(even, order).item() == pytest.approx(n)
        assert effective_keys(one_hot, order).item() == 1.0


def test_spectral_norm_of_even_weights():
    for n in (2, 7):
        assert jacobian_norm(
            torch.full((n,), 1 / n, dtype=torch.float64), "spectral"
        ).item() == pytest.approx(1 / n)


@given(
    seed=st.integers(0, 500), n=st.integers(1, 12), scale=st.sampled_from([0.1, 1.0, 8.0, 100.0])
)
@settings(deadline=None, max_examples=80)
def test_jacobian_against_autograd(seed, n, scale):
    scores = sample(n, seed=seed, device="cpu") * scale
    weights = torch.softmax(scores, -1)
    ours = softmax_jacobian(weights)
    torch.testing.assert_close(
        ours, torch.autograd.functional.jacobian(lambda z: torch.softmax(z, -1), scores)
    )
    torch.testing.assert_close(
        ours.sum(-1), torch.zeros(n, dtype=torch.float64), rtol=0, atol=1e-12
    )
    assert jacobian_norm(weights).item() == pytest.approx(
        torch.linalg.matrix_norm(ours).item(), abs=1e-8
    )
    assert jacobian_norm(weights, "spectral").item() <= 0.5 + 1e-12
    assert (
        1 - 1e-9
        <= effective_keys(weights, 2).item()
        <= effective_keys(weights, 1).item() + 1e-9
        <= n + 2e-9
    )


def test_jacobian_of_nearly_one_hot_rows():
    """Three scores with a gap of g: with e = exp(-g), the weights are nearly (1 - 2e, e, e) and the
    norms e sqrt(10) and 3e.
    """
    for gap in (20.0, 150.0, 300.0):
        weights = torch.softmax(torch.tensor([gap, 0.0, 0.0], dtype=torch.float64), -1)
        assert jacobian_norm(weights).item() == pytest.approx(
            math.sqrt(10) * math.exp(-gap), rel=1e-6
        )
        assert jacobian_norm(weights, "spectral").item() == pytest.approx(
            3 * math.exp(-gap), rel=1e-6
        )


@EVERY_RESCALING
def test_gradients_against_finite_differences(rescaling):
    q, k, v = sample_qkv(2, 4, 3, seed=0, device="cpu")
    upstream = sample(2, 3, seed=1, device="cpu")
    gradients = attention_gradients(q, k, v, rescaling=rescaling, upstream=upstream)

    def loss(query, key):
        return (scaled_dot_product_attention(query, key, v, rescaling=rescaling) * upstream).sum()

    step = 1e-6
    for gradient, which in ((gradients.query, 0), (gradients.key, 1)):
        for index in [(0, 0), (1, 2)]:
            ahead, behind = [q.clone(), k.clone()], [q.clone(), k.clone()]
            ahead[which][index] += step
            behind[which][index] -= step
            numeric = (loss(*ahead) - loss(*behind)) / (2 * step)
            assert gradient[index].item() == pytest.approx(numeric.item(), rel=1e-5, abs=1e-9)


def test_gradient_at_the_scores_is_the_jacobian_times_what_arrives():
    q, k, v = sample_qkv(1, 5, 4, seed=0, device="cpu")
    upstream = sample(1, 4, seed=1, device="cpu")
    weights = torch.softmax(q @ k.mT / 2, -1)
    expected = (softmax_jacobian(weights) @ (v @ upstream.mT)).mT
    torch.testing.assert_close(
        attention_gradients(q, k, v, upstream=upstream).scores, expected.squeeze(0)
    )


def test_gradients_leave_the_inputs_alone():
    q, k, v = sample_qkv(2, 3, 4, seed=0)
    attention_gradients(q, k, v)
    assert not any(x.requires_grad for x in (q, k, v))


@pytest.mark.parametrize(
    ("n", "d_k", "rescaling"),
    [(3, 1, "none"), (32, 64, "none"), (32, 64, "sqrt_d_k"), (8, 4, "d_k")],
)
def test_sampled_gradients_have_the_distribution_of_computed_ones(n, d_k, rescaling):
    """Kolmogorov and Smirnov's test against autograd on queries, keys and values that are drawn."""
    q, k, v = (
        sample(8000, m, d, seed=9, stream=s, device="cpu")
        for s, (m, d) in enumerate(((1, d_k), (n, d_k), (n, 16)))
    )
    computed = attention_gradients(q, k, v, rescaling=rescaling).query.norm(dim=-1).flatten()
    c = {"none": 1.0, "sqrt_d_k": math.sqrt(d_k), "d_k": float(d_k)}[rescaling]
    drawn = sample_gradients(8000, n, d_k, c, d_v=16, seed=10, device="cpu")
    assert scipy.stats.ks_2samp(computed.numpy(), drawn.numpy()).pvalue > 1e-4
    wrong = sample_gradients(8000, n, d_k, 1.2 * c, d_v=16, seed=10, device="cpu")
    assert scipy.stats.ks_2samp(computed.numpy(), wrong.numpy()).pvalue < 1e-4


@pytest.mark.parametrize(
    "divisor", [0.0, -1.0, math.nan, torch.zeros(5, 1), torch.full((5, 1), math.nan)]
)
def test_a_divisor_that_divides_nothing_is_refused(divisor):
    with pytest.raises(ValueError, match="divisor must be"):
        sample_gradients(5, 3, 4, divisor, seed=0, device="cpu")
