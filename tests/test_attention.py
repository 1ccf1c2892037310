"""Attention against torch, against a slow independent reference, and at its edges."""

import math

import pytest
import torch
import torch.nn.functional as F
from every import EVERY_RESCALING, RESCALINGS_OF_EVERY_KIND
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import attention_row, divisor

from sdpa_lib import (
    attention_scores,
    attention_weights,
    get_rescaling,
    sample,
    sample_qkv,
    scaled_dot_product_attention,
)

TOLERANCE = {torch.float64: 1e-12, torch.float32: 2e-6, torch.float16: 2e-3, torch.bfloat16: 2e-2}


def qkv(*batch, n_queries=5, n_keys=7, d_k=8, d_v=6, dtype=torch.float64):
    shapes = ((n_queries, d_k), (n_keys, d_k), (n_keys, d_v))
    return [
        sample(*batch, *shape, seed=1, stream=i, device="cpu", dtype=dtype)
        for i, shape in enumerate(shapes)
    ]


def masks(n_queries, n_keys, dtype):
    boolean = sample(n_queries, n_keys, seed=2, device="cpu") > -0.3
    boolean[1] = False  # a row that sees nothing
    additive = sample(n_queries, n_keys, seed=3, device="cpu", dtype=dtype).masked_fill(
        ~boolean, -math.inf
    )
    return {"none": None, "boolean": boolean, "additive": additive}


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("mask", ["none", "boolean", "additive", "causal"])
@pytest.mark.parametrize("n_queries", [1, 5, 9])
def test_default_agrees_with_torch(dtype, mask, n_queries):
    q, k, v = qkv(2, 3, n_queries=n_queries, dtype=dtype)
    attn_mask = None if mask == "causal" else masks(max(n_queries, 2), 7, dtype)[mask]
    attn_mask = attn_mask if attn_mask is None else attn_mask[:n_queries]
    ours = scaled_dot_product_attention(q, k, v, attn_mask, is_causal=mask == "causal")
    theirs = F.scaled_dot_product_attention(q, k, v, attn_mask, is_causal=mask == "causal")
    assert ours.dtype == dtype
    assert ours.shape == theirs.shape
    torch.testing.assert_close(ours, theirs, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("heads", [(6, 3), (6, 1), (4, 4)])
def test_grouped_queries_agree_with_torch(heads):
    q = sample(2, heads[0], 5, 8, seed=1)
    k, v = sample(2, heads[1], 7, 8, seed=2), sample(2, heads[1], 7, 6, seed=3)
    ours = scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    torch.testing.assert_close(
        ours, F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    )


def test_batch_dimensions_broadcast():
    q, k, v = sample(4, 1, 5, 8, seed=1), sample(3, 7, 8, seed=2), sample(1, 1, 7, 6, seed=3)
    ours = scaled_dot_product_attention(q, k, v)
    expanded = F.scaled_dot_product_attention(
        q.expand(4, 3, 5, 8), k.expand(4, 3, 7, 8), v.expand(4, 3, 7, 6)
    )
    torch.testing.assert_close(ours, expanded)


@EVERY_RESCALING
@pytest.mark.parametrize("mask", ["none", "boolean", "additive", "causal"])
def test_every_rescaling_agrees_with_slow_reference(rescaling, mask):
    q, k, v = qkv()
    attn_mask = None if mask == "causal" else masks(5, 7, q.dtype)[mask]
    output, weights = scaled_dot_product_attention(
        q, k, v, attn_mask, is_causal=mask == "causal", rescaling=rescaling, return_weights=True
    )
    for i in range(5):
        bias = attn_mask[i].tolist() if mask == "additive" else [0.0] * 7
        visible = {"none": [True] * 7, "causal": [j <= i for j in range(7)]}.get(mask) or [
            b > -math.inf for b in bias
        ]
        visible = attn_mask[i].tolist() if mask == "boolean" else visible
        c = divisor(rescaling, k.tolist(), visible)
        finite = [b if sees else 0.0 for b, sees in zip(bias, visible, strict=True)]
        row, blended = attention_row(
            q[i].tolist(), k.tolist(), v.tolist(), divisor=c, visible=visible, bias=finite
        )
        torch.testing.assert_close(weights[i], torch.tensor(row, dtype=q.dtype))
        torch.testing.assert_close(output[i], torch.tensor(blended, dtype=q.dtype))


@EVERY_RESCALING
@pytest.mark.parametrize("is_causal", [False, True])
def test_gradients_of_every_rescaling(rescaling, is_causal):
    inputs = [x.requires_grad_() for x in qkv(n_queries=3, n_keys=4, d_k=3, d_v=2)]
    assert torch.autograd.gradcheck(
        lambda q, k, v: scaled_dot_product_attention(
            q, k, v, is_causal=is_causal, rescaling=rescaling
        ),
        inputs,
    )


@EVERY_RESCALING
@pytest.mark.parametrize("visible_keys", [None, 1])
def test_keys_of_length_zero_give_uniform_weights_and_finite_gradients(rescaling, visible_keys):
    q, _, v = qkv()
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


@EVERY_RESCALING
def test_row_that_sees_nothing_gives_zeros_and_finite_gradients(rescaling):
    q, k, v = (x.requires_grad_() for x in qkv())
    mask = torch.ones(5, 7, dtype=torch.bool)
    mask[2] = False
    output, weights = scaled_dot_product_attention(
        q, k, v, mask, rescaling=rescaling, return_weights=True
    )
    assert torch.equal(output[2], torch.zeros(6, dtype=q.dtype))
    assert torch.equal(weights.sum(-1).round(decimals=12), mask.any(-1).double())
    for gradient in torch.autograd.grad(output.square().sum(), (q, k, v)):
        assert torch.isfinite(gradient).all()


@EVERY_RESCALING
def test_hidden_keys_do_not_count(rescaling):
    q, k, v = qkv()
    mask = torch.arange(7).expand(5, 7) < 4
    hidden = scaled_dot_product_attention(
        q, k.index_fill(0, torch.arange(4, 7), 1e6), v, mask, rescaling=rescaling
    )
    without = scaled_dot_product_attention(q, k[:4], v[:4], rescaling=rescaling)
    torch.testing.assert_close(hidden, without)


@EVERY_RESCALING
def test_causal_rows_see_what_a_shorter_sequence_sees(rescaling):
    q, k, v = qkv(n_queries=7)
    causal = scaled_dot_product_attention(q, k, v, is_causal=True, rescaling=rescaling)
    for i in range(7):
        prefix = scaled_dot_product_attention(
            q[i : i + 1], k[: i + 1], v[: i + 1], rescaling=rescaling
        )
        torch.testing.assert_close(causal[i : i + 1], prefix)


@EVERY_RESCALING
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision_is_computed_in_float32(rescaling, dtype):
    q, k, v = qkv(n_keys=300, d_k=64, dtype=dtype)
    q, k = q * 100, k * 100  # raw scores beyond float16's 65,504
    half = scaled_dot_product_attention(q, k, v, rescaling=rescaling)
    wide = scaled_dot_product_attention(q.double(), k.double(), v.double(), rescaling=rescaling)
    assert (q.double() @ k.double().mT).abs().max() > 65_504
    assert half.dtype == dtype
    # A divisor that is folded rounds the query once more: at scores in the hundreds, a few times
    # the tolerance.
    times = 1 if get_rescaling(rescaling).constant(64) else 10
    torch.testing.assert_close(
        half.double(), wide, rtol=times * TOLERANCE[dtype], atol=times * TOLERANCE[dtype]
    )


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


@given(seed=st.integers(0, 1000), rescaling=st.sampled_from(RESCALINGS_OF_EVERY_KIND))
@settings(deadline=None, max_examples=50)
def test_permuting_the_keys_permutes_the_weights(seed, rescaling):
    q, k, v = sample_qkv(3, 6, 4, seed=seed, device="cpu")
    order = torch.randperm(6, generator=torch.Generator().manual_seed(seed))
    output, weights = scaled_dot_product_attention(
        q, k, v, rescaling=rescaling, return_weights=True
    )
    shuffled, permuted = scaled_dot_product_attention(
        q, k[order], v[order], rescaling=rescaling, return_weights=True
    )
    torch.testing.assert_close(permuted, weights[:, order])
    torch.testing.assert_close(shuffled, output)


@EVERY_RESCALING
def test_nan_in_an_input_shows_in_the_output(rescaling):
    for poisoned in range(3):
        inputs = qkv()
        inputs[poisoned][0, 0] = math.nan
        assert scaled_dot_product_attention(*inputs, rescaling=rescaling).isnan().any()


def test_dropout_drops_and_keeps_the_mean():
    q, k, v = qkv(n_queries=1, n_keys=1, d_v=1)
    q, k, v = (
        q.expand(20_000, 1, 8),
        k.expand(20_000, 1, 8),
        torch.ones(20_000, 1, 1, dtype=q.dtype),
    )
    torch.manual_seed(0)
    output = scaled_dot_product_attention(q, k, v, dropout_p=0.25)
    assert output.unique().tolist() == pytest.approx([0.0, 4 / 3])
    assert output.mean().item() == pytest.approx(1.0, abs=5 * math.sqrt(1 / 3 / 20_000))
    assert torch.equal(scaled_dot_product_attention(q, k, v, dropout_p=1.0), torch.zeros_like(v))


def test_scores_and_weights_on_their_own():
    q, k, v = qkv()
    scores = attention_scores(q, k, is_causal=True)
    torch.testing.assert_close(scores.tril(), (q @ k.mT / math.sqrt(8)).tril())
    assert torch.all(scores.triu(1)[scores.triu(1) != 0] == -math.inf)
    weights = attention_weights(q, k, is_causal=True)
    torch.testing.assert_close(weights, torch.softmax(scores, -1))
    torch.testing.assert_close(weights @ v, scaled_dot_product_attention(q, k, v, is_causal=True))


def test_empty_batches_and_no_queries():
    q, k, v = qkv(0)
    assert scaled_dot_product_attention(q, k, v).shape == (0, 5, 6)
    q, k, v = qkv(n_queries=0)
    assert scaled_dot_product_attention(q, k, v).shape == (0, 6)
