"""Those that are compared compute the same."""

import sys
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from reference import arguments, attention, qkv

from benchmarks import contestants, machine
from benchmarks.costs import attention as attention_costs
from benchmarks.costs import caches, others, short, simulation
from benchmarks.timing import TORCH
from benchmarks.watching import speed
from sdpa_lib import RESCALINGS, watch

SHAPE = (2, 2, 16, 8)
NAMES = [TORCH, *RESCALINGS]


@pytest.fixture(autouse=True)
def double_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (attention_costs, others, short):
        monkeypatch.setattr(module, "working_dtype", lambda: torch.float64)


@pytest.mark.parametrize("mask", ["none", "causal", "boolean", "additive"])
def test_every_call_is_attention_with_its_rescaling(mask: str) -> None:
    q, k, v = qkv(2)
    calls = contestants.calls(q, k, v, **arguments(mask))
    assert list(calls) == NAMES
    for name, call in calls.items():
        rescaling = "sqrt_d_k" if name == TORCH else name
        torch.testing.assert_close(call(), attention(q, k, v, rescaling, **arguments(mask))[0])


def test_what_is_written_out_is_attention() -> None:
    q, k, v = qkv(2)
    expected = attention(q, k, v, "sqrt_d_k")[0]
    torch.testing.assert_close(contestants.textbook(q, k, v), expected)
    in_numpy = contestants.in_numpy(*(x.numpy() for x in (q, k, v)))
    np.testing.assert_allclose(in_numpy, expected)
    causal = attention(q, k, v, "sqrt_d_k", is_causal=True)[0]
    torch.testing.assert_close(contestants.textbook(q, k, v, is_causal=True), causal)
    torch.testing.assert_close(contestants.by_hand(q, k, v), attention(q, k, v, "k_total")[0])


def test_documents_see_themselves_and_padding_is_at_the_end() -> None:
    documents = contestants.boolean_mask((2, 1, 16, 16)).squeeze(1).cpu()
    for own, length in zip(documents, (2, 3), strict=True):  # the second sequence has longer ones
        place = torch.arange(16) // length
        assert torch.equal(own, place == place[:, None])
    padding = contestants.boolean_mask((3, 1, 1, 16))[:, 0, 0].cpu()
    assert padding.sum(-1).tolist() == [8, 12, 16]
    assert (padding.int().diff(dim=-1) <= 0).all()


def test_backward_gives_the_gradients_of_the_sum() -> None:
    q, k, v = (x.requires_grad_() for x in qkv(2, n_keys=9))
    gradients: Any = contestants.with_backward(contestants.calls(q, k, v)["k_rss"], (q, k, v))()
    contestants.calls(q, k, v)["k_rss"]().sum().backward()
    for leaf, gradient in zip((q, k, v), gradients, strict=True):
        torch.testing.assert_close(gradient, leaf.grad)


def test_steps_over_a_cache_agree_each_time() -> None:
    steps = caches.steps(SHAPE, torch.float64)
    expected = steps["by hand"]()
    for _ in range(3):
        for name in set(steps) - {TORCH}:
            torch.testing.assert_close(steps[name](), expected, msg=name)
    assert not torch.allclose(steps[TORCH](), expected)


def test_decoding_with_lengths_kept_is_decoding() -> None:
    without, with_lengths = (
        attention_costs.decoding(SHAPE, with_sums) for with_sums in (False, True)
    )
    assert list(without) == list(with_lengths) == NAMES
    for name in NAMES:
        for _ in range(2):
            torch.testing.assert_close(with_lengths[name](), without[name](), msg=name)


def test_every_case_has_all_contestants() -> None:
    masks = {"mask of a batch": (SHAPE, (2, 1, 16, 16)), "padding mask": (SHAPE, (2, 1, 1, 16))}
    cases = attention_costs.cases(layer=SHAPE, masks=masks, cache=SHAPE, long=SHAPE)
    for case in cases.values():
        assert list(case.prepare()) == NAMES
    outputs = {name: case.prepare()["k_rss"]() for name, case in cases.items()}
    for one, other in [("forward", "long"), ("forward, causal", "long, causal")]:
        torch.testing.assert_close(outputs[one], outputs[other])
    assert not torch.allclose(outputs["forward"], outputs["forward, causal"])


def test_a_short_call_by_hand_is_that_of_k_total() -> None:
    for prepare in short.kinds(SHAPE).values():
        assert list(prepare()) == [*NAMES, "by hand"]
    calls = short.kinds(SHAPE)["plain"]()
    torch.testing.assert_close(calls["by hand"](), calls["k_total"]())


@pytest.mark.parametrize("is_causal", [False, True])
def test_other_implementations_compute_the_same(
    is_causal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="eager"))
    monkeypatch.setitem(sys.modules, "x_transformers", None)
    q, k, v = (x.float() for x in contestants.inputs(SHAPE, torch.float32))
    running, absent = others.peers(q, k, v, is_causal)
    assert "textbook" in running
    assert "x-transformers" in absent
    expected = set(others.PEERS) - ({"NumPy"} if is_causal or machine.on_gpu() else set())
    assert {*running, *absent} == expected
    own = others.own_call(q, k, v, is_causal)()
    for name, run in running.items():
        torch.testing.assert_close(torch.as_tensor(run()), own, msg=name)


def test_why_another_implementation_does_not_run_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> None:
        raise RuntimeError("no kernel\nfor this device")

    monkeypatch.setattr(others, "PEERS", {"broken": broken})
    q, k, v = contestants.inputs(SHAPE, torch.float32)
    assert others.peers(q, k, v, False) == ({}, {"broken": "RuntimeError: no kernel"})


def test_all_ways_to_simulate_find_the_same_moments() -> None:
    exact, blocks, at_once = (way(8, 2**14)() for way in simulation.WAYS.values())
    for skewness, kurtosis in (
        (exact.skewness, exact.excess_kurtosis + 3),
        (blocks.skewness, blocks.excess_kurtosis + 3),
        at_once,
    ):
        assert skewness == pytest.approx(0.0, abs=0.1)
        assert kurtosis == pytest.approx(3 + 6 / 8, abs=0.3)


@pytest.mark.parametrize("is_causal", [False, True])
def test_the_figures_by_hand_are_those_of_watching(is_causal: bool) -> None:
    q, k, v = contestants.inputs(SHAPE, torch.float32)
    with watch() as seen:
        torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal)
    by_hand = speed.by_the_table(q, k, is_causal)
    entropy, effective_keys, largest_weight, largest_score, spread = by_hand
    for head, figures in enumerate(seen.heads()):
        for name, of_rows in (
            ("entropy", entropy),
            ("effective_keys", effective_keys),
            ("largest_weight", largest_weight),
            ("spread", spread),
        ):
            assert figures[name] == pytest.approx(of_rows[:, head].mean().item(), rel=1e-4), name
        assert figures["largest_score"] == pytest.approx(largest_score[:, head].max().item())


def test_what_watches_returns_what_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch_module_monitor", None)
    calls = speed.contestants(SHAPE, torch.float32, True, with_others=True)
    assert list(calls) == [TORCH, "watched", "the table by hand"]
    assert torch.equal(calls["watched"](), calls[TORCH]())
    assert torch.equal(calls["the table by hand"]()[0], calls[TORCH]())
    assert list(speed.contestants(SHAPE, torch.float32, True, with_others=False)) == [
        TORCH,
        "watched",
    ]
