"""Attention with a cache, a few tokens at a time, is that of the whole sequence."""

import pytest
import torch
from every import EVERY_RESCALING
from torch.nn.attention.bias import causal_lower_right

from sdpa_lib import (
    Rescaling,
    RunningDivisor,
    key_lengths,
    sample,
    scaled_dot_product_attention,
)
from sdpa_lib.rescaling import KeyLengthNorm

STEPS = pytest.mark.parametrize("steps", [[1] * 12, [5, 1, 1, 3, 2], [12]], ids=str)


def qkv(heads=2, key_heads=2, length=12):
    shapes = ((2, heads, length, 8), (2, key_heads, length, 8), (2, key_heads, length, 8))
    return (sample(*shape, seed=3, stream=i, device="cpu") for i, shape in enumerate(shapes))


def in_steps(steps, attend):
    """The outputs of ``attend(first, last)`` over the stretches of the sequence, in one."""
    rows, last = [], 0
    for step in steps:
        first, last = last, last + step
        rows.append(attend(first, last))
    return torch.cat(rows, dim=-2)


def check_a_growing_cache(rescaling, divisor, steps):
    """Steps with ``divisor``, which is told of the new keys where it runs along, against the whole
    sequence with ``rescaling``.
    """
    q, k, v = qkv()

    def attend(first, last):
        if isinstance(divisor, RunningDivisor):
            divisor.append(k[..., first:last, :])
        return scaled_dot_product_attention(
            q[..., first:last, :],
            k[..., :last, :],
            v[..., :last, :],
            causal_lower_right(last - first, last),
            rescaling=divisor,
        )

    whole = scaled_dot_product_attention(q, k, v, is_causal=True, rescaling=rescaling)
    torch.testing.assert_close(in_steps(steps, attend), whole, rtol=1e-10, atol=1e-12)


@EVERY_RESCALING
@STEPS
@pytest.mark.parametrize("helped", [True, False])
def test_a_cache_that_grows(rescaling, steps, helped):
    check_a_growing_cache(rescaling, RunningDivisor(rescaling) if helped else rescaling, steps)


@EVERY_RESCALING
@STEPS
@pytest.mark.parametrize("heads", [(2, 2), (6, 2)])
def test_a_cache_of_fixed_size(rescaling, steps, heads):
    """Its empty places hold what a mask must hide."""
    q, k, v = qkv(*heads)
    running, keys, values = RunningDivisor(rescaling), torch.full_like(k, 7.0), torch.zeros_like(v)

    def attend(first, last):
        keys[..., first:last, :], values[..., first:last, :] = (
            x[..., first:last, :] for x in (k, v)
        )
        running.append(k[..., first:last, :])
        mask = torch.arange(first, last).unsqueeze(-1) >= torch.arange(12)
        return scaled_dot_product_attention(
            q[..., first:last, :], keys, values, mask, rescaling=running, enable_gqa=True
        )

    whole = scaled_dot_product_attention(
        q, k, v, is_causal=True, rescaling=rescaling, enable_gqa=True
    )
    torch.testing.assert_close(in_steps(steps, attend), whole, rtol=1e-10, atol=1e-12)


@EVERY_RESCALING
@STEPS
@pytest.mark.parametrize("window", [1, 4, 30])
def test_a_cache_that_slides(rescaling, steps, window):
    q, k, v = qkv()
    running = RunningDivisor(rescaling, window=window)
    back = torch.arange(12).unsqueeze(-1) - torch.arange(12)
    mask = (back >= 0) & (back < window)

    def attend(first, last):
        running.append(k[..., first:last, :])
        kept = slice(max(0, first - window + 1), last)
        return scaled_dot_product_attention(
            q[..., first:last, :],
            k[..., kept, :],
            v[..., kept, :],
            mask[first:last, kept],
            rescaling=running,
        )

    whole = scaled_dot_product_attention(q, k, v, mask, rescaling=rescaling)
    torch.testing.assert_close(in_steps(steps, attend), whole, rtol=1e-10, atol=1e-12)


@EVERY_RESCALING
def test_padding_of_the_prompt_alone_with_grouped_queries(rescaling):
    q, k, v = qkv(6, 2)
    running = RunningDivisor(rescaling)
    real = torch.ones(2, 12, dtype=torch.bool)
    real[1, :3] = False
    mask = torch.ones(12, 12, dtype=torch.bool).tril() & real[:, None, None, :]

    def attend(first, last):
        prompt = real[:, None, first:last] if first == 0 else None
        running.append(k[..., first:last, :], prompt)
        return scaled_dot_product_attention(
            q[..., first:last, :],
            k[..., :last, :],
            v[..., :last, :],
            mask[..., first:last, :last],
            rescaling=running,
            enable_gqa=True,
        )

    whole = scaled_dot_product_attention(q, k, v, mask, rescaling=rescaling, enable_gqa=True)
    padded = in_steps([5, 1, 1, 3, 2], attend)
    torch.testing.assert_close(padded[0], whole[0], rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(padded[1, :, 3:], whole[1, :, 3:], rtol=1e-10, atol=1e-12)


@EVERY_RESCALING
@STEPS
def test_padding_on_the_left_does_not_count(rescaling, steps):
    q, k, v = qkv()
    running = RunningDivisor(rescaling)
    real = torch.arange(12) >= torch.tensor([[0], [3]])  # (batch, tokens)
    mask = torch.ones(12, 12, dtype=torch.bool).tril() & real[:, None, None, :]

    def attend(first, last):
        running.append(k[..., first:last, :], real[:, None, first:last])
        return scaled_dot_product_attention(
            q[..., first:last, :],
            k[..., :last, :],
            v[..., :last, :],
            mask[..., first:last, :last],
            rescaling=running,
        )

    alone = scaled_dot_product_attention(
        *(x[1:, :, 3:] for x in (q, k, v)), is_causal=True, rescaling=rescaling
    )
    padded = in_steps(steps, attend)
    torch.testing.assert_close(padded[1:, :, 3:], alone, rtol=1e-10, atol=1e-12)


class OneAHead(Rescaling):
    """A number for each query head, times the root of the sum of the squares of the lengths."""

    name, formula = "one a head", "c"

    def divisor(self, key, visible):
        factors = torch.arange(1.0, 7.0, dtype=key.dtype).view(6, 1, 1)
        return factors * visible.norm(key_lengths(key), 2.0) / visible.count(key).sqrt()


@STEPS
@pytest.mark.parametrize("key_heads", [1, 2, 6])
@pytest.mark.parametrize("window", [None, 4])
def test_one_a_head_with_grouped_queries(steps, key_heads, window):
    q, k, v = qkv(6, key_heads)
    running = RunningDivisor(OneAHead(), window=window, groups=6 // key_heads)
    back = torch.arange(12).unsqueeze(-1) - torch.arange(12)
    mask = (back >= 0) & (back < (window or 12))

    def attend(first, last):
        running.append(k[..., first:last, :])
        return scaled_dot_product_attention(
            q[..., first:last, :],
            k[..., :last, :],
            v[..., :last, :],
            mask[first:last, :last],
            rescaling=running,
            enable_gqa=True,
        )

    whole = scaled_dot_product_attention(q, k, v, mask, rescaling=OneAHead(), enable_gqa=True)
    torch.testing.assert_close(in_steps(steps, attend), whole, rtol=1e-10, atol=1e-12)


class Number(Rescaling):
    """A divisor that depends on no row: one number, or one a head."""

    name, formula = "number", "c"

    def __init__(self, shape):
        self.numbers = torch.rand(shape, dtype=torch.float64) + 1.0

    def divisor(self, key, visible):
        return self.numbers


@STEPS
@pytest.mark.parametrize("shape", [(), (1, 1), (2, 1, 1)])
def test_a_divisor_that_is_the_same_in_every_row(steps, shape):
    number = Number(shape)
    check_a_growing_cache(number, RunningDivisor(number), steps)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.5, 8.0, 50.0])
def test_thousands_of_steps_in_float32_are_right_to_rounding(p):
    key = sample(3000, 4, seed=0, device="cpu", dtype=torch.float32) * 1e-9
    running, rescaling = RunningDivisor(KeyLengthNorm(p)), KeyLengthNorm(p)
    for row in key:
        running.append(row[None])
    last = running(key)
    torch.testing.assert_close(last, rescaling(key.double()).float(), rtol=3e-7, atol=0)


def test_bad_input():
    with pytest.raises(ValueError, match="append must be given the new keys before"):
        RunningDivisor("k_rss")(torch.ones(1, 4))
    with pytest.raises(ValueError, match="window must be at least 1, got 0"):
        RunningDivisor("k_rss", window=0)
    with pytest.raises(ValueError, match="groups must be at least 1, got 0"):
        RunningDivisor("k_rss", groups=0)
    with pytest.raises(
        TypeError, match=r"visible must be a boolean torch\.Tensor, got torch\.float32"
    ):
        RunningDivisor("k_rss").append(torch.ones(1, 4), torch.ones(1))
    with pytest.raises(ValueError, match=r"key must have shape \(..., T, d_k\), got \(4,\)"):
        RunningDivisor("k_rss").append(torch.ones(4))
    with pytest.raises(ValueError, match=r"key must hold at least one new key, got shape \(0, 4\)"):
        RunningDivisor("k_rss").append(torch.ones(0, 4))
    with pytest.raises(ValueError, match=r"visible must broadcast to .* = \(2,\), got \(3,\)"):
        RunningDivisor("k_rss").append(torch.ones(2, 4), torch.ones(3).bool())
    with pytest.raises(TypeError, match=r"visible must be a boolean torch\.Tensor, got list"):
        RunningDivisor("k_rss").append(torch.ones(2, 4), [True, True])
    running = RunningDivisor("k_rss")
    running.append(torch.ones(2, 4))
    with pytest.raises(ValueError, match="each of the 2 keys that were appended last, got 3 rows"):
        scaled_dot_product_attention(
            *(torch.ones(3, 4) for _ in range(3)), is_causal=True, rescaling=running
        )
    with pytest.raises(ValueError, match=r"broadcastable to \(..., L, 1\) = \(3, 1\), got shape"):
        scaled_dot_product_attention(
            torch.ones(3, 4), torch.ones(5, 4), torch.ones(5, 4), rescaling=running
        )
