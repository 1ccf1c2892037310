"""Attention against PyTorch's own, and what it does with rows and keys of nothing."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from every import EVERY_CLASS, RESCALINGS_OF_EVERY_KIND
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import MASKS, arguments, close, outputs, qkv

from sdpa_lib import (
    attention_scores,
    attention_weights,
    get_rescaling,
    scaled_dot_product_attention,
)
from sdpa_lib.sampling import sample, sample_qkv

SMALL = {"n_queries": 5, "n_keys": 7, "d_k": 8, "d_v": 6}
TOLERANCE = {torch.float64: 1e-12, torch.float32: 2e-6, torch.float16: 2e-3, torch.bfloat16: 2e-2}


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("mask", MASKS)
def test_default_agrees_with_torch(dtype, mask):
    q, k, v = qkv(2, 3, dtype=dtype)
    given = arguments(mask, dtype)
    ours = scaled_dot_product_attention(q, k, v, **given)
    theirs = F.scaled_dot_product_attention(q, k, v, **given)
    assert ours.dtype == dtype
    close(ours, theirs, by=TOLERANCE[dtype])


@EVERY_CLASS
@pytest.mark.parametrize("visible_keys", [None, 1])
def test_keys_of_length_zero_give_uniform_weights_and_finite_gradients(rescaling, visible_keys):
    q, _, v = qkv(**SMALL)
    k = torch.zeros(7, 8, dtype=q.dtype)
    mask = None if visible_keys is None else torch.arange(7).expand(5, 7) < visible_keys
    if visible_keys is not None:
        k = k.index_fill(0, torch.arange(1, 7), 3.0)  # only hidden keys have a length
    q, k = q.requires_grad_(), k.requires_grad_()
    output, weights = scaled_dot_product_attention(
        q, k, v, mask, rescaling=rescaling, return_weights=True
    )
    seen = 7 if visible_keys is None else visible_keys
    assert torch.equal(weights[:, :seen], torch.full((5, seen), 1.0 / seen, dtype=q.dtype))
    for gradient in torch.autograd.grad(output.sum(), (q, k)):
        assert torch.isfinite(gradient).all()


@EVERY_CLASS
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision_is_computed_in_float32(rescaling, dtype):
    q, k, v = qkv(n_queries=5, n_keys=300, d_k=64, d_v=6, dtype=dtype)
    q, k = q * 100, k * 100  # raw scores beyond float16's 65,504
    half = scaled_dot_product_attention(q, k, v, rescaling=rescaling)
    wide = scaled_dot_product_attention(q.double(), k.double(), v.double(), rescaling=rescaling)
    assert (q.double() @ k.double().mT).abs().max() > 65_504
    assert half.dtype == dtype
    # A divisor that is folded rounds the query once more: at scores in the hundreds, a few times
    # the tolerance.
    times = 1 if get_rescaling(rescaling).constant(64) else 10
    close(half, wide, by=times * TOLERANCE[dtype])


@given(
    rescaling=st.sampled_from(RESCALINGS_OF_EVERY_KIND),
    shape=st.tuples(st.integers(1, 4), st.integers(1, 5), st.integers(1, 4)),
    magnitude=st.sampled_from([0.0, 1e-30, 1e-3, 1.0, 1e4, 1e15]),
    seed=st.integers(0, 1000),
    is_causal=st.booleans(),
)
@settings(deadline=None, max_examples=150)
def test_finite_input_never_gives_nan(rescaling, shape, magnitude, seed, is_causal):
    n_queries, n_keys, d_k = shape
    q, k, v = (
        x * magnitude
        for x in sample_qkv(n_queries, n_keys, d_k, seed=seed, device="cpu", dtype=torch.float32)
    )
    q, k = q.requires_grad_(), k.requires_grad_()
    output, weights = scaled_dot_product_attention(
        q, k, v, is_causal=is_causal, rescaling=rescaling, return_weights=True
    )
    assert torch.isfinite(output).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(n_queries))
    assert torch.all((weights >= 0) & (weights <= 1))
    for gradient in torch.autograd.grad(output.sum(), (q, k)):
        assert not gradient.isnan().any()


def test_dropout_drops_and_keeps_the_mean():
    q, k = torch.ones(2, 20_000, 1, 8)
    v = torch.ones(20_000, 1, 1)
    torch.manual_seed(0)
    for output in outputs(q, k, v, dropout_p=0.25):
        assert output.unique().tolist() == pytest.approx([0.0, 4 / 3])
        assert output.mean().item() == pytest.approx(1.0, abs=5 * math.sqrt(1 / 3 / 20_000))
    assert torch.equal(scaled_dot_product_attention(q, k, v, dropout_p=1.0), torch.zeros_like(v))


def test_scores_and_weights_on_their_own():
    q, k, v = qkv(**SMALL)
    scores = attention_scores(q, k, is_causal=True)
    torch.testing.assert_close(scores.tril(), (q @ k.mT / math.sqrt(8)).tril())
    assert torch.all(scores.triu(1)[scores.triu(1) != 0] == -math.inf)
    weights = attention_weights(q, k, is_causal=True)
    torch.testing.assert_close(weights, torch.softmax(scores, -1))
    torch.testing.assert_close(weights @ v, scaled_dot_product_attention(q, k, v, is_causal=True))


@pytest.mark.parametrize("rescaling", ["sqrt_d_k", "k_total"])
@pytest.mark.parametrize("sizes", [(3, 0, 4), (3, 5, 0), (0, 5, 4), (3, 5, 4)], ids=str)
@pytest.mark.parametrize("batches", [((1,), (2,), (2,)), ((2, 1), (1, 3), (3,)), ((), (2,), ())])
def test_the_shape_is_the_same_with_and_without_weights(rescaling, sizes, batches):
    n_queries, n_keys, d_v = sizes
    shapes = (n_queries, 8), (n_keys, 8), (n_keys, d_v)
    q, k, v = (sample(*b, *shape, seed=1) for b, shape in zip(batches, shapes, strict=True))
    alone = scaled_dot_product_attention(q, k, v, rescaling=rescaling)
    both, weights = scaled_dot_product_attention(q, k, v, rescaling=rescaling, return_weights=True)
    close((alone, both), weights @ v)
    assert both.shape == (*torch.broadcast_shapes(*batches), n_queries, d_v)
    assert weights.shape[-2:] == (n_queries, n_keys)


@pytest.mark.parametrize(
    "number",
    [np.float32(0.25), np.float64(0.25), torch.tensor(0.25), torch.tensor(0.25).double()],
    ids=lambda number: str(number.dtype),
)
def test_scale_and_dropout_take_the_numbers_that_pytorch_takes(number):
    q, k, v = qkv(2, 3)
    expected = F.scaled_dot_product_attention(q, k, v, scale=number)
    assert torch.equal(scaled_dot_product_attention(q, k, v, scale=number), expected)
    results = []
    for attend in (F.scaled_dot_product_attention, scaled_dot_product_attention):
        torch.manual_seed(0)
        results.append(attend(q, k, v, dropout_p=number))
    assert torch.equal(*results)
    with pytest.raises(TypeError, match="scale must be a number, got Tensor"):
        scaled_dot_product_attention(q, k, v, scale=torch.tensor(0.5, requires_grad=True))


@pytest.mark.parametrize("size", [0.12345, 1e6])
def test_a_scale_in_a_tensor_is_not_rounded_by_autocast(size):
    """PyTorch casts what the number multiplies, and not the number."""
    q, k, v = qkv(2, 3, dtype=torch.float32)
    q = q / size
    for dtype in (torch.bfloat16, torch.float16):
        with torch.autocast("cpu", dtype=dtype):
            for function in (
                scaled_dot_product_attention,
                lambda q, k, v, scale: attention_scores(q, k, scale=scale),
                lambda q, k, v, scale: attention_weights(q, k, scale=scale),
            ):
                assert torch.equal(
                    function(q, k, v, scale=torch.tensor(size)), function(q, k, v, scale=size)
                )
            dropped = []
            for dropout_p in (0.12345, torch.tensor(0.12345)):
                torch.manual_seed(0)
                dropped.append(scaled_dot_product_attention(q, k, v, dropout_p=dropout_p))
            assert torch.equal(*dropped)
