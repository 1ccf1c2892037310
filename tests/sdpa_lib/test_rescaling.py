"""The divisors and their names."""

import math

import pytest
import torch
from every import EVERY_RESCALING
from reference import divisor

from sdpa_lib import RESCALINGS, PowerOfDk, get_rescaling
from sdpa_lib.rescaling import MODEL_RESCALINGS
from sdpa_lib.sampling import sample
from sdpa_lib.visibility import EveryKey


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


def test_from_which_length_on_models_divide_by_less():
    """At d_k = 128; their scores at 9,000 keys are in test_models.py."""

    def at(name, n):
        return get_rescaling(name)(torch.ones(n, 128)).item() / math.sqrt(128)

    assert [at("qwen_1", n) for n in (1, 2048, 4096)] == pytest.approx([1, 1, 11 / 12])
    steps = [1 / (1 + 0.1 * math.log(m)) for m in (1, 2, 2, 3)]
    assert [at("llama_4", n) for n in (8191, 8192, 16383, 16384)] == pytest.approx(steps)


def test_a_norm_has_a_finite_power_of_at_least_one():
    for p in (math.inf, 0.5, -1.0):
        with pytest.raises(ValueError, match="p must be a finite number of at least 1"):
            EveryKey(2).norm(torch.ones(2), p)
