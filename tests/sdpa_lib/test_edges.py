"""Where attention was once silently wrong, or other than PyTorch's: masks of large numbers, half
precision, NaN, broken divisors, compiled graphs of any length, and memory.
"""

import math

import pytest
import torch
import torch.nn.functional as F
from every import EVERY_CLASS, ONE_OF_EACH_CLASS, RESCALINGS_OF_EVERY_KIND, every_pair, name
from reference import Given, close, outputs, qkv, textbook
from test_fused import LargestTensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import Dim
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.nn.attention.bias import causal_lower_right, causal_upper_left

from sdpa_lib import (
    KeyLengthNorm,
    RunningDivisor,
    attention_gradients,
    attention_scores,
    attention_weights,
    key_lengths,
    scaled_dot_product_attention,
)
from sdpa_lib.sampling import sample
from sdpa_lib.saturation import saturation_of_rows
from sdpa_lib.transformers import attention_function
from sdpa_lib.visibility import HIDES, CausalOrder, EveryKey, Masked

FROM_KEYS = ["k_total", "k_mean", "k_rss", "k_norm_4", "n_sqrt_d_k"]
HALF = (torch.float16, torch.bfloat16)


# Masks


@every_pair(
    rescaling=ONE_OF_EACH_CLASS,
    dtype=[torch.float32, *HALF],
    hidden=["inf", "min", -1e9, -1e4],
)
def test_every_way_to_write_a_mask_hides(rescaling, dtype, hidden):
    q, k, v = qkv(2, 4, n_queries=16, n_keys=16, dtype=dtype)
    number = {"inf": -math.inf, "min": torch.finfo(dtype).min}.get(hidden, hidden)
    number = max(number, torch.finfo(dtype).min) if hidden == -1e9 else number
    causal = torch.ones(16, 16, dtype=torch.bool).tril()
    mask = torch.zeros(16, 16, dtype=dtype).masked_fill(~causal, number)
    ours = outputs(q, k, v, mask, rescaling=rescaling)
    tolerance = 1e-5 if dtype == torch.float32 else 4e-2
    close(ours, textbook(q, k, v, rescaling, is_causal=True), by=tolerance)


@EVERY_CLASS
def test_a_bias_that_is_not_that_low_hides_nothing(rescaling):
    q, k, _ = qkv(2, 3)
    bias = -9000.0 * torch.rand(9, 11, dtype=torch.float64)
    scores = attention_scores(q, k, bias, rescaling=rescaling)
    torch.testing.assert_close(scores, attention_scores(q, k, rescaling=rescaling) + bias)


@pytest.mark.parametrize("rescaling", ["sqrt_d_k", "k_total"])
@pytest.mark.parametrize("batch", [(), (2,), (1, 2)], ids=str)
@pytest.mark.parametrize("of_mask", ["of query", torch.float32, torch.bool], ids=str)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, *HALF], ids=str)
def test_a_mask_of_every_dtype_that_is_allowed(dtype, of_mask, batch, rescaling):
    """PyTorch's fused kernel takes a float32 mask of float64 inputs, and reads it wrongly."""
    n = 64
    q, k, v = qkv(*batch, n_queries=n, n_keys=n, dtype=dtype)
    numbers = sample(n, n, seed=3, device="cpu", dtype=torch.float32)
    mask = numbers > 0 if of_mask == torch.bool else numbers
    mask = mask.to(dtype) if of_mask == "of query" else mask
    ours = outputs(q, k, v, mask, rescaling=rescaling)
    assert {x.dtype for x in ours} == {dtype}
    tolerance = 4e-2 if dtype in HALF else 1e-5 if dtype == torch.float32 else 1e-10
    close(ours, textbook(q, k, v, rescaling, attn_mask=mask), by=tolerance)


@EVERY_CLASS
@pytest.mark.parametrize(
    "shape", [(11,), (1, 11), (3, 1, 11), (2, 1, 1, 11), (2, 1, 9, 1)], ids=str
)
def test_masks_of_every_shape_that_broadcasts(rescaling, shape):
    q, k, v = qkv(2, 3)
    mask = sample(*shape, seed=4, device="cpu") > -0.7
    expected = textbook(q, k, v, rescaling, attn_mask=mask.expand(2, 3, 9, 11))
    close(outputs(q, k, v, mask, rescaling=rescaling), expected)
    five = (x.unsqueeze(0) for x in (q, k, v))
    close(outputs(*five, mask, rescaling=rescaling), expected.unsqueeze(0))


@pytest.mark.filterwarnings("ignore:Lower right causal bias will produce NaNs")  # zeros, in fact
@every_pair(
    rescaling=ONE_OF_EACH_CLASS,
    n_queries=[9, 11, 14],
    corner=[causal_upper_left, causal_lower_right],
)
def test_causal_bias(rescaling, n_queries, corner):
    q, k, v = qkv(2, 3, n_queries=n_queries)
    offset = 11 - n_queries if corner is causal_lower_right else 0
    seen = torch.ones(n_queries, 11, dtype=torch.bool).tril(offset)
    bias = corner(n_queries, 11)
    ours = outputs(q, k, v, bias, rescaling=rescaling)
    close(ours, textbook(q, k, v, rescaling, attn_mask=seen))
    with pytest.raises(ValueError, match="CausalBias of 5 queries and 11 keys, got"):
        scaled_dot_product_attention(q[..., :5, :], k, v, bias, rescaling=rescaling)


# Numbers that are too large, too small, or none


@pytest.mark.parametrize(("n_keys", "length"), [(32_768, 1 / 80), (131_072, 1.0)])
def test_float16_over_many_short_keys(n_keys, length):
    """The query that is divided by short keys stays in float16's range, and keeps its digits over
    131,072 of them.
    """
    q, k, v = qkv(1, 1, n_queries=1, n_keys=n_keys, d_k=64, d_v=64, dtype=torch.float32)
    q, k, v = (3 * q).half(), (k * length).half(), v.half()
    for rescaling in ("sqrt_d_k", "k_total", "k_mean"):
        exact = textbook(q, k, v, rescaling)
        ours, by_matrix = outputs(q, k, v, rescaling=rescaling)
        assert (ours.double() - exact).abs().max() <= 2e-3 * exact.abs().max() + 2e-4
        torch.testing.assert_close(ours, by_matrix, rtol=1e-2, atol=1e-3)


@every_pair(
    rescaling=[*ONE_OF_EACH_CLASS, "k_rss"],
    dims=[2, 3, 4],
    n_keys=[1, 3, 50],
    where=["query", "key"],
)
def test_nan_stays_nan(rescaling, dims, n_keys, where):
    """PyTorch's own kernels give zeros for a few of these: there the library does, too, unless the
    divisor is not a number.
    """
    q, k, v = qkv(*(1, 2)[: dims - 2], n_queries=4, n_keys=n_keys, dtype=torch.float32)
    (q if where == "query" else k)[..., 0, :] = math.nan
    ours = scaled_dot_product_attention(q, k, v, rescaling=rescaling)
    theirs = F.scaled_dot_product_attention(q, k, v)
    assert (ours.isnan() | ~theirs.isnan()).all()
    if where == "key" and str(rescaling) in ("k_total", "k_mean", "k_rss", "k_norm_4"):
        assert ours.isnan().all()


@pytest.mark.parametrize("n_keys", [1, 3, 50])
@pytest.mark.parametrize("divisor", [math.nan, math.inf])
def test_a_divisor_that_is_no_number_gives_nan_and_not_zeros(n_keys, divisor):
    q, k, v = qkv(1, 2, n_queries=4, n_keys=n_keys, dtype=torch.float32)
    divisors = torch.tensor([[2.0], [divisor], [2.0], [2.0]])
    nothing_seen = torch.tensor([[True], [False], [True], [True]]).expand(4, n_keys)
    for mask in (None, nothing_seen):
        for ours in outputs(q, k, v, attn_mask=mask, rescaling=Given(divisors)):
            assert ours[..., [0, 2, 3], :].isfinite().all()
            assert ours[..., 1, :].isnan().all()


@every_pair(rescaling=FROM_KEYS, sizes=[(1e10, 1e-30), (1e18, 1e30), (1e-30, 1e-30)])
def test_what_fits_is_right_and_what_does_not_is_nan(rescaling, sizes):
    query, key = sizes
    q, k = torch.full((1, 1, 3, 4), query), torch.full((1, 1, 3, 4), key)
    v = torch.arange(12.0).view(1, 1, 3, 4)
    exact = textbook(q, k, v, rescaling)
    assert exact.isfinite().all()
    fits = rescaling == "n_sqrt_d_k" or query < 1e10 or key > 1.0
    fits = fits and not (rescaling == "n_sqrt_d_k" and key > 1.0)
    for ours in outputs(q, k, v, rescaling=rescaling):
        close(ours, exact if fits else torch.full_like(exact, math.nan), by=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("size", [1e-36, 1e-30, 1e-20, 1e-3, 1.0, 1e20, 1e36])
def test_lengths_are_right_at_any_size(dtype, size):
    key = torch.tensor([[3.0, 4.0], [0.0, 0.0], [6.0, 8.0]]).to(dtype) * size
    expected = torch.linalg.vector_norm(key.double(), dim=-1).to(key_lengths(key).dtype)
    torch.testing.assert_close(key_lengths(key), expected, rtol=1e-6, atol=0)
    mixed = torch.cat([key, torch.ones(1, 2, dtype=dtype)]).requires_grad_()
    lengths = key_lengths(mixed)
    torch.testing.assert_close(lengths[:3], expected, rtol=1e-6, atol=0)
    (gradient,) = torch.autograd.grad(lengths.sum(), mixed)
    close(gradient[:3], torch.tensor([[0.6, 0.8], [0.0, 0.0], [0.6, 0.8]]), by=5e-3)


@pytest.mark.parametrize(
    ("dtype", "size"),
    [(torch.float16, 1e-3), (torch.float16, 1e4), *((torch.bfloat16, s) for s in (1e-30, 1, 1e30))],
)
def test_lengths_in_half_precision_in_blocks(dtype, size, monkeypatch):
    monkeypatch.setattr("sdpa_lib.rescaling.BLOCK", 512)
    monkeypatch.setattr("torch.get_num_threads", lambda: 1)
    key = sample(2, 3, 50, 16, seed=0, device="cpu", dtype=torch.float32).mul(size).to(dtype)
    for keys in (key, key.mT.contiguous().mT, key.expand(4, 2, 3, 50, 16), key[:1, :1, :33]):
        exact = keys.double().norm(dim=-1).float()
        torch.testing.assert_close(key_lengths(keys), exact, rtol=1e-6, atol=0.0)
    torch.testing.assert_close(torch.func.vmap(key_lengths)(key), key_lengths(key))


def test_a_key_to_come_that_is_no_number_changes_no_row_before_it():
    key = torch.tensor([[3.0, 4.0], [0.0, 2.0], [math.nan, 1.0]])
    divisor = KeyLengthNorm(4.0)(key, torch.ones(3, 3, dtype=torch.bool).tril())
    causal = CausalOrder(3, 3).norm(key_lengths(key), 4.0)
    assert divisor.isnan().all()  # in a sum over a mask nothing times NaN is NaN
    torch.testing.assert_close(causal[:2, 0], torch.tensor([5.0, 641**0.25]).double())


@pytest.mark.parametrize("p", [2.0, 8.0, 24.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_a_long_hidden_key_does_not_swallow_the_visible(p, dtype):
    key = torch.tensor([[3.0, 4.0], [1e12, 0.0]], dtype=dtype)
    rows = torch.tensor([[True, False], [True, True]])
    added = torch.tensor([[0.0, HIDES], [0.0, HIDES + 1.0]])
    assert torch.tensor(-1e4).bfloat16() == HIDES == -9984.0
    for mask in (rows[:1], rows, added):
        divisor = KeyLengthNorm(p)(key, Masked(mask, 2))
        torch.testing.assert_close(divisor[0, 0], torch.tensor(5.0, dtype=dtype))
    q, v = torch.ones(2, 2, dtype=dtype), torch.ones(2, 2, dtype=dtype)
    scores = attention_scores(q, key, is_causal=True, rescaling=KeyLengthNorm(p))
    torch.testing.assert_close(scores[0, 0], torch.tensor(7.0 / 5.0, dtype=dtype))
    assert scaled_dot_product_attention(q, key, v, rescaling=KeyLengthNorm(p)).isfinite().all()


@pytest.mark.parametrize("rescaling", ["k_mean", "k_total"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_a_sum_of_lengths_beyond_float32_is_not_lost(rescaling, dtype):
    k = torch.full((1, 1, 10, 1), 1e38, dtype=dtype)
    k[..., 5:, :] *= -1
    q, v = torch.full((1, 1, 1, 1), 2.0, dtype=dtype), (k > 0).to(dtype)
    fits = rescaling == "k_mean"  # 1e38
    expected = torch.full_like(q, 1 / (1 + math.exp(-4)) if fits else math.nan)
    close(outputs(q, k, v, rescaling=rescaling), expected, by=1e-2)


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
@pytest.mark.filterwarnings("ignore:.*torch.jit.* is")  # torch's own
@EVERY_CLASS
@pytest.mark.parametrize("is_causal", [False, True])
def test_a_traced_graph_serves_other_values_and_lengths(rescaling, is_causal):
    traced = torch.jit.trace(
        Attention(rescaling, "causal" if is_causal else "every key"),
        tuple(qkv(1, 2, dtype=torch.float32)),
        check_trace=False,
    )
    for size in (0.0, 1.0, 1e25, 1e-30):
        q, k, v = qkv(1, 2, n_queries=5, n_keys=7, dtype=torch.float32)
        k = k * size
        expected = scaled_dot_product_attention(q, k, v, is_causal=is_causal, rescaling=rescaling)
        if expected.isfinite().all():
            torch.testing.assert_close(traced(q, k, v), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rescaling", [*FROM_KEYS, *(KeyLengthNorm(p) for p in (1.5, 3.0, 9.0))])
@pytest.mark.parametrize("hidden", [False, True])
def test_derivatives_are_finite_with_a_key_of_length_zero(rescaling, hidden):
    q, k, v = (x.requires_grad_() for x in qkv(n_queries=3, n_keys=4, d_k=2, d_v=2))
    zeroed = k * torch.tensor([[1.0], [0.0], [1.0], [1.0]], dtype=torch.float64)
    mask = torch.tensor([True, not hidden, True, True])
    output = scaled_dot_product_attention(q, zeroed, v, mask, rescaling=rescaling)
    first = torch.autograd.grad(output.square().sum(), (q, k, v), create_graph=True)
    second = torch.autograd.grad(sum(x.square().sum() for x in first), (q, k, v))
    assert all(x.isfinite().all() for x in (*first, *second))


def test_keys_are_counted_in_a_dtype_that_holds_them():
    for dtype in HALF:
        key = torch.ones(70_001, 1, dtype=dtype)
        mask = torch.ones(1, 70_001, dtype=torch.bool)
        for visible in (EveryKey(70_001), Masked(mask, 70_001)):
            assert visible.count(key).item() == 70_001


# What a rescaling may give


@pytest.mark.parametrize(
    ("divisor", "error", "message"),
    [
        (torch.ones(2, 3, 1, 8), ValueError, r"got shape \(2, 3, 1, 8\)"),
        (torch.ones(5, 1), ValueError, r"broadcastable to \(..., L, 1\) = \(2, 3, 8, 1\)"),
        (torch.ones(4, 2, 3, 8, 1), ValueError, "one number a row"),
        (torch.ones(8), ValueError, "one number a row"),
        (torch.tensor([[1.0]] * 7 + [[-2.0]]), ValueError, r"must not be negative, got -2\.0"),
        (2.0, TypeError, r"of given must be a .*\(\.\.\., L, 1\), got float.* method constant"),
        (torch.ones(1, 1).int(), TypeError, "got torch.int32"),
    ],
)
def test_a_wrong_divisor_is_refused(divisor, error, message):
    q = k = v = torch.ones(2, 3, 8, 8)  # as many components as keys
    with pytest.raises(error, match=message):
        scaled_dot_product_attention(q, k, v, rescaling=Given(divisor))
    if not isinstance(divisor, torch.Tensor) or divisor.shape[-1:] != (1,):
        with pytest.raises(error, match=r"the divisor of given must"):
            Given(divisor)(k)


# What PyTorch's function takes


@pytest.mark.parametrize("scale", [0.3, 1, 0.0, -0.2])
def test_scale_is_that_of_pytorch(scale):
    q, k, v = qkv(2, 3)
    expected = F.scaled_dot_product_attention(q, k, v, scale=scale)
    close(outputs(q, k, v, scale=scale), expected)
    close(attention_weights(q, k, scale=scale) @ v, expected)
    with pytest.raises(ValueError, match=r"scale and rescaling exclude each other, got .* k_rss"):
        scaled_dot_product_attention(q, k, v, scale=scale, rescaling="k_rss")
    with pytest.raises(ValueError, match="scale must be a finite number, got nan"):
        scaled_dot_product_attention(q, k, v, scale=math.nan)


@every_pair(
    rescaling=ONE_OF_EACH_CLASS,
    sizes=[(0, 4), (5, 0), (0, 0)],
    is_causal=[False, True],
    batch=[(), (1, 2), (0,), (2, 0)],
)
def test_no_keys_no_components_and_no_batch(rescaling, sizes, is_causal, batch):
    q, k, v = qkv(*batch, n_queries=3, n_keys=sizes[0], d_k=sizes[1], d_v=4)
    theirs = F.scaled_dot_product_attention(q, k, v, is_causal=is_causal)
    close(outputs(q, k, v, is_causal=is_causal, rescaling=rescaling), theirs)


@EVERY_CLASS
def test_mixed_dtypes_under_autocast(rescaling):
    q, k, v = qkv(2, 3, dtype=torch.float32)
    mask = sample(9, 11, seed=3, device="cpu", dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        ours = outputs(q, k.bfloat16(), v.half(), mask, rescaling=rescaling)
    assert {x.dtype for x in ours} == {torch.bfloat16}
    close(ours, textbook(q, k, v, rescaling, attn_mask=mask), by=4e-2)


# Derivatives


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.* is")  # torch's own forward mode
@pytest.mark.parametrize(
    ("rescaling", "batch", "mask"),
    [
        *((r, (), "causal") for r in ONE_OF_EACH_CLASS),
        ("k_rss", (2,), "none"),
        ("k_rss", (), "additive"),
    ],
    ids=str,
)
def test_second_derivatives_and_forward_mode(rescaling, batch, mask):
    """Inputs of two and three dimensions have them, as in PyTorch's function."""
    q, k, v = (x.requires_grad_() for x in qkv(*batch, n_queries=3, n_keys=4, d_k=2, d_v=2))
    additive = sample(3, 4, seed=5, device="cpu", dtype=torch.float64)
    given = {"causal": {"is_causal": True}, "additive": {"attn_mask": additive}}.get(mask, {})

    def attend(q, k, v):
        return scaled_dot_product_attention(q, k, v, rescaling=rescaling, **given)

    assert torch.autograd.gradcheck(attend, (q, k, v), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(attend, (q, k, v))
    tangents = tuple(torch.ones_like(x) for x in (q, k, v))
    _, tangent = torch.func.jvp(attend, (q.detach(), k.detach(), v.detach()), tangents)
    assert tangent.isfinite().all()
    hessian = torch.func.hessian(lambda q: attend(q, k.detach(), v.detach()).sum())(q.detach())
    assert hessian.isfinite().all()


# Memory


@pytest.mark.parametrize(("rescaling", "additive"), [("k_rss", False), ("k_mean", True)])
def test_a_padding_mask_makes_a_row_of_numbers_for_each_of_its_rows(rescaling, additive):
    q, k, v = qkv(2, 8, n_queries=512, n_keys=512, d_k=16, dtype=torch.float32)
    mask = torch.arange(512).expand(2, 1, 1, 512) < torch.tensor([400, 512]).view(2, 1, 1, 1)
    given = torch.zeros(2, 1, 1, 512).masked_fill(~mask, -math.inf) if additive else mask
    with LargestTensor() as seen:
        ours = scaled_dot_product_attention(q, k, v, given, rescaling=rescaling)
    assert seen.entries <= q.numel()
    close(ours, textbook(q, k, v, rescaling, attn_mask=mask), by=1e-5)


# torch.compile and torch.export


LENGTHS = [(5, 7), (6, 8), (9, 9), (31, 7), (4, 30)]


def of_lengths(kind, batch, n_queries, n_keys):
    q, k, v = qkv(batch, 4, n_queries=n_queries, n_keys=n_keys, dtype=torch.float32)
    if kind == "mask":
        return q, k, v, torch.ones(batch, 1, n_queries, n_keys, dtype=torch.bool).tril()
    if kind == "padding":
        return q, k, v, (torch.arange(n_keys) > 0).expand(batch, 1, 1, n_keys).contiguous()
    return q, k, v


class Attention(torch.nn.Module):
    def __init__(self, rescaling, kind):
        super().__init__()
        self.rescaling, self.is_causal = rescaling, kind == "causal"

    def forward(self, query, key, value, attn_mask=None):
        return scaled_dot_product_attention(
            query, key, value, attn_mask, is_causal=self.is_causal, rescaling=self.rescaling
        )


@pytest.mark.parametrize(
    ("rescaling", "kind", "dynamic"),
    [
        *((r, "causal", None) for r in ONE_OF_EACH_CLASS),
        *(("k_norm_4", kind, None) for kind in ("every key", "mask", "padding")),
        ("k_norm_4", "causal", True),
    ],
    ids=str,
)
def test_two_graphs_do_for_every_length(rescaling, kind, dynamic):
    torch.compiler.reset()
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph.forward

    attend = Attention(rescaling, kind)
    compiled = torch.compile(attend, fullgraph=True, backend=backend, dynamic=dynamic)
    for n_queries, n_keys in LENGTHS:
        given = of_lengths(kind, 2, n_queries, n_keys)
        torch.testing.assert_close(compiled(*given), attend(*given), rtol=1e-5, atol=1e-6)
    assert len(graphs) <= 2


def test_a_graph_of_any_size_takes_a_mask_of_one():
    torch.compiler.reset()
    attend = Attention("k_total", "mask")
    compiled = torch.compile(attend, fullgraph=True, backend="eager")
    for heads, length, masks in ((2, 4, 0), (3, 5, 0), (2, 4, 1)):
        tensors = torch.ones(3, 1, heads, length, 8)
        given = (*tensors, *[torch.ones(length, length, dtype=torch.bool).tril()] * masks)
        torch.testing.assert_close(compiled(*given), attend(*given))


@pytest.mark.parametrize(
    ("rescaling", "kind"),
    [
        *((r, "mask") for r in ONE_OF_EACH_CLASS),
        *(("k_norm_4", kind) for kind in ("every key", "causal", "padding")),
    ],
    ids=str,
)
def test_export_with_any_batch_and_lengths(rescaling, kind):
    attend = Attention(rescaling, kind)
    batch, n_queries, n_keys = Dim("batch"), Dim("n_queries"), Dim("n_keys")
    rows = [{0: batch, 2: n_queries}, {0: batch, 2: n_keys}, {0: batch, 2: n_keys}]
    mask = {"mask": {0: batch, 2: n_queries, 3: n_keys}, "padding": {0: batch, 3: n_keys}}.get(kind)
    exported = torch.export.export(
        attend,
        of_lengths(kind, 3, 5, 7),
        dynamic_shapes=tuple(rows) + ((mask,) if mask else (None,) * 0),
    ).module()
    for size, (n_queries, n_keys) in enumerate(LENGTHS[2:], 2):
        given = of_lengths(kind, size, n_queries, n_keys)
        torch.testing.assert_close(exported(*given), attend(*given), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "rescaling",
    [*RESCALINGS_OF_EVERY_KIND, lambda key, visible: visible.max(key_lengths(key))],
    ids=name,
)
@pytest.mark.parametrize("is_causal", [False, True])
def test_symbolic_tracing_serves_other_lengths_and_looks_at_no_value(rescaling, is_causal):
    attend = Attention(rescaling, "causal" if is_causal else "every key")
    traced = make_fx(attend, tracing_mode="symbolic")(*of_lengths("every key", 2, 5, 5))
    targets = {node.target for node in traced.graph.nodes}
    assert not targets & {
        torch.ops.aten.aminmax.default,
        torch.ops.aten._local_scalar_dense.default,
    }
    given = of_lengths("every key", 2, 9, 9)
    torch.testing.assert_close(traced(*given), attend(*given), rtol=1e-5, atol=1e-6)


def test_fake_tensors_have_no_values_to_remember():
    with FakeTensorMode(shape_env=ShapeEnv()):
        q, k, v = torch.ones(3, 1, 2, 5, 8)
        running = RunningDivisor(lambda key, visible: visible.max(key.norm(dim=-1)))
        running.append(k[..., :4, :])
        running.append(k[..., 4:, :])
        for ours in outputs(q, k, v, rescaling=running):
            assert ours.shape == (1, 2, 5, 8)


# In PyTorch's place


@pytest.fixture
def in_pytorchs_place(monkeypatch):
    """What people do to try another attention in a model of theirs."""
    monkeypatch.setattr(F, "scaled_dot_product_attention", scaled_dot_product_attention)


def decoding(q, k, v):
    running = RunningDivisor("k_total")
    running.append(k)
    return scaled_dot_product_attention(q, k, v, rescaling=running)


torch.manual_seed(0)
LAYERS = [
    torch.nn.MultiheadAttention(16, 4, batch_first=True),
    torch.nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True),
]
ORDER = torch.nn.Transformer.generate_square_subsequent_mask(9)
CALLS = {
    "F": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, None, 0.0, True, scale=0.2),
    "the bias of the last queries": lambda q, k, v: F.scaled_dot_product_attention(
        q[..., -3:, :], k, v, causal_lower_right(3, 9)
    ),
    "ours": lambda q, k, v: outputs(q, k, v, is_causal=True),
    "keys": lambda q, k, v: outputs(q, k, v, rescaling="k_rss"),
    "autocast": lambda q, k, v: torch.autocast("cpu")(outputs)(q, k, v, rescaling="k_rss"),
    "compiled": lambda q, k, v: torch.compile(
        F.scaled_dot_product_attention, fullgraph=True, backend="aot_eager"
    )(q, k, v),
    "scores": lambda q, k, v: attention_scores(q, k),
    "weights": lambda q, k, v: attention_weights(q, k),
    "rows": lambda q, k, v: saturation_of_rows(q, k, rescaling="k_rss"),
    "gradients": lambda q, k, v: attention_gradients(q, k, v, rescaling="k_rss"),
    "decoding": decoding,
    "Transformers": lambda q, k, v: attention_function("k_total")(torch.nn.Module(), q, k, v, None)[
        0
    ],
    "nn.MultiheadAttention": lambda q, k, v: LAYERS[0](
        q[:, 0], k[:, 0], v[:, 0], need_weights=False
    )[0],
    "nn.TransformerEncoderLayer": lambda q, k, v: LAYERS[1](
        q[:, 0], src_mask=ORDER, is_causal=True
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_everything_works_while_it_stands_in_pytorchs_place(call, request):
    """And gives what it gave."""
    tensors = [x.requires_grad_() for x in qkv(2, 4, n_keys=9, dtype=torch.float32)]
    expected = CALLS[call](*tensors)
    request.getfixturevalue("in_pytorchs_place")
    results = CALLS[call](*tensors)
    torch.testing.assert_close(results, expected, rtol=1e-6, atol=1e-6)


def test_a_module_of_pytorchs_calls_what_stands_in_its_functions_place(monkeypatch):
    called = []
    monkeypatch.setattr(
        F,
        "scaled_dot_product_attention",
        lambda *args, **kw: called.append(1) or scaled_dot_product_attention(*args, **kw),
    )
    for module in ("nn.MultiheadAttention", "nn.TransformerEncoderLayer"):
        CALLS[module](*qkv(2, 4, n_keys=9, dtype=torch.float32))
    assert len(called) == 2
