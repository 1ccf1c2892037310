"""The divisors: values, homogeneity, masks, and that a new one is picked up."""

import math

import pytest
import torch
from every import EVERY_RESCALING
from reference import divisor

from sdpa_book.drawing.plotting import style
from sdpa_lib import (
    RESCALINGS,
    KeyLengthNorm,
    PowerOfDk,
    Rescaling,
    get_rescaling,
    key_lengths,
    sample,
    scaled_dot_product_attention,
)
from sdpa_lib.rescaling import MODEL_RESCALINGS
from sdpa_lib.visibility import EveryKey

FROM_KEYS = ["k_total", "k_mean", "k_rss", "k_norm_4"]


@EVERY_RESCALING
def test_divisor_against_its_definition(rescaling):
    key = sample(20, 4, seed=0, device="cpu")
    visible = torch.ones(20, 20, dtype=torch.bool).tril()
    visible[3] = sample(20, seed=1, device="cpu") > 0
    ours = get_rescaling(rescaling)(key, visible).expand(20, 1)
    torch.testing.assert_close(ours, divisor(rescaling, key, visible))


def test_every_rescaling_has_a_name_of_its_own_and_a_formula():
    everyone = [get_rescaling(name) for name in (*RESCALINGS, *MODEL_RESCALINGS)]
    assert len({rescaling.name for rescaling in everyone}) == len(everyone)
    for rescaling in everyone:
        assert get_rescaling(rescaling) is rescaling
        assert rescaling.formula.count("{") == rescaling.formula.count("}")
    assert PowerOfDk(1 / 3).name == "d_k^1/3"


def test_what_models_divide_by():
    """The numbers by hand, at d_k = 128 and in the order of a causal row's last query."""

    def at(name, n):
        return get_rescaling(name)(torch.ones(n, 128)).item()

    assert at("deberta", 3) == pytest.approx(math.sqrt(384))
    assert at("gemma_2_27b", 3) == pytest.approx(12)
    assert at("mup", 3) == pytest.approx(16)
    assert at("yarn_32", 3) == pytest.approx(math.sqrt(128) / 1.8133, rel=1e-4)
    assert at("ssmax", 1024) == pytest.approx(math.sqrt(128) / (0.43 * 6.9315), rel=1e-4)
    assert [at("su", n) for n in (512, 1024)] == pytest.approx(
        [math.sqrt(128), math.sqrt(128) * 9 / 10]
    )
    assert [at("qwen_1", n) for n in (1, 2048, 4096)] == pytest.approx(
        [math.sqrt(128)] * 2 + [math.sqrt(128) * 11 / 12]
    )
    steps = [math.sqrt(128) / (1 + 0.1 * math.log(m)) for m in (1, 2, 2, 3)]
    assert [at("llama_4", n) for n in (8191, 8192, 16383, 16384)] == pytest.approx(steps)


def test_p_norms_fall_towards_the_largest_length():
    key = sample(20, 8, seed=0, device="cpu")
    divisors = [KeyLengthNorm(p)(key).item() for p in (1.0, 2.0, 4.0, 50.0, 200.0)]
    assert divisors == sorted(divisors, reverse=True)
    assert divisors[-1] == pytest.approx(key_lengths(key).max().item(), rel=0.02)
    for p in (math.inf, 0.5, -1.0):
        with pytest.raises(ValueError, match="p must be a finite number of at least 1"):
            EveryKey(20).norm(key_lengths(key), p)


def test_lengths_of_zero_huge_and_tiny_keys():
    key = torch.tensor([[0.0, 0.0], [3e30, 4e30], [3e-30, 4e-30]], requires_grad=True)
    lengths = key_lengths(key)
    torch.testing.assert_close(lengths, torch.tensor([0.0, 5e30, 5e-30]), rtol=1e-6, atol=0)
    (gradient,) = torch.autograd.grad(lengths.sum(), key)
    torch.testing.assert_close(gradient, torch.tensor([[0.0, 0.0], [0.6, 0.8], [0.6, 0.8]]))


def test_a_new_rescaling_works_everywhere_without_registration():
    class LargestKey(Rescaling):
        name = "k_max"
        formula = r"\max_j \|k_j\|"

        def divisor(self, key, visible=None):
            return key_lengths(key).amax(-1, keepdim=True).unsqueeze(-1)

    q, k, v = (sample(4, 3, seed=0, stream=i, device="cpu") for i in range(3))
    output = scaled_dot_product_attention(q, k, v, rescaling=LargestKey())
    torch.testing.assert_close(output, torch.softmax(q @ k.mT / k.norm(dim=-1).max(), -1) @ v)
    assert style(LargestKey())["color"].startswith("#")
