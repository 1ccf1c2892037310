"""Rescalings that users write: learned ones, one a head, names of their own, multiples, and what a
divisor may be. More of what is refused is in test_edges.py.
"""

import functools
import math

import pytest
import reference
import torch
from every import EVERY_CLASS, every_pair
from reference import Given, close, outputs
from torch import nn

import sdpa_lib
from sdpa_lib import (
    RESCALINGS,
    KeyLengthNorm,
    PowerOfDk,
    Rescaling,
    RunningDivisor,
    get_rescaling,
    key_lengths,
    known_rescalings,
    register,
    scaled_dot_product_attention,
)
from sdpa_lib.rescaling import _REGISTERED, Function, Multiple
from sdpa_lib.sampling import sample
from sdpa_lib.visibility import CausalOrder, EveryKey, Masked

qkv = functools.partial(reference.qkv, 2, n_queries=6, n_keys=6, d_k=8, d_v=8, heads=(4, 4))


class Learned:
    """A learned scale for every head, on the sum of the visible keys' lengths."""

    name, formula = "learned", r"s \sum_j \|k_j\|"

    def __init__(self, *shape):
        super().__init__()
        self.s = nn.Parameter(sample(*shape, 1, 1, seed=5, device="cpu").exp())

    def divisor(self, key, visible):
        return self.s * visible.norm(key.norm(dim=-1), 1.0)


class ModuleFirst(Learned, nn.Module, Rescaling):
    pass


class RescalingFirst(Learned, Rescaling, nn.Module):
    pass


BOTH_ORDERS = pytest.mark.parametrize("kind", [ModuleFirst, RescalingFirst])


@BOTH_ORDERS
def test_a_module_is_called_as_a_rescaling_in_either_order_of_its_bases(kind):
    _, key, _ = qkv()
    learned = kind()
    expected = learned.s * key.norm(dim=-1).sum(-1)[..., None, None]
    torch.testing.assert_close(learned(key), expected)
    assert isinstance(2 * learned, Multiple)
    with pytest.raises(TypeError, match=r"key must be a torch\.Tensor, got list"):
        learned([[1.0]])


@BOTH_ORDERS
def test_the_parent_finds_the_parameter(kind):
    parent = nn.Module()
    parent.rescaling = kind(4)
    assert [name for name, _ in parent.named_parameters()] == ["rescaling.s"]
    assert list(parent.state_dict()) == ["rescaling.s"]
    parent.to(torch.float32)
    assert parent.rescaling(torch.ones(4, 3, 8)).dtype == torch.float32


def test_a_module_that_writes_its_own_forward_keeps_it():
    class Own(nn.Module, Rescaling):
        name = formula = "own"

        def constant(self, d_k):
            return 2.0

        def forward(self):
            return "own"

    assert Own()() == "own"


def test_a_hook_on_a_module_is_run():
    learned, seen = ModuleFirst(), []
    learned.register_forward_hook(lambda module, args, divisor: seen.append(divisor))
    learned(torch.ones(3, 8, dtype=torch.float64))
    assert len(seen) == 1


@every_pair(kind=[ModuleFirst, RescalingFirst], shape=[(), (4,)], is_causal=[False, True])
def test_a_learned_parameter_gets_the_gradient(kind, shape, is_causal):
    q, k, v = qkv()
    learned = kind(*shape)
    upstream = sample(2, 4, 6, 8, seed=4, device="cpu")
    sees = torch.ones(6, 6, dtype=torch.bool)
    sees = sees.tril() if is_causal else sees
    divisor = learned.s * (k.norm(dim=-1).unsqueeze(-2) * sees).sum(-1, keepdim=True)
    plain = torch.softmax((q @ k.mT / divisor).masked_fill(~sees, -math.inf), dim=-1) @ v
    (expected,) = torch.autograd.grad(plain, learned.s, upstream)
    assert expected.abs().min() > 0
    for ours in outputs(q, k, v, rescaling=learned, is_causal=is_causal):
        close(ours, plain)
        close(torch.autograd.grad(ours, learned.s, upstream), expected)


@pytest.mark.parametrize("is_causal", [False, True])
def test_one_a_head_with_grouped_queries(is_causal):
    q, k, v = qkv(heads=(6, 2))
    learned = ModuleFirst(6)
    ours = outputs(q, k, v, rescaling=learned, is_causal=is_causal, enable_gqa=True)
    for head in range(6):
        alone = scaled_dot_product_attention(
            *(q[:, head], k[:, head // 3], v[:, head // 3]),
            rescaling=learned.s[head].item() * KeyLengthNorm(),
            is_causal=is_causal,
        )
        close(tuple(x[:, head] for x in ours), alone)


def test_one_a_key_head_does_not_fit_more_query_heads():
    one_a_key_head = Given(torch.ones(2, 1, 1))
    with pytest.raises(ValueError, match=r"\(..., L, 1\) = \(2, 6, 6, 1\), got shape \(2, 1"):
        outputs(*qkv(heads=(6, 2)), rescaling=one_a_key_head, enable_gqa=True)


def test_a_learned_one_under_compile():
    q, k, v = qkv(dtype=torch.float32)
    learned = ModuleFirst(4).float()
    gradients = []
    for attention in (
        scaled_dot_product_attention,
        torch.compile(scaled_dot_product_attention, fullgraph=True, backend="aot_eager"),
    ):
        ours = attention(q, k, v, is_causal=True, rescaling=learned)
        gradients.append(torch.autograd.grad(ours.square().sum(), learned.s)[0])
    torch.testing.assert_close(*gradients)
    assert gradients[0].abs().min() > 0


# functions


@every_pair(is_causal=[False, True], key_heads=[1, 2, 4])
def test_a_function_of_keys_and_what_is_visible(is_causal, key_heads):
    """With grouped queries what ``visible`` gives fits the query's heads."""
    tensors = qkv(heads=(4, key_heads))
    lengths = tensors[1].norm(dim=-1).repeat_interleave(4 // key_heads, dim=-2)
    sees = torch.ones(6, 6, dtype=torch.bool)
    sees = sees.tril() if is_causal else sees
    largest = (lengths.unsqueeze(-2) * sees).amax(-1, keepdim=True)
    for function, same in (
        (lambda key, visible: visible.max(key_lengths(key)), Given(largest)),
        (lambda key, visible: visible.norm(key_lengths(key), 1.0), "k_total"),
        (lambda key, visible: visible.norm(key_lengths(key), 2.0), "k_rss"),
    ):
        given = {"is_causal": is_causal, "enable_gqa": True}
        expected = scaled_dot_product_attention(*tensors, rescaling=same, **given)
        close(outputs(*tensors, rescaling=function, **given), expected)


@pytest.mark.parametrize("offset", [0, -1])
@pytest.mark.parametrize("n_queries", [1, 3, 5, 8])
def test_sums_counts_and_maxima_of_the_keys_that_a_row_sees(n_queries, offset):
    per_key = sample(2, 5, seed=6, device="cpu").requires_grad_()
    triangle = torch.ones(n_queries, 5, dtype=torch.bool).tril(offset)
    largest = per_key.unsqueeze(-2).masked_fill(~triangle, -math.inf).amax(-1, keepdim=True)
    for visible in (CausalOrder(n_queries, 5, offset=offset), Masked(triangle, 5)):
        close(visible.max(per_key), largest.masked_fill(largest == -math.inf, 0.0))
        close(visible.sum(per_key), (per_key.unsqueeze(-2) * triangle).sum(-1, keepdim=True))
        close(visible.count(per_key), triangle.sum(-1, keepdim=True))
    for visible in (EveryKey(0), CausalOrder(n_queries, 0), Masked(triangle[:, :0], 0)):
        assert not visible.max(per_key[:, :0]).any()


def test_sums_and_maxima_of_every_key_and_the_precision_of_a_sum():
    per_key = torch.tensor([2.0**24, 1.0, 1.0])
    assert EveryKey(3).max(per_key).item() == 2**24
    for visible in (EveryKey(3), CausalOrder(3, 3), Masked(torch.ones(3, 3).bool().tril(), 3)):
        assert visible.sum(per_key)[-1].item() == 2**24 + 2


def test_a_formula_is_optional():
    class Largest_key(Rescaling):
        name = "k_max"

    assert Largest_key().formula == r"\mathrm{k\_max}"
    assert get_rescaling(outputs).name == "outputs"


# names


@pytest.fixture(autouse=True)
def registry():
    """What a test registers is forgotten after it."""
    before = dict(_REGISTERED)
    yield
    _REGISTERED.clear()
    _REGISTERED.update(before)


def test_a_registered_name_is_known():
    with pytest.raises(ValueError, match="rescaling 'k_norm_5' is not known"):
        get_rescaling("k_norm_5")
    assert register(KeyLengthNorm(5.0)) == "k_norm_5"
    assert get_rescaling("k_norm_5") == known_rescalings()["k_norm_5"] == KeyLengthNorm(5.0)
    assert "k_norm_5" not in RESCALINGS
    assert register(PowerOfDk(0.4), "k_norm_5") == "k_norm_5"  # and may be given again
    assert get_rescaling("k_norm_5") == PowerOfDk(0.4)


def test_a_function_is_registered_under_its_own_name():
    def shortest(key, visible):
        return -visible.max(-key_lengths(key))

    assert register(shortest) == "shortest"
    k = torch.tensor([[3.0, 4.0], [0.0, 2.0]])
    assert get_rescaling("shortest")(k).item() == 2.0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("k_total",), TypeError, "rescaling must be a Rescaling or a function of .*, got str"),
        (("k_rms", KeyLengthNorm(5.0)), TypeError, "takes the rescaling first, and then its name"),
        ((lambda key, visible: key,), TypeError, "name must be .* nor <lambda>, got '<lambda>'"),
        ((2 * Function(lambda key, visible: key),), TypeError, "nor <lambda>, got '2.<lambda>'"),
        ((PowerOfDk(0.4), "k_total"), ValueError, "'k_total' is taken: register the rescaling"),
        ((KeyLengthNorm(), "ssmax"), ValueError, "name 'ssmax' is taken"),
        ((PowerOfDk(0.4), "my_flash"), ValueError, "must not contain 'flash' or 'flex_attention'"),
        (
            (RunningDivisor("k_rss"), "mine"),
            ValueError,
            "'running k_rss' remembers the keys of one",
        ),
        ((2 * RunningDivisor("k_rss"), "mine"), ValueError, "remembers the keys of one"),
        ((KeyLengthNorm(5.0), ""), TypeError, "name must be a str that is not empty, .*got ''"),
        ((KeyLengthNorm(5.0), 5), TypeError, "name must be a str that is not empty, .*got 5"),
    ],
)
def test_what_cannot_be_registered(arguments, error, message):
    before = known_rescalings()
    with pytest.raises(error, match=message):
        register(*arguments)
    if arguments != ("k_total",):  # there a name, too, says which to offer
        with pytest.raises(error, match=message):
            sdpa_lib.transformers.register(*arguments)
    assert known_rescalings() == before


def test_a_rescaling_that_has_the_name_may_be_registered_again():
    before = known_rescalings()
    assert register(KeyLengthNorm()) == "k_total"
    assert register(known_rescalings()["ssmax"], "ssmax") == "ssmax"
    assert known_rescalings() == before


def test_what_was_not_made_known_elsewhere_is_not_known_here(monkeypatch):
    def refuse(rescaling, name):
        raise RuntimeError(name)

    monkeypatch.setattr("sdpa_lib.rescaling._ON_REGISTER", [refuse])
    before = known_rescalings()
    with pytest.raises(RuntimeError, match="k_norm_5"):
        register(KeyLengthNorm(5.0))
    assert known_rescalings() == before


# multiples


@EVERY_CLASS
def test_a_multiple_divides_by_as_much_more(rescaling):
    q, k, v = qkv()
    multiple = 2 * get_rescaling(rescaling)
    assert multiple == get_rescaling(rescaling) * 2
    expected = scaled_dot_product_attention(q / 2, k, v, is_causal=True, rescaling=rescaling)
    close(outputs(q, k, v, is_causal=True, rescaling=multiple), expected)
    close(multiple(k), 2 * get_rescaling(rescaling)(k))


def test_a_multiple_of_a_constant_is_a_constant():
    assert (3 * PowerOfDk(0.5)).constant(64) == 24.0
    assert (3 * KeyLengthNorm()).constant(64) is None
    assert (3 * PowerOfDk(0.5)).name == "3*sqrt_d_k"
    assert (0.5 * (3 * KeyLengthNorm())).formula == r"0.5\,3\,\sum_j \|k_j\|"


# what a divisor may be


@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (6, 1), (4, 1, 1), (2, 1, 6, 1)], ids=str)
def test_a_divisor_of_any_dtype_and_of_any_shape_that_broadcasts(shape):
    q, k, v = qkv()
    divisor = sample(*(shape or (1,)), seed=5, device="cpu").exp().reshape(shape)
    ours = outputs(q.float(), k.float(), v.float(), rescaling=Given(divisor))
    assert {x.dtype for x in ours} == {torch.float32}
    close(ours, torch.softmax(q @ k.mT / divisor, dim=-1) @ v, by=1e-5)
    assert Given(divisor)(k).dim() >= 2


def test_a_divisor_of_zero_stands_for_the_root():
    divisor = torch.tensor([0.0, 1, 2, 3, 4, 5], dtype=torch.float64)[:, None]
    mended = Given(divisor.where(divisor > 0, math.sqrt(8)))
    expected = scaled_dot_product_attention(*qkv(), rescaling=mended)
    close(outputs(*qkv(), rescaling=Given(divisor)), expected)


@pytest.mark.parametrize("constant", [0.0, -1.0, math.nan, math.inf])
def test_what_is_no_constant_is_refused(constant):
    message = rf"\.constant must give None or a finite number greater than 0, got {constant}"
    for rescaling in (Given(constant=constant), RunningDivisor(Given(constant=constant))):
        with pytest.raises(ValueError, match=type(rescaling).__name__ + message):
            rescaling(torch.ones(3, 8))
        with pytest.raises(ValueError, match=message):
            scaled_dot_product_attention(*qkv(), rescaling=rescaling)


@pytest.mark.parametrize("constant", [torch.tensor(2.0), nn.Parameter(torch.ones(1, 1))])
def test_a_tensor_is_no_constant(constant):
    """It would be taken for a divisor, upside down."""
    message = r"Given\.constant must give None or a number, got (Tensor|Parameter): what"
    with pytest.raises(TypeError, match=message):
        scaled_dot_product_attention(*qkv(), rescaling=Given(constant=constant))


def test_where_constant_and_divisor_disagree_the_constant_counts():
    both = Given(torch.full((1, 1), 7.0, dtype=torch.float64), constant=2.0)
    for rescaling, constant in ((both, 2.0), (3 * both, 6.0), (RunningDivisor(both), 2.0)):
        expected = scaled_dot_product_attention(*qkv(), rescaling=PowerOfDk(0.0, constant))
        close(outputs(*qkv(), rescaling=rescaling), expected)
        assert rescaling(torch.ones(3, 8)).item() == constant


def test_neither_constant_nor_divisor():
    class Nothing(Rescaling):
        name = formula = "nothing"

    with pytest.raises(NotImplementedError, match="Nothing defines neither divisor nor constant"):
        Nothing()(torch.ones(3, 8))
