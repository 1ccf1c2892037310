"""Attention with a cache, a few tokens at a time, is that of the whole sequence."""

import functools
import warnings
from dataclasses import dataclass

import pytest
import torch
from every import ONE_OF_EACH_CLASS, every_pair

from sdpa_lib import (
    KeyLengthNorm,
    Rescaling,
    RunningDivisor,
    key_lengths,
    scaled_dot_product_attention,
)
from sdpa_lib.rescaling import Function
from sdpa_lib.sampling import sample

LENGTH = 12
STEPS = [[1] * 12, [5, 1, 1, 3, 2], [12]]
BACK = torch.arange(LENGTH).unsqueeze(-1) - torch.arange(LENGTH)
CAUSAL = BACK >= 0
PADDED = CAUSAL & (torch.arange(LENGTH) >= torch.tensor([0, 3]).view(2, 1, 1, 1))  # on the left


def qkv(heads=2, key_heads=2):
    shapes = ((2, heads, LENGTH, 8), (2, key_heads, LENGTH, 8), (2, key_heads, LENGTH, 8))
    return [sample(*shape, seed=3, stream=i, device="cpu") for i, shape in enumerate(shapes)]


def in_steps(q, k, v, running, steps, mask=CAUSAL):
    """The output, with a cache that grows, that slides with a window, or, if it is static, that is
    as long as the sequence from the start and holds in its empty places what a mask must hide.
    """
    rows, last = [], 0
    for step in steps:
        first, last = last, last + step
        running.append(k[..., first:last, :])
        start = max(0, first - (running.window or LENGTH) + 1)
        places = slice(0, LENGTH) if running.static else slice(start, last)
        keys = k.where(torch.arange(LENGTH).unsqueeze(-1) < last, 7.0)
        rows.append(
            scaled_dot_product_attention(
                q[..., first:last, :],
                keys[..., places, :],
                v[..., places, :],
                mask[..., first:last, places],
                rescaling=running,
                enable_gqa=True,
            )
        )
    return torch.cat(rows, dim=-2)


def whole(q, k, v, rescaling, mask=CAUSAL):
    return scaled_dot_product_attention(q, k, v, mask, rescaling=rescaling, enable_gqa=True)


def close(ours, expected):
    torch.testing.assert_close(ours, expected, rtol=1e-10, atol=1e-12)


class OneAHead(Rescaling):
    """A number for each query head, times the root of the mean of the squares of the lengths."""

    name, formula = "one a head", "c"

    def divisor(self, key, visible):
        factors = torch.arange(1.0, 7.0, dtype=key.dtype).view(6, 1, 1)
        return factors * visible.norm(key_lengths(key), 2.0) / visible.count(key).sqrt()


@dataclass(frozen=True)
class LastSeen(Rescaling):
    """The length of the last key that a query sees: of what a mask shows, not of sums."""

    name, formula = "last seen", "c"

    def divisor(self, key, visible):
        seen = visible.matrix(torch.arange(visible.n_rows))
        last = (seen * torch.arange(1, visible.n_keys + 1)).argmax(-1)
        lengths = key_lengths(key).unsqueeze(-2).expand(*key.shape[:-2], last.shape[-1], -1)
        return lengths.take_along_dim(last.unsqueeze(-1).expand(*lengths.shape[:-1], 1), dim=-1)


EVERY = [*ONE_OF_EACH_CLASS, LastSeen()]


@every_pair(rescaling=EVERY, steps=STEPS, mask=[CAUSAL, PADDED], static=[False, True])
def test_a_cache_that_grows_and_one_of_fixed_size(rescaling, steps, mask, static):
    tensors = qkv()
    ours = in_steps(*tensors, RunningDivisor(rescaling, static=static), steps, mask)
    close(ours, whole(*tensors, rescaling, mask))


@every_pair(rescaling=[*EVERY, KeyLengthNorm(300.0)], steps=STEPS, window=[1, 4, 30])
def test_a_cache_that_slides(rescaling, steps, window):
    tensors, mask = qkv(), CAUSAL & (window > BACK)
    running = RunningDivisor(rescaling, window=window)
    close(in_steps(*tensors, running, steps, mask), whole(*tensors, rescaling, mask))


@every_pair(steps=STEPS, key_heads=[1, 2, 6], window=[None, 4])
def test_one_a_head_with_grouped_queries(steps, key_heads, window):
    tensors, mask = qkv(6, key_heads), CAUSAL & ((window or LENGTH) > BACK)
    running = RunningDivisor(OneAHead(), window=window)
    close(in_steps(*tensors, running, steps, mask), whole(*tensors, OneAHead(), mask))


def appended(*lengths, rescaling="k_total", **options):
    """One to which the keys that ``qkv`` gives were appended, so many at a time."""
    _, k, _ = qkv()
    running = RunningDivisor(rescaling, **options)
    for new in k[..., : sum(lengths), :].split(lengths, dim=-2):
        running.append(new)
    return running, k


def test_earlier_keys_are_not_read_again():
    running, k = appended(5, 2)
    spoilt = torch.full_like(k[..., :7, :], torch.nan)
    close(running(spoilt), KeyLengthNorm(1.0)(k[..., :7, :]))


def test_the_last_rows_of_a_prompt_may_be_asked_alone():
    q, k, v = qkv()
    running, _ = appended(LENGTH)
    last = scaled_dot_product_attention(q[..., -1:, :], k, v, rescaling=running)
    close(last, whole(q, k, v, "k_total")[..., -1:, :])


@pytest.mark.parametrize("steps", [[9], [4, 1, 1, 1, 2]])
def test_what_was_appended_can_be_taken_back(steps):
    running, k = appended(*steps)
    for n_keys in (9, 7, 3):
        running.crop(n_keys)
        close(running(k[..., :n_keys, :]), KeyLengthNorm(1.0)(k[..., :n_keys, :]))
    running.append(k[..., 3:5, :])
    close(running(k[..., :5, :]), KeyLengthNorm(1.0)(k[..., :5, :]))


def test_a_window_can_take_back_what_was_appended_last():
    running, k = appended(7, 3, window=4)
    running.crop(8)
    running.append(k[..., 8:9, :])
    close(running(k[..., 5:9, :]), KeyLengthNorm(1.0)(k[..., 5:9, :]))
    running.append(k[..., 9:, :])
    with pytest.raises(ValueError, match=r"n_keys must lie between 9 and 12, got 8.*last 6 held"):
        running.crop(8)


def test_sequences_of_a_batch_are_reordered():
    running, k = appended(5)
    for index in ([1, 0], [0, 0, 1], [2]):
        running.reorder(torch.tensor(index))
        k = k[index]
        close(running(k[..., :5, :]), KeyLengthNorm(1.0)(k[..., :5, :]))


def test_a_reset_begins_anew():
    running, _ = appended(5)
    running.reset()
    assert repr(running) == repr(RunningDivisor("k_total"))
    with pytest.raises(ValueError, match="append must be given the new keys"):
        running(torch.ones(1, 4))
    running.append(torch.ones(1, 4))
    assert running(torch.ones(1, 4)).item() == 2.0
    assert repr(running).endswith("keys (1, 4))")


def test_its_repr_says_how_far_it_is():
    assert repr(RunningDivisor("k_rss")).endswith("(KeyLengthNorm(p=2.0); no keys)")
    assert "keys (2, 2, 7, 8)" in repr(appended(5, 2)[0])
    assert "window=3; keys (2, 2, 7, 8), the last 4 held" in repr(appended(5, 2, window=3)[0])


@pytest.mark.parametrize(
    ("options", "came", "message"),
    [
        ({}, (2, 2, 8, 8), r"must hold the 7 keys that were appended, got 8"),
        ({}, (2, 2, 6, 8), r"must hold the 7 keys that were appended, got 6"),
        ({"static": True}, (2, 2, 6, 8), r"must hold the 7 keys"),
        ({"window": 4}, (2, 2, 7, 8), r"must hold the 5 keys that were appended, got 7"),
        ({}, (2, 2, 7, 4), r"shape \(2, 2, S, 8\) of those .* got \(2, 2, 7, 4\)"),
        ({}, (2, 3, 7, 8), r"shape \(2, 2, S, 8\) of those .* got \(2, 3, 7, 8\)"),
        ({}, (1, 2, 7, 8), r"shape \(2, 2, S, 8\) of those .* got \(1, 2, 7, 8\)"),
    ],
)
def test_a_cache_that_is_not_what_was_appended_is_refused(options, came, message):
    running, _ = appended(5, 2, **options)
    key = torch.ones(came, dtype=torch.float64)
    with pytest.raises(ValueError, match=f"key .*{message}"):
        scaled_dot_product_attention(key, key, key, rescaling=running)
    if "shape" in message:
        with pytest.raises(ValueError, match=f"key .*{message}"):
            running.append(key)
        assert "(2, 2, 7, 8)" in repr(running)


def other(k):
    """Keys of another layer."""
    return k.flip(-2)


@pytest.mark.parametrize(
    ("options", "places", "wrong"),
    [
        ({}, slice(0, 6), other),
        ({}, slice(0, 6), lambda k: k[[1, 0]]),  # reordered
        ({}, slice(0, 6), lambda k: torch.cat([k[..., :4, :], k[..., 6:, :]], -2)),
        ({"static": True}, slice(0, 6), lambda k: k.roll(-1, dims=-2)),  # as if one more had come
        ({"window": 4}, slice(2, 6), lambda k: k.roll(-1, dims=-2)),
        ({"window": 4}, slice(2, 6), lambda k: k.roll(1, dims=-2)),
    ],
)
def test_a_cache_that_holds_other_keys_is_refused(options, places, wrong):
    running, k = appended(5, 1, **options)
    with pytest.raises(ValueError, match=r"key must hold what was appended, keys \(2, 2, 6, 8\)"):
        running(wrong(k)[..., places, :])


def test_a_cache_is_looked_at_again_at_the_latest_sixteen_keys_later():
    running, k = appended(6)
    running(k[..., :6, :])
    for n_keys in range(7, 23):
        running.append(torch.ones(2, 2, 1, 8, dtype=k.dtype))
        wrong = torch.full((2, 2, n_keys, 8), 2.0, dtype=k.dtype)
        if n_keys < 22:
            running(wrong)
    with pytest.raises(ValueError, match="got others among the last"):
        running(wrong)
    running.crop(6)
    running(k[..., :6, :])


def test_a_key_that_was_appended_twice_is_missed_in_a_window():
    running, k = appended(6, window=4)
    running.append(k[..., 5:6, :])
    with pytest.raises(ValueError, match="got others among the last"):
        running(k[..., 2:6, :])


@pytest.mark.parametrize("mask", [None, torch.arange(LENGTH) <= 6])
def test_empty_places_must_be_hidden(mask):
    running, k = appended(6, static=True)
    with pytest.raises(ValueError, match=r"attn_mask must hide the 6 empty places of the cache"):
        scaled_dot_product_attention(k[..., 5:6, :], k, k, mask, rescaling=running)


def test_causal_order_from_the_first_key_on_is_for_a_whole_prompt():
    running, k = appended(6)
    scaled_dot_product_attention(*[k[..., :6, :]] * 3, is_causal=True, rescaling=running)
    with pytest.raises(ValueError, match="is_causal must be False for 2 queries on 6 keys"):
        scaled_dot_product_attention(
            k[..., 4:6, :], *[k[..., :6, :]] * 2, is_causal=True, rescaling=running
        )


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda r: RunningDivisor(r), TypeError, "rescaling must be none that remembers keys"),
        (lambda _: RunningDivisor("k_rss", static=True, window=4), ValueError, "static and window"),
        (lambda r: r.reorder([1, 0]), TypeError, r"index must be whole numbers .*got \[1, 0\]"),
        (lambda r: r.reorder(torch.ones(2)), TypeError, "index must be whole numbers"),
        (lambda r: r.reorder(torch.eye(2).long()), TypeError, "index must be whole numbers"),
    ],
)
def test_what_cannot_be_asked_of_it(call, error, message):
    with pytest.raises(error, match=message):
        call(appended(6)[0])


def test_lengths_that_are_kept_must_not_be_changed():
    def doubled(key, visible):
        return visible.max(key_lengths(key).mul_(2.0))

    running, k = appended(6, rescaling=doubled)
    with pytest.raises(RuntimeError, match="doubled must not change what key_lengths gives"):
        running(k[..., :6, :])


def test_under_inference_mode():
    with torch.inference_mode():
        running, k = appended(6)
        close(running(k[..., :6, :]), KeyLengthNorm(1.0)(k[..., :6, :]))


def test_gradients_reach_all_keys():
    key, running = torch.ones(3, 4, requires_grad=True), RunningDivisor("k_total")
    running.append(key[:2])
    running.append(key[2:])
    running(key).sum().backward()
    assert key.grad.unique().tolist() == [0.5]


def test_a_divisor_that_reads_the_keys_is_right_and_says_once_that_it_does():
    class Largest(Rescaling):
        name, formula = "sum of largest", "c"

        def divisor(self, key, visible):
            return visible.sum(key.abs().amax(-1))

    tensors = qkv()
    with pytest.warns(UserWarning, match=r"Largest\.divisor reads the keys"):
        ours = in_steps(*tensors, RunningDivisor(Largest()), STEPS[1])
    close(ours, whole(*tensors, Largest()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rescaling in (Largest(), *EVERY):
            in_steps(*tensors, RunningDivisor(rescaling), STEPS[1])


MODES = [torch.inference_mode, torch.no_grad, torch.enable_grad]


@pytest.mark.parametrize("window", [None, 4])
@every_pair(first=MODES, then=MODES, rescaling=["k_total", LastSeen()])
def test_a_cache_may_be_filled_in_one_mode_and_continued_in_another(first, then, window, rescaling):
    q, k, v = qkv()
    q.requires_grad_()
    running = RunningDivisor(rescaling, window=window)
    held = slice(max(0, 9 - (window or 9)), 9)
    with first():
        running.append(k[..., :3, :])
        running.reorder(torch.tensor([1, 0]))
        for new in k.flip(0)[..., 3:5, :].split(1, dim=-2):  # from here on there is room
            running.append(new)
    with then():
        for new in k.flip(0)[..., 5:9, :].split(1, dim=-2):
            running.append(new)
        tensors = q[..., 8:9, :], k.flip(0)[..., held, :], v[..., held, :]
        ours = scaled_dot_product_attention(*tensors, rescaling=running)
        close(ours, scaled_dot_product_attention(*tensors, rescaling=rescaling))
        if then is torch.enable_grad:
            torch.autograd.grad(ours.sum(), q)


def test_the_number_of_a_sequence_must_be_one_of_the_batch():
    running, k = appended(5)
    for index in ([2], [0, -1], [0, 5]):
        with pytest.raises(ValueError, match=r"numbers from 0 to 1, .* got tensor"):
            running.reorder(torch.tensor(index))
    close(running(k[..., :5, :]), KeyLengthNorm(1.0)(k[..., :5, :]))


def test_each_function_that_reads_the_keys_is_told_of_once():
    """All lambdas have one name, and a step may make the same one anew."""

    def largest(key, visible, *, power=1):
        return visible.max(key.abs().amax(-1)) ** power

    def measuring(key, visible):
        return visible.max(key_lengths(key))

    functions = {
        "largest": lambda: functools.partial(largest, power=2),
        "<lambda>": lambda: lambda key, visible: visible.max(key.abs().amax(-1)),
        "another": lambda: 2 * Function(lambda key, visible: visible.sum(key.norm(dim=-1))),
        "none": lambda: measuring,
        "nor": lambda: lambda key, visible: visible.max(key_lengths(key)),
    }
    k, messages = qkv()[1], {}
    for name, make in functions.items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(3):
                running = RunningDivisor(make())
                running.append(k)
                running(k)
        messages[name] = [str(warning.message) for warning in caught]
    assert {name: len(each) for name, each in messages.items()} == {
        "largest": 1,
        "<lambda>": 1,
        "another": 1,
        "none": 0,
        "nor": 0,
    }
    assert messages["<lambda>"][0].startswith("<lambda> (")
    assert "test_decoding.py:" in messages["another"][0]
