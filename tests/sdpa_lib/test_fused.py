"""Every rescaling against its definition, with and without the matrix; memory, vmap, and how sharp
the weights of a long sequence are.
"""

import pytest
import torch
from every import EVERY_CLASS, ONE_OF_EACH_CLASS, RESCALINGS_OF_EVERY_KIND, every_pair
from reference import MASKS, arguments, attention, close, outputs, qkv, textbook
from torch.utils._python_dispatch import TorchDispatchMode

from sdpa_lib import (
    _rows,
    attention_weights,
    effective_keys,
    entropy,
    largest_weight,
    scaled_dot_product_attention,
)
from sdpa_lib.sampling import sample
from sdpa_lib.saturation import saturation_of_rows

TOLERANCE = {torch.float64: 1e-12, torch.float32: 5e-6, torch.float16: 5e-3, torch.bfloat16: 4e-2}


@every_pair(rescaling=RESCALINGS_OF_EVERY_KIND, dtype=TOLERANCE, mask=MASKS)
def test_agrees_with_the_textbook_in_float64(rescaling, dtype, mask):
    q, k, v = qkv(2, 3, dtype=dtype)
    given = arguments(mask, dtype=dtype)
    expected, expected_weights = attention(q, k, v, rescaling, **given)
    ours = scaled_dot_product_attention(q, k, v, rescaling=rescaling, **given)
    also, weights = scaled_dot_product_attention(
        q, k, v, rescaling=rescaling, return_weights=True, **given
    )
    assert {x.dtype for x in (ours, also, weights)} == {dtype}
    close((ours, also), expected, by=TOLERANCE[dtype])
    close(weights, expected_weights, by=TOLERANCE[dtype])


@EVERY_CLASS
@pytest.mark.parametrize("mask", MASKS)
def test_gradients_agree_with_the_textbook(rescaling, mask):
    upstream = sample(2, 3, 9, 16, seed=4, device="cpu")
    inputs, given = [x.requires_grad_() for x in qkv(2, 3)], arguments(mask)
    expected, *both = (
        torch.autograd.grad(output, inputs, upstream)
        for output in (
            textbook(*inputs, rescaling=rescaling, **given),
            *outputs(*inputs, rescaling=rescaling, **given),
        )
    )
    for gradients in both:
        for ours, theirs in zip(gradients, expected, strict=True):
            close(ours, theirs, by=1e-9)


@every_pair(rescaling=ONE_OF_EACH_CLASS, mask=MASKS, key_batch=[1, 2])
def test_grouped_queries(rescaling, mask, key_batch):
    q, k, v = qkv(2, heads=(6, 2))
    k, v, given = k[:key_batch], v[:key_batch], arguments(mask)
    repeated = (x.expand(2, -1, -1, -1).repeat_interleave(3, dim=-3) for x in (k, v))
    ours = outputs(q, k, v, rescaling=rescaling, enable_gqa=True, **given)
    close(ours, textbook(q, *repeated, rescaling, **given))


@every_pair(
    rescaling=ONE_OF_EACH_CLASS, lengths=[(1, 11), (9, 1), (4, 9), (9, 4)], is_causal=[False, True]
)
def test_one_query_one_key_and_unequal_lengths(rescaling, lengths, is_causal):
    q, k, v = qkv(2, n_queries=lengths[0], n_keys=lengths[1])
    ours = outputs(q, k, v, rescaling=rescaling, is_causal=is_causal)
    close(ours, textbook(q, k, v, rescaling, is_causal=is_causal))


class LargestTensor(TorchDispatchMode):
    """The number of entries of the largest tensor that an operation gives."""

    entries = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for x in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(x, torch.Tensor):
                self.entries = max(self.entries, x.untyped_storage().nbytes() // x.element_size())
        return result


@EVERY_CLASS
@pytest.mark.parametrize("is_causal", [False, True])
def test_no_matrix_of_queries_by_keys_is_made(rescaling, is_causal):
    q, k, v = qkv(1, 2, n_queries=512, n_keys=512, dtype=torch.bfloat16)
    given = {"rescaling": rescaling, "is_causal": is_causal}
    with LargestTensor() as seen:
        scaled_dot_product_attention(q, k, v, **given)
    assert seen.entries <= q.numel()
    with LargestTensor() as seen:
        scaled_dot_product_attention(q, k, v, return_weights=True, **given)
    assert seen.entries >= 2 * 512 * 512


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # no batching rule on the CPU
@EVERY_CLASS
def test_under_vmap(rescaling):
    q, k, v = qkv(4, 2, 3)
    mapped = torch.func.vmap(
        lambda q, k, v: scaled_dot_product_attention(q, k, v, rescaling=rescaling)
    )(q, k, v)
    torch.testing.assert_close(mapped, scaled_dot_product_attention(q, k, v, rescaling=rescaling))


@every_pair(rescaling=ONE_OF_EACH_CLASS, mask=MASKS[:-1], entries=[1, 100, _rows.ENTRIES])
def test_saturation_in_blocks_is_that_of_the_whole(rescaling, mask, entries, monkeypatch):
    monkeypatch.setattr(_rows, "ENTRIES", entries)
    q, k, _ = qkv(2, 3)
    given = arguments(mask)
    weights = attention_weights(q, k, rescaling=rescaling, **given)
    rows = saturation_of_rows(q, k, rescaling=rescaling, **given)
    torch.testing.assert_close(rows.largest_weight, largest_weight(weights))
    torch.testing.assert_close(rows.entropy, entropy(weights))
    torch.testing.assert_close(rows.effective_keys, effective_keys(weights))


def test_saturation_with_grouped_queries():
    q, k, _ = qkv(2, heads=(6, 2))
    repeated = saturation_of_rows(q, k.repeat_interleave(3, dim=-3), rescaling="k_rss")
    grouped = saturation_of_rows(q, k, rescaling="k_rss", enable_gqa=True)
    torch.testing.assert_close(tuple(grouped), tuple(repeated))


def test_saturation_under_autocast_is_that_of_what_autocast_makes():
    q, k, _ = qkv(2, 3, dtype=torch.float32)
    expected = saturation_of_rows(q.bfloat16(), k.bfloat16(), rescaling="k_rss")
    with torch.autocast("cpu"):
        saturation = saturation_of_rows(q, k, rescaling="k_rss")
    torch.testing.assert_close(tuple(saturation), tuple(expected), rtol=0, atol=0)


def test_saturation_of_a_long_sequence_stores_no_matrix():
    q, k, _ = qkv(n_queries=800, n_keys=800)
    with LargestTensor() as seen:
        saturation_of_rows(q, k, is_causal=True)
    assert seen.entries <= _rows.ENTRIES < 800 * 800
    mask = arguments("hides a row")["attn_mask"]
    with pytest.raises(ValueError, match="attn_mask must let every row see a key"):
        saturation_of_rows(q[:9], k[:11], mask)
    unknown = torch.zeros(800, 800, dtype=q.dtype)
    unknown[2, 3] = torch.nan
    with pytest.raises(ValueError, match="query and key must have scores that fit"):
        saturation_of_rows(q, k, unknown)
