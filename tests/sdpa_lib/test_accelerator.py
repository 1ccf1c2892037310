"""On a GPU, where there is one: the numbers of the textbook on the CPU, and PyTorch's own bit for
bit.
"""

import pytest
import torch
import torch.nn.functional as F
from every import EVERY_CLASS, RESCALINGS_OF_EVERY_KIND, every_pair
from reference import MASKS, arguments, attention, close, outputs, qkv, textbook

from sdpa_lib import RunningDivisor, attention_weights, scaled_dot_product_attention
from sdpa_lib.device import get_device, get_dtype
from sdpa_lib.sampling import sample

DEVICE = get_device()
WIDEST = get_dtype(DEVICE)
TOLERANCE = {torch.float32: 1e-5, torch.float16: 5e-3, torch.bfloat16: 4e-2} | {
    WIDEST: 1e-12 if DEVICE.type != "mps" else 1e-5
}

pytestmark = pytest.mark.skipif(DEVICE.type == "cpu", reason="needs a GPU")


def there(given):
    """The tensors, or a mask among named arguments, on the device."""
    if isinstance(given, dict):
        return {
            name: x.to(DEVICE) if isinstance(x, torch.Tensor) else x for name, x in given.items()
        }
    return [x.to(DEVICE) for x in given]


@every_pair(rescaling=RESCALINGS_OF_EVERY_KIND, dtype=TOLERANCE, mask=MASKS)
def test_agrees_with_the_textbook_on_the_cpu(rescaling, dtype, mask):
    tensors, given = qkv(2, 3, dtype=dtype), arguments(mask, dtype)
    expected, expected_weights = attention(*tensors, rescaling, **given)
    ours = outputs(*there(tensors), rescaling=rescaling, **there(given))
    weights = attention_weights(*there(tensors[:2]), rescaling=rescaling, **there(given))
    assert {x.device.type for x in (*ours, weights)} == {DEVICE.type}
    close(tuple(x.cpu() for x in ours), expected, by=TOLERANCE[dtype])
    close(weights.cpu(), expected_weights, by=TOLERANCE[dtype])


@EVERY_CLASS
@pytest.mark.parametrize("mask", MASKS)
def test_gradients_agree_with_the_textbook_on_the_cpu(rescaling, mask):
    upstream = sample(2, 3, 9, 16, seed=4, device="cpu", dtype=WIDEST)
    here = [x.requires_grad_() for x in qkv(2, 3, dtype=WIDEST)]
    given = arguments(mask, WIDEST)
    expected = torch.autograd.grad(
        textbook(*here, rescaling=rescaling, **given), here, upstream.double()
    )
    leaves = [x.detach().to(DEVICE).requires_grad_() for x in here]
    for output in outputs(*leaves, rescaling=rescaling, **there(given)):
        gradients = torch.autograd.grad(output, leaves, upstream.to(DEVICE))
        for ours, theirs in zip(gradients, expected, strict=True):
            close(ours.cpu(), theirs, by=100 * TOLERANCE[WIDEST])


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("mask", MASKS)
def test_the_default_is_pytorchs_bit_for_bit(dtype, mask):
    q, k, v = there(qkv(2, 3, dtype=dtype))
    given = there(arguments(mask, dtype))
    ours = scaled_dot_product_attention(q, k, v, **given)
    theirs = F.scaled_dot_product_attention(q, k, v, **given)
    if mask == "hides a row":  # of which PyTorch's kernels make what they like
        ours, theirs = (torch.cat([x[..., :2, :], x[..., 3:, :]], -2) for x in (ours, theirs))
    assert torch.equal(ours, theirs)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("rescaling", ["sqrt_d_k", "k_total"])
def test_a_float32_mask_of_half_precision(rescaling, dtype):
    """PyTorch's kernel on an H100 takes it, and gives NaN."""
    tensors = qkv(1, 2, n_queries=64, n_keys=64, dtype=dtype)
    mask = sample(64, 64, seed=3, device="cpu", dtype=torch.float32)
    expected = textbook(*tensors, rescaling=rescaling, attn_mask=mask)
    for ours in outputs(*there(tensors), rescaling=rescaling, attn_mask=mask.to(DEVICE)):
        close(ours.cpu(), expected, by=4e-2)


@EVERY_CLASS
def test_a_running_divisor_decodes_what_the_whole_sequence_gives(rescaling):
    q, k, v = there(qkv(2, 3, n_queries=11, dtype=WIDEST))
    whole = scaled_dot_product_attention(q, k, v, is_causal=True, rescaling=rescaling)
    running = RunningDivisor(rescaling)
    for i in range(1, 12):
        running.append(k[..., i - 1 : i, :])
        step = scaled_dot_product_attention(
            q[..., i - 1 : i, :], k[..., :i, :], v[..., :i, :], rescaling=running
        )
        close(step, whole[..., i - 1 : i, :], by=10 * TOLERANCE[WIDEST])


@EVERY_CLASS
@pytest.mark.parametrize("magnitude", [0.0, 1e-30, 1.0, 1e15])
def test_finite_input_never_gives_nan(rescaling, magnitude):
    q, k, v = ((x * magnitude).requires_grad_() for x in there(qkv(2, dtype=torch.float32)))
    for output in outputs(q, k, v, rescaling=rescaling, **there(arguments("hides a row"))):
        for x in (output, *torch.autograd.grad(output.sum(), (q, k, v), retain_graph=True)):
            assert not x.isnan().any()


def test_a_tensor_on_another_device_is_named():
    q, k, v = qkv(2, 3, dtype=torch.float32)
    with pytest.raises(ValueError, match=r"key.*cpu"):
        scaled_dot_product_attention(q.to(DEVICE), k, v)
