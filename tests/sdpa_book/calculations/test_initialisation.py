"""The rules that fill a layer's weights."""

import pytest
import torch

from sdpa_book.calculations.initialisation import D_K, D_MODEL, INITIALISATIONS, measure_layer


@pytest.mark.parametrize("rule", INITIALISATIONS, ids=lambda rule: rule.name)
def test_weights_have_the_variance_of_the_formula(rule):
    generator = torch.Generator().manual_seed(0)
    weights = torch.stack([rule.head(generator) for _ in range(30)])
    assert weights.shape == (30, D_K, D_MODEL)
    # A million weights: the standard error of their variance is below 0.15 per cent.
    assert abs(weights.var().item() / rule.weight_variance - 1) < 0.006
    assert abs(weights.mean().item()) < 0.006 * rule.weight_variance**0.5


def test_the_default_linear_is_pytorchs_own():
    torch.manual_seed(0)
    own = torch.nn.Linear(D_MODEL, 4000).weight.var().item()
    (rule,) = (rule for rule in INITIALISATIONS if "Linear" in rule.name)
    assert abs(own / rule.weight_variance - 1) < 0.006


def test_one_generator_gives_fresh_weights_and_the_same_seed_the_same():
    rule = INITIALISATIONS[0]
    generator = torch.Generator().manual_seed(1)
    first, second = rule.head(generator), rule.head(generator)
    assert not first.equal(second)
    assert first.equal(rule.head(torch.Generator().manual_seed(1)))


@pytest.mark.parametrize("rule", INITIALISATIONS, ids=lambda rule: rule.name)
def test_a_fresh_layer_has_the_variances_of_the_derivation(rule):
    expected = D_MODEL * rule.weight_variance
    component, score = measure_layer(rule)
    assert abs(component.value - expected) < 4 * component.error < 0.02 * expected
    assert abs(score.value - expected**2) < 4 * score.error < 0.03 * expected**2
