"""Sharpness and gradients, against autograd and closed forms."""

import math

import pytest
import scipy.stats
import torch
from every import EVERY_CLASS, ONE_OF_EACH_CLASS, every_pair
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import close, qkv

from sdpa_lib import (
    attention_gradients,
    effective_keys,
    entropy,
    largest_weight,
    perplexity,
    scaled_dot_product_attention,
    softmax_jacobian,
)
from sdpa_lib.sampling import sample, sample_qkv
from sdpa_lib.saturation import jacobian_norm, sample_gradients, saturation_of_rows


@pytest.mark.parametrize("n", [1, 2, 5, 64])
def test_even_and_one_hot_rows(n):
    even = torch.full((n,), 1 / n, dtype=torch.float64)
    assert largest_weight(even).item() == pytest.approx(1 / n)
    assert entropy(even).item() == pytest.approx(math.log(n))
    assert jacobian_norm(even).item() == pytest.approx(math.sqrt(n - 1) / n, abs=1e-9)
    assert jacobian_norm(even, "spectral").item() == pytest.approx(min(n - 1, 1) / n)
    one_hot = torch.eye(n, dtype=torch.float64)[0]
    assert entropy(one_hot).item() == 0.0
    assert jacobian_norm(one_hot).item() == jacobian_norm(one_hot, "spectral").item() == 0.0
    for keys in (perplexity, effective_keys):
        assert keys(even).item() == pytest.approx(n)
        assert keys(one_hot).item() == 1.0


@given(
    seed=st.integers(0, 500), n=st.integers(1, 12), scale=st.sampled_from([0.1, 1.0, 8.0, 100.0])
)
@settings(deadline=None, max_examples=80)
def test_jacobian_against_autograd(seed, n, scale):
    scores = sample(n, seed=seed, device="cpu") * scale
    weights = torch.softmax(scores, -1)
    ours = softmax_jacobian(weights)
    close(ours, torch.autograd.functional.jacobian(lambda z: torch.softmax(z, -1), scores), by=1e-7)
    close(ours.sum(-1), torch.zeros(n), by=1e-12)
    close(jacobian_norm(weights), torch.linalg.matrix_norm(ours), by=1e-8)
    assert jacobian_norm(weights, "spectral").item() <= 0.5 + 1e-12
    keys = effective_keys(weights).item(), perplexity(weights).item()
    assert 1 - 1e-9 <= keys[0] <= keys[1] + 1e-9 <= n + 2e-9


@pytest.mark.parametrize("norm", ["fro", "spectral"])
def test_jacobian_norm_where_squares_underflow(norm):
    """The norm is a multiple of exp(-gap), and so is its gradient at the scores."""
    scores = torch.tensor([[70.0, 0.0, 0.0], [500.0, 0.0, 0.0]], dtype=torch.float64)
    scores.requires_grad_()
    norms = jacobian_norm(torch.softmax(scores, -1), norm)
    expected = {"fro": math.sqrt(10), "spectral": 3.0}[norm] * torch.exp(-scores[:, 0])
    torch.testing.assert_close(norms, expected, rtol=1e-9, atol=0)
    (gradient,) = torch.autograd.grad(norms.log().sum(), scores)
    torch.testing.assert_close(gradient, torch.tensor([[-1.0, 0.5, 0.5]] * 2).double())


@pytest.mark.parametrize("norm", ["fro", "spectral"])
def test_gradient_of_the_jacobian_norm(norm):
    """Where the norm is 0, the least it can be, 0 is a subgradient; elsewhere autograd agrees with
    finite differences.
    """
    rows = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.5, 0.3, 0.2]]
    weights = torch.tensor(rows, dtype=torch.float64, requires_grad=True)
    jacobian_norm(weights, norm).sum().backward()
    assert torch.equal(weights.grad[:3], torch.zeros(3, 3, dtype=torch.float64))
    assert bool((weights.grad[3] > 0).all())
    scores = sample(5, 4, seed=0, device="cpu").requires_grad_()
    assert torch.autograd.gradcheck(lambda z: jacobian_norm(torch.softmax(z, -1), norm), scores)


def spectral_norm(weights):
    return jacobian_norm(weights, "spectral")


MEASURES = largest_weight, entropy, perplexity, effective_keys, softmax_jacobian, jacobian_norm
EVERY_MEASURE = pytest.mark.parametrize("measure", [*MEASURES, spectral_norm])


@EVERY_MEASURE
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision_is_computed_in_float32_and_rounded_once(measure, dtype):
    weights = torch.softmax(sample(6, 50, seed=0, device="cpu", dtype=torch.float32), -1).to(dtype)
    wide = weights.float()
    expected = measure(wide / wide.sum(-1, keepdim=True))  # a row whose sum is not 1 is refused
    result = measure(weights)
    assert result.dtype == dtype
    eps = torch.finfo(dtype).eps
    torch.testing.assert_close(result.float(), expected, rtol=2 * eps, atol=eps / 50)


@EVERY_MEASURE
def test_a_query_that_sees_no_key(measure):
    seen = torch.tensor([0.5, 0.5, 0.0], dtype=torch.float64)
    weights = torch.stack([torch.zeros_like(seen), seen]).requires_grad_()
    assert not bool(measure(weights)[0].any())
    torch.testing.assert_close(measure(weights)[1], measure(seen))
    if measure is not entropy and measure is not perplexity:  # their slope is infinite at p = 0
        measure(weights).sum().backward()
        assert bool(torch.isfinite(weights.grad).all())


@pytest.mark.parametrize("row", [[1.0, 1.0], [0.5, 0.3], [1e-3, 0.0], [3.0, 0.0]])
def test_rows_that_sum_to_something_else_are_refused(row):
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        weights = torch.tensor([[0.5, 0.5], row], dtype=dtype)
        sums = f"{weights[1].double().sum().item():.6g}"
        with pytest.raises(ValueError, match=f"weights must sum to 1 .* sums to {sums}: pass what"):
            entropy(weights)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("n", [3, 70_001, 1_000_003])
def test_rounding_of_many_weights_is_no_wrong_sum(dtype, n):
    weights = torch.softmax(sample(n, seed=0, device="cpu", dtype=torch.float32).to(dtype), -1)
    even = torch.full((n,), 1 / n).to(dtype)
    for row in (weights, even):
        for cast in (row, row.float(), row.double()):
            assert largest_weight(cast) == cast.max()


@EVERY_CLASS
def test_gradients_are_those_of_autograd(rescaling):
    q, k, v = (x.requires_grad_() for x in qkv(2))
    upstream = sample(2, 9, 16, seed=1, device="cpu")
    output, weights = scaled_dot_product_attention(
        q, k, v, rescaling=rescaling, return_weights=True
    )
    expected = torch.autograd.grad(output, (q, k), upstream)
    ours = attention_gradients(q, k, v, rescaling=rescaling, upstream=upstream)
    close(ours.query, expected[0])
    close(ours.key, expected[1])
    arrives = (upstream @ v.mT).unsqueeze(-1)  # at the weights
    close(ours.scores, (softmax_jacobian(weights) @ arrives).squeeze(-1))


@every_pair(rescaling=ONE_OF_EACH_CLASS, dtype=[torch.float16, torch.bfloat16])
def test_gradients_of_half_precision_are_those_of_float32_rounded(rescaling, dtype):
    tensors = [x.to(dtype) for x in sample_qkv(4, 6, 8, 3, seed=0, device="cpu")]
    upstream = sample(4, 3, seed=1, device="cpu").to(dtype)
    for arrives in ({}, {"upstream": upstream}):
        ours = attention_gradients(*tensors, rescaling=rescaling, **arrives)
        wide = attention_gradients(*(x.float() for x in tensors), rescaling=rescaling, **arrives)
        for half, single in zip(ours, wide, strict=True):
            assert torch.equal(half, single.to(dtype))


@pytest.mark.parametrize("rescaling", ["sqrt_d_k", "k_norm_4"])
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_gradients_where_autograd_is_switched_off(rescaling, mode):
    expected = attention_gradients(*sample_qkv(4, 6, 8, seed=0), rescaling=rescaling)
    with mode():
        inside = sample_qkv(4, 6, 8, seed=0)
        gradients = attention_gradients(*inside, rescaling=rescaling)
        assert not torch.is_grad_enabled()
    for ours, theirs in zip(gradients, expected, strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_scores_that_overflow_are_named(sign):
    q, k = torch.full((2, 4), 1e30), torch.full((3, 4), sign * 1e30)
    message = "query and key must have scores that fit torch.float32, .* rescaling 'sqrt_d_k'"
    for call in (
        lambda: saturation_of_rows(q, k),
        lambda: saturation_of_rows(q, k, is_causal=True),
        lambda: attention_gradients(q, k, torch.ones(3, 5)),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    rows = saturation_of_rows(q, k, rescaling="k_total")
    assert rows.largest_weight.tolist() == pytest.approx([1 / 3] * 2)


def test_gradients_leave_the_inputs_alone():
    q, k, v = sample_qkv(2, 3, 4, seed=0)
    attention_gradients(q, k, v)
    assert not any(x.requires_grad for x in (q, k, v))


@pytest.mark.parametrize(
    ("n", "d_k", "rescaling"), [(3, 1, "none"), (32, 16, "sqrt_d_k"), (8, 4, "d_k")]
)
def test_sampled_gradients_have_the_distribution_of_computed_ones(n, d_k, rescaling):
    """Kolmogorov and Smirnov's test against autograd on queries, keys and values that are drawn."""
    q, k, v = qkv(8000, n_queries=1, n_keys=n, d_k=d_k)
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
