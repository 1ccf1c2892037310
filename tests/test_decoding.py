"""Attention with a cache, a few tokens at a time, is that of the whole sequence."""

import pytest
import torch
from every import EVERY_CLASS, ONE_OF_EACH_CLASS, every_pair

from sdpa_lib import (
    KeyLengthNorm,
    Rescaling,
    RunningDivisor,
    key_lengths,
    sample,
    scaled_dot_product_attention,
)

LENGTH = 12
STEPS = [[1] * 12, [5, 1, 1, 3, 2], [12]]
BACK = torch.arange(LENGTH).unsqueeze(-1) - torch.arange(LENGTH)
CAUSAL = BACK >= 0


def qkv(heads=2, key_heads=2):
    shapes = ((2, heads, LENGTH, 8), (2, key_heads, LENGTH, 8), (2, key_heads, LENGTH, 8))
    return [sample(*shape, seed=3, stream=i, device="cpu") for i, shape in enumerate(shapes)]


def in_steps(q, k, v, running, steps, mask=CAUSAL, window=LENGTH, fixed=False, visible=None):
    """The output, with a cache that grows, that slides with a window, or that is as long as the
    sequence from the start and holds in its empty places what a mask must hide.
    """
    rows, last = [], 0
    for step in steps:
        first, last = last, last + step
        running.append(k[..., first:last, :], None if visible is None else visible(first, last))
        kept = slice(0, LENGTH) if fixed else slice(max(0, first - window + 1), last)
        keys = k.where(torch.arange(LENGTH).unsqueeze(-1) < last, 7.0)
        rows.append(
            scaled_dot_product_attention(
                q[..., first:last, :],
                keys[..., kept, :],
                v[..., kept, :],
                mask[..., first:last, kept],
                rescaling=running,
                enable_gqa=True,
            )
        )
    return torch.cat(rows, dim=-2)


def whole(q, k, v, rescaling, mask=CAUSAL):
    return scaled_dot_product_attention(q, k, v, mask, rescaling=rescaling, enable_gqa=True)


def close(ours, expected):
    torch.testing.assert_close(ours, expected, rtol=1e-10, atol=1e-12)


@every_pair(rescaling=ONE_OF_EACH_CLASS, steps=STEPS, heads=[(2, 2), (6, 2)], fixed=[False, True])
def test_a_cache_that_grows_and_one_of_fixed_size(rescaling, steps, heads, fixed):
    tensors = qkv(*heads)
    ours = in_steps(*tensors, RunningDivisor(rescaling), steps, fixed=fixed)
    close(ours, whole(*tensors, rescaling))


@every_pair(rescaling=[*ONE_OF_EACH_CLASS, KeyLengthNorm(300.0)], steps=STEPS, window=[1, 4, 30])
def test_a_cache_that_slides(rescaling, steps, window):
    tensors, mask = qkv(), CAUSAL & (window > BACK)
    running = RunningDivisor(rescaling, window=window)
    close(in_steps(*tensors, running, steps, mask, window), whole(*tensors, rescaling, mask))


@EVERY_CLASS
@pytest.mark.parametrize("prompt_alone", [False, True])
def test_padding_on_the_left_does_not_count(rescaling, prompt_alone):
    q, k, v = qkv(6, 2)
    real = torch.arange(LENGTH) >= torch.tensor([[0], [3]])  # (batch, tokens)

    def visible(first, last):
        return None if prompt_alone and first > 0 else real[:, None, first:last]

    mask = CAUSAL & real[:, None, None, :]
    padded = in_steps(q, k, v, RunningDivisor(rescaling), STEPS[1], mask, visible=visible)
    close(padded[0], whole(q, k, v, rescaling)[0])
    alone = (x[1, :, 3:] for x in (q, k, v))
    close(padded[1, :, 3:], whole(*alone, rescaling, CAUSAL[3:, 3:]))


class OneAHead(Rescaling):
    """A number for each query head, times the root of the mean of the squares of the lengths."""

    name, formula = "one a head", "c"

    def divisor(self, key, visible):
        factors = torch.arange(1.0, 7.0, dtype=key.dtype).view(6, 1, 1)
        return factors * visible.norm(key_lengths(key), 2.0) / visible.count(key).sqrt()


@every_pair(steps=STEPS, key_heads=[1, 2, 6], window=[None, 4])
def test_one_a_head_with_grouped_queries(steps, key_heads, window):
    tensors = qkv(6, key_heads)
    running = RunningDivisor(OneAHead(), window=window, groups=6 // key_heads)
    mask = CAUSAL & ((window or LENGTH) > BACK)
    close(in_steps(*tensors, running, steps, mask), whole(*tensors, OneAHead(), mask))


class Number(Rescaling):
    """A divisor that depends on no row: one number, or one a head."""

    name, formula = "number", "c"

    def __init__(self, shape):
        self.numbers = torch.rand(shape, dtype=torch.float64) + 1.0

    def divisor(self, key, visible):
        return self.numbers


@pytest.mark.parametrize("shape", [(), (1, 1), (2, 1, 1)])
def test_a_divisor_that_is_the_same_in_every_row(shape):
    tensors, number = qkv(), Number(shape)
    close(in_steps(*tensors, RunningDivisor(number), STEPS[1]), whole(*tensors, number))


@pytest.mark.parametrize("p", [1.0, 2.0, 50.0])
def test_a_thousand_steps_in_float32_are_right_to_rounding(p):
    key = sample(1000, 4, seed=0, device="cpu", dtype=torch.float32) * 1e-9
    running, rescaling = RunningDivisor(KeyLengthNorm(p)), KeyLengthNorm(p)
    for row in key:
        running.append(row[None])
    torch.testing.assert_close(running(key), rescaling(key.double()).float(), rtol=3e-7, atol=0)


def test_gradients_reach_the_keys_that_were_appended_last():
    key, running = torch.ones(3, 4, requires_grad=True), RunningDivisor("k_total")
    running.append(key[:2])
    running.append(key[2:])
    running(key).sum().backward()
    assert [bool(row.any()) for row in key.grad] == [False, False, True]


def test_a_query_needs_the_keys_that_were_appended():
    running = RunningDivisor("k_rss")
    running.append(torch.ones(2, 4))
    keys = torch.ones(3, 4)
    with pytest.raises(ValueError, match="each of the 2 keys that were appended last, got 3 rows"):
        scaled_dot_product_attention(keys, keys, keys, is_causal=True, rescaling=running)
    with pytest.raises(ValueError, match=r"broadcastable to \(..., L, 1\) = \(3, 1\), got shape"):
        scaled_dot_product_attention(keys, keys, keys, rescaling=running)
