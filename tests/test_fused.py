"""The fused path: the same numbers as the textbook's, no L x S matrix, and at home in compile, vmap
and autocast.
"""

import math

import pytest
import torch
import torch.nn.functional as F
from every import EVERY_RESCALING
from torch.utils._python_dispatch import TorchDispatchMode

from sdpa_lib import (
    attention_weights,
    effective_keys,
    entropy,
    largest_weight,
    sample,
    saturation_of_rows,
    scaled_dot_product_attention,
)
from sdpa_lib.visibility import CausalOrder, EveryKey, Masked

TOLERANCE = {torch.float64: 1e-12, torch.float32: 5e-6, torch.float16: 5e-3, torch.bfloat16: 4e-2}
MASKS = ("none", "causal", "boolean", "additive", "hides a row")


def qkv(*batch, n_queries=9, n_keys=11, d_k=16, d_v=16, dtype=torch.float64, heads=None):
    shapes = ((*batch, n_queries, d_k), (*batch, n_keys, d_k), (*batch, n_keys, d_v))
    if heads is not None:
        shapes = tuple((*batch, h, *shape[-2:]) for h, shape in zip(heads, shapes, strict=True))
    return [
        sample(*shape, seed=1, stream=i, device="cpu", dtype=dtype)
        for i, shape in enumerate(shapes)
    ]


def arguments(mask, n_queries=9, n_keys=11, dtype=torch.float64, batch=()):
    boolean = sample(*batch, n_queries, n_keys, seed=2, device="cpu") > -0.5
    boolean[..., 0] = True
    if mask == "hides a row":
        boolean[..., 2, :] = False
        return {"attn_mask": boolean}
    additive = sample(*batch, n_queries, n_keys, seed=3, device="cpu", dtype=dtype).masked_fill(
        ~boolean, -math.inf
    )
    return {
        "none": {},
        "causal": {"is_causal": True},
        "boolean": {"attn_mask": boolean},
        "additive": {"attn_mask": additive},
    }[mask]


def textbook(q, k, v, rescaling, **given):
    """The library's own textbook path in float64."""
    given = {
        name: x.double() if isinstance(x, torch.Tensor) and x.is_floating_point() else x
        for name, x in given.items()
    }
    return scaled_dot_product_attention(
        q.double(), k.double(), v.double(), rescaling=rescaling, return_weights=True, **given
    )[0]


@EVERY_RESCALING
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("mask", MASKS)
def test_agrees_with_the_textbook_in_float64(rescaling, dtype, mask):
    q, k, v = qkv(2, 3, dtype=dtype)
    given = arguments(mask, dtype=dtype)
    ours = scaled_dot_product_attention(q, k, v, rescaling=rescaling, **given)
    assert ours.dtype == dtype
    expected = textbook(q, k, v, rescaling, **given)
    torch.testing.assert_close(
        ours.double(), expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype]
    )


@EVERY_RESCALING
@pytest.mark.parametrize("mask", MASKS)
def test_gradients_agree_with_the_textbook(rescaling, mask):
    given = arguments(mask)
    gradients = []
    for attention in (textbook, scaled_dot_product_attention):
        inputs = [x.requires_grad_() for x in qkv(2, 3)]
        upstream = sample(2, 3, 9, 16, seed=4, device="cpu")
        gradients.append(
            torch.autograd.grad(attention(*inputs, rescaling=rescaling, **given), inputs, upstream)
        )
    for ours, expected in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-9, atol=1e-11)


@EVERY_RESCALING
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("heads", [(6, 2, 2), (4, 1, 1)])
def test_grouped_queries(rescaling, mask, heads):
    q, k, v = qkv(2, heads=heads)
    given = arguments(mask)
    ours = scaled_dot_product_attention(q, k, v, rescaling=rescaling, enable_gqa=True, **given)
    repeated = (x.repeat_interleave(heads[0] // heads[1], dim=-3) for x in (k, v))
    torch.testing.assert_close(
        ours, textbook(q, *repeated, rescaling, **given), rtol=1e-10, atol=1e-11
    )


@EVERY_RESCALING
@pytest.mark.parametrize("mask", MASKS)
def test_grouped_queries_whose_batches_broadcast(rescaling, mask):
    q, k, v = qkv(2, heads=(6, 2, 2))
    given = arguments(mask)
    ours = scaled_dot_product_attention(
        q, k[:1], v[:1], rescaling=rescaling, enable_gqa=True, **given
    )
    repeated = (x[:1].expand(2, -1, -1, -1).repeat_interleave(3, dim=-3) for x in (k, v))
    torch.testing.assert_close(
        ours, textbook(q, *repeated, rescaling, **given), rtol=1e-10, atol=1e-11
    )


@EVERY_RESCALING
@pytest.mark.parametrize("batch", [(1, 3), (2, 1), (2, 3)])
def test_masks_of_a_batch(rescaling, batch):
    q, k, v = qkv(2, 3)
    given = arguments("boolean", batch=batch)
    ours = scaled_dot_product_attention(q, k, v, rescaling=rescaling, **given)
    torch.testing.assert_close(ours, textbook(q, k, v, rescaling, **given), rtol=1e-10, atol=1e-11)


@EVERY_RESCALING
@pytest.mark.parametrize(("n_queries", "n_keys"), [(1, 11), (9, 1), (4, 9), (9, 4)])
@pytest.mark.parametrize("is_causal", [False, True])
def test_one_query_one_key_and_unequal_lengths(rescaling, n_queries, n_keys, is_causal):
    q, k, v = qkv(2, n_queries=n_queries, n_keys=n_keys)
    ours = scaled_dot_product_attention(q, k, v, rescaling=rescaling, is_causal=is_causal)
    torch.testing.assert_close(
        ours, textbook(q, k, v, rescaling, is_causal=is_causal), rtol=1e-10, atol=1e-11
    )


@EVERY_RESCALING
@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0)])
def test_batches_of_nothing(rescaling, shape):
    q, k, v = qkv(*shape)
    assert scaled_dot_product_attention(q, k, v, rescaling=rescaling).shape == (*shape, 9, 16)


@EVERY_RESCALING
def test_inputs_that_are_not_contiguous(rescaling):
    q, k, v = (
        sample(2, length, 3, 16, seed=5, stream=i, device="cpu").transpose(1, 2)
        for i, length in enumerate((9, 11, 11))
    )
    assert not q.is_contiguous()
    ours = scaled_dot_product_attention(q, k, v, rescaling=rescaling)
    torch.testing.assert_close(ours, textbook(q, k, v, rescaling), rtol=1e-10, atol=1e-11)


class LargestTensor(TorchDispatchMode):
    """The number of entries of the largest tensor that an operation gives."""

    entries = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for x in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(x, torch.Tensor):
                self.entries = max(self.entries, x.untyped_storage().nbytes() // x.element_size())
        return result


@EVERY_RESCALING
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("is_causal", [False, True])
def test_no_matrix_of_queries_by_keys_is_made(rescaling, dtype, is_causal):
    q, k, v = qkv(1, 2, n_queries=2048, n_keys=2048, dtype=dtype)
    with LargestTensor() as seen:
        scaled_dot_product_attention(q, k, v, rescaling=rescaling, is_causal=is_causal)
    assert seen.entries <= q.numel()
    with LargestTensor() as seen:
        scaled_dot_product_attention(
            q, k, v, rescaling=rescaling, is_causal=is_causal, return_weights=True
        )
    assert seen.entries >= 2 * 2048 * 2048


@EVERY_RESCALING
def test_float16_keeps_its_digits_over_many_keys(rescaling):
    """With 20,000 keys k_total is near 10^5: the folded query is neither lost below float16's range
    nor above it.
    """
    q, k, v = qkv(n_queries=4, n_keys=20_000, dtype=torch.float16)
    v[:, 0] += 100 * k[:, 0]  # an output that shows whether the scores still follow the query
    ours = scaled_dot_product_attention(
        q[None, None], k[None, None], v[None, None], rescaling=rescaling
    )
    torch.testing.assert_close(
        ours[0, 0].double(), textbook(q, k, v, rescaling), rtol=1e-2, atol=5e-3
    )


@EVERY_RESCALING
@pytest.mark.parametrize("is_causal", [False, True])
def test_under_compile_without_a_graph_break(rescaling, is_causal):
    torch.compiler.reset()  # each rescaling is a graph of its own, and torch keeps eight
    compiled = torch.compile(
        scaled_dot_product_attention, fullgraph=True, backend="aot_eager", dynamic=False
    )
    q, k, v = qkv(1, 2, dtype=torch.float32)
    ours = compiled(q, k, v, rescaling=rescaling, is_causal=is_causal)
    torch.testing.assert_close(
        ours, scaled_dot_product_attention(q, k, v, rescaling=rescaling, is_causal=is_causal)
    )


@pytest.mark.filterwarnings(
    "ignore:There is a performance drop"
)  # PyTorch's kernel on the CPU has no batching rule of its own
@EVERY_RESCALING
def test_under_vmap(rescaling):
    q, k, v = qkv(4, 2, 3)
    mapped = torch.func.vmap(
        lambda q, k, v: scaled_dot_product_attention(q, k, v, rescaling=rescaling)
    )(q, k, v)
    torch.testing.assert_close(mapped, scaled_dot_product_attention(q, k, v, rescaling=rescaling))


@EVERY_RESCALING
def test_under_autocast(rescaling):
    q, k, v = qkv(2, 3, dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        ours = scaled_dot_product_attention(q, k, v, rescaling=rescaling)
    assert ours.dtype == torch.bfloat16
    torch.testing.assert_close(ours.double(), textbook(q, k, v, rescaling), rtol=4e-2, atol=4e-2)


def test_running_sums_are_those_of_the_triangle():
    per_key = sample(2, 3, 11, seed=6, device="cpu").abs()
    for n_queries in (1, 7, 11, 15):
        triangle = torch.ones(n_queries, 11, dtype=torch.bool).tril()
        torch.testing.assert_close(
            CausalOrder(n_queries, 11).sum(per_key), Masked(triangle, 11).sum(per_key)
        )
        torch.testing.assert_close(
            CausalOrder(n_queries, 11).count(per_key), triangle.sum(-1, keepdim=True).double()
        )
    torch.testing.assert_close(EveryKey(11).sum(per_key), per_key.sum(-1)[..., None, None])


@EVERY_RESCALING
@pytest.mark.parametrize("mask", ["none", "causal", "boolean", "additive"])
@pytest.mark.parametrize("entries", [1, 100, 2**22])
def test_saturation_in_blocks_is_that_of_the_whole(rescaling, mask, entries):
    q, k, _ = qkv(2, 3)
    given = arguments(mask)
    weights = attention_weights(q, k, rescaling=rescaling, **given)
    rows = saturation_of_rows(q, k, rescaling=rescaling, entries=entries, **given)
    torch.testing.assert_close(rows.largest_weight, largest_weight(weights))
    torch.testing.assert_close(rows.entropy, entropy(weights))
    torch.testing.assert_close(rows.effective_keys, effective_keys(weights))


def test_saturation_of_a_long_sequence_stores_no_matrix():
    q, k, _ = qkv(n_queries=3000, n_keys=3000)
    with LargestTensor() as seen:
        saturation_of_rows(q, k, is_causal=True, entries=2**18)
    assert seen.entries <= 2**18
    with pytest.raises(ValueError, match="attn_mask must let every row see a key"):
        saturation_of_rows(q[:9], k[:11], arguments("hides a row")["attn_mask"])
    with pytest.raises(ValueError, match="entries must be at least 1, got 0"):
        saturation_of_rows(q, k, entries=0)


def test_dropout_without_weights_keeps_the_mean():
    q, k, v = qkv(1, 1, n_queries=200, n_keys=50)
    torch.manual_seed(0)
    dropped = torch.stack(
        [scaled_dot_product_attention(q, k, v, dropout_p=0.3) for _ in range(200)]
    )
    kept = F.scaled_dot_product_attention(q, k, v)
    error = dropped.std(0) / math.sqrt(len(dropped))
    assert ((dropped.mean(0) - kept).abs() < 5.5 * error).all()
