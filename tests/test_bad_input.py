"""Bad input is refused at the door by an error that names the argument, what came and what was
expected.
"""

import difflib
import math

import matplotlib.pyplot as plt
import pytest
import torch

import sdpa_lib as sdpa
from sdpa_book import check, plotting
from sdpa_book.tables import Table
from sdpa_lib import RunningDivisor
from sdpa_lib.device import get_device, get_dtype
from sdpa_lib.moments import (
    exact_moments,
    measure_moments,
    normal_dot_product_density,
    sample_normal_scores,
    shape_distance,
)
from sdpa_lib.sampling import get_distribution, make_generator, student_t

Q, K, V = torch.ones(2, 4), torch.ones(3, 4), torch.ones(3, 5)
P = torch.full((3,), 1 / 3)
ATTENTION = sdpa.scaled_dot_product_attention

CASES = [
    (lambda: ATTENTION([[1.0]], K, V), TypeError, "query must be a torch.Tensor, got list"),
    (lambda: ATTENTION(Q.int(), K, V), TypeError, "query must .*got torch.int32"),
    (
        lambda: ATTENTION(Q.double(), K, V),
        TypeError,
        "query and key must have the same dtype, got torch.float64 and torch.float32",
    ),
    (lambda: ATTENTION(Q, K, V.half()), TypeError, "value must .*got torch.float16"),
    (lambda: ATTENTION(Q[0], K, V), ValueError, r"query must .*got \(4,\)"),
    (
        lambda: ATTENTION(Q[:, :3], K, V),
        ValueError,
        r"share their last dimension d_k, got \(2, 3\) and \(3, 4\)",
    ),
    (lambda: ATTENTION(Q, K, V[:2]), ValueError, r"value must .*got \(2, 5\)"),
    (lambda: ATTENTION(Q.to("meta"), K, V), ValueError, "query and key must .*got meta and cpu"),
    (lambda: ATTENTION(Q, K, V.to("meta")), ValueError, "value must .*got meta"),
    (lambda: ATTENTION(Q, K, V, [[True]]), TypeError, "attn_mask must be a torch.Tensor, got list"),
    (
        lambda: ATTENTION(Q, K, V, torch.ones(2, 3).int()),
        TypeError,
        "attn_mask must be boolean, float32 or have the dtype of query",
    ),
    (
        lambda: ATTENTION(Q, K, V, torch.ones(2, 4).bool()),
        ValueError,
        r"attn_mask must broadcast to .* \(2, 3\), got \(2, 4\)",
    ),
    (
        lambda: ATTENTION(Q, K, V, torch.ones(2, 3, device="meta").bool()),
        ValueError,
        "attn_mask must be on the device of query",
    ),
    (
        lambda: ATTENTION(Q, K, V, torch.ones(2, 3).bool(), is_causal=True),
        ValueError,
        "attn_mask and is_causal=True exclude",
    ),
    (lambda: ATTENTION(Q, K, V, dropout_p=1.5), ValueError, "dropout_p must .*got 1.5"),
    (lambda: ATTENTION(Q, K, V, is_causal=1), TypeError, "is_causal must be"),
    (
        lambda: ATTENTION(Q, K.expand(2, 3, 4), V.expand(4, 3, 5), return_weights=True),
        ValueError,
        "batch dimensions",
    ),
    (
        lambda: ATTENTION(Q, K, V, rescaling="sqrt_dk"),
        ValueError,
        "rescaling 'sqrt_dk' is not known. Did you mean 'sqrt_d_k'",
    ),
    (lambda: ATTENTION(Q, K, V, enable_gqa=True), ValueError, "enable_gqa needs a head dimension"),
    (
        lambda: ATTENTION(Q.expand(3, 2, 4), K.expand(2, 3, 4), V.expand(2, 3, 5), enable_gqa=True),
        ValueError,
        "multiple of the key heads, got 3 and 2",
    ),
    (
        lambda: ATTENTION(Q.expand(3, 2, 4), K.expand(2, 3, 4), V.expand(2, 3, 5)),
        ValueError,
        "batch dimensions",
    ),
    (
        lambda: ATTENTION(Q.expand(1, 4, 2, 4), K.expand(1, 2, 3, 4), V.expand(1, 2, 3, 5)),
        ValueError,
        r"batch dimensions must broadcast, got .*; for grouped queries pass enable_gqa=True",
    ),
    (lambda: sdpa.get_rescaling(2), TypeError, "rescaling must .*got int"),
    (
        lambda: ATTENTION(Q, K, V, rescaling=sdpa.KeyLengthNorm),
        TypeError,
        r"rescaling must .*got the class KeyLengthNorm: write KeyLengthNorm\(\)",
    ),
    (lambda: sdpa.PowerOfDk(math.nan), ValueError, "power must be a finite number, got nan"),
    (lambda: sdpa.KeyLengthNorm(0.5), ValueError, "p must .*got 0.5"),
    (lambda: sdpa.key_lengths(torch.ones(3)), ValueError, r"key must have shape \(..., S, d_k\)"),
    (lambda: sdpa.RESCALINGS["k_total"](K, torch.ones(2, 3)), TypeError, "visible must be boolean"),
    (
        lambda: sdpa.RESCALINGS["k_total"](K, torch.ones(2, 4).bool()),
        ValueError,
        "with S = 3 keys, got",
    ),
    (lambda: sdpa.sample(3, seed=-1), ValueError, "seed must be at least 0, got -1"),
    (lambda: sdpa.sample(-3, seed=0), ValueError, "shape must be at least 0, got -3"),
    (
        lambda: sdpa.sample(3, seed=0, distribution="gaussian"),
        ValueError,
        "distribution 'gaussian' is not known",
    ),
    (lambda: get_distribution("normal").scaled(0), ValueError, "std must .*got 0"),
    (lambda: get_distribution("normal").shifted(math.inf), ValueError, "mean must .*got inf"),
    (lambda: get_distribution(["normal"]), TypeError, "distribution must .*got list"),
    (lambda: student_t(2), ValueError, "df must be a finite number greater than 2, got 2"),
    (lambda: make_generator(0, stream=-1), ValueError, "stream must be at least 0, got -1"),
    (lambda: get_device("gpu"), ValueError, "device must name a device of this machine"),
    (
        lambda: measure_moments(torch.tensor([1.0, math.nan])),
        ValueError,
        "values must be finite, got NaN or infinity",
    ),
    (lambda: measure_moments(torch.empty(0)), ValueError, r"values must .*got shape \(0,\)"),
    (
        lambda: measure_moments(torch.ones(5)),
        ValueError,
        "values must hold at least two different numbers",
    ),
    (lambda: sdpa.measure_dot_products(0, 10, seed=0), ValueError, "d_k must be at least 1, got 0"),
    (lambda: sdpa.measure_dot_products(4, 1, seed=0), ValueError, "n_pairs must .*got 1"),
    (lambda: exact_moments(True), TypeError, "d_k must be an int, got bool"),
    (
        lambda: normal_dot_product_density(torch.tensor([0.0]), 1),
        ValueError,
        "x must not be 0 at d_k = 1",
    ),
    (
        lambda: normal_dot_product_density(torch.tensor([1.0]), 4, 0.0),
        ValueError,
        "scale must be a finite number greater",
    ),
    (
        lambda: shape_distance(torch.arange(3.0), torch.arange(4.0)),
        ValueError,
        "same number of entries, got 3 and 4",
    ),
    (
        lambda: shape_distance(torch.arange(3.0), torch.tensor([1.0, math.inf, 0])),
        ValueError,
        "second must be finite",
    ),
    (lambda: sdpa.entropy(torch.tensor([2.0, -1.0])), ValueError, r"weights must lie in \[0, 1\]"),
    (lambda: sdpa.jacobian_norm(P, "l1"), ValueError, "norm must be 'fro' or 'spectral', got 'l1'"),
    (lambda: sdpa.attention_gradients(Q * math.nan, K, V), ValueError, "query must be finite"),
    (
        lambda: sdpa.attention_gradients(Q, K, V, upstream=torch.ones(2, 4)),
        ValueError,
        r"output, \(2, 5\), got \(2, 4\)",
    ),
    (
        lambda: sdpa.attention_gradients(Q, K, V, upstream=torch.full((2, 5), math.nan)),
        ValueError,
        "upstream must be finite",
    ),
    (lambda: Table.from_rows(("a", "b"), [(1, 2), (3,)]), ValueError, r"rows must .*got \(3,\)"),
    (
        lambda: Table.from_rows(("a", "a"), [(1, 2)]),
        ValueError,
        r"headings must differ from each other, got \('a', 'a'\)",
    ),
    (lambda: Table({"a": [1], "b": [1, 2]}), ValueError, "columns must .*got {'a': 1, 'b': 2}"),
    (lambda: Table({"a": [1.0]}, digits=0), ValueError, "digits must be at least 1, got 0"),
    (lambda: Table({"a": [1, None]}), TypeError, "column 'a' must .*got None"),
    (lambda: Table({"a": [(1.0, -0.1)]}), ValueError, r"column 'a' must .*got \(1.0, -0.1\)"),
    (lambda: Table({2: [1]}), TypeError, "headings must be texts, got 2"),
    (
        lambda: check("general_divisor", 1),
        ValueError,
        "exercise 'general_divisor' is not known. Did you mean .*'square_root.general_divisor'",
    ),
    (lambda: plotting.figure(0), ValueError, "rows must be at least 1, got 0"),
    (
        lambda: plotting.density_curve(torch.tensor([1.0, math.nan])),
        ValueError,
        "values must be finite",
    ),
    (
        lambda: plotting.density_curve(torch.arange(3.0), points=1),
        ValueError,
        "points must be at least 2, got 1",
    ),
    (lambda: plotting.measured(plt.gca(), [1, 2], [1, math.nan]), ValueError, "y must be finite"),
    (lambda: plotting.heatmap(plt.gca(), torch.ones(3)), ValueError, r"matrix must .*got \(3,\)"),
    (
        lambda: ATTENTION(Q, torch.nested.nested_tensor([Q, Q], layout=torch.jagged), V),
        TypeError,
        "key must be a dense tensor, got a nested one",
    ),
    (lambda: sample_normal_scores(2, 0, 2, seed=0), ValueError, "n_keys must .*got 0"),
    (
        lambda: RunningDivisor("k_rss")(K),
        ValueError,
        "append must be given the new keys before they are attended to",
    ),
    (lambda: RunningDivisor("k_rss", window=0), ValueError, "window must be at least 1, got 0"),
    (lambda: RunningDivisor("k_rss").append(K[:0]), ValueError, r"key must .*got shape \(0, 4\)"),
    (lambda: RunningDivisor("k_rss").crop(1), ValueError, "n_keys must .*got 1: .*no keys"),
    (lambda: RunningDivisor("k_rss").reorder(torch.ones(1)), ValueError, "a batch dimension"),
]


@pytest.mark.parametrize(
    ("call", "error", "message"), CASES, ids=lambda x: x if isinstance(x, str) else ""
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


LONG = "k_total " * 12_500


@pytest.mark.parametrize(
    "call",
    [
        lambda: sdpa.get_rescaling(LONG),
        lambda: get_distribution(LONG),
        lambda: get_device(LONG),
        lambda: sdpa.jacobian_norm(P, LONG),
        lambda: check(LONG, 1),
        lambda: plotting.style(LONG),
        lambda: Table({LONG: [None]}),
        lambda: Table({"a": [(LONG, LONG)]}),
        lambda: Table({LONG: [1], "b": []}),
        lambda: Table.from_rows(("a", "b"), [(LONG,)]),
        lambda: Table.from_rows((LONG, LONG), []),
    ],
)
def test_a_long_argument_is_shortened(call):
    with pytest.raises((ValueError, TypeError), match=r"got |is not known") as caught:
        call()
    assert len(str(caught.value)) < 2000
    assert "..." in str(caught.value)


def test_the_nearest_names_of_a_very_long_one_are_not_searched_for_long(monkeypatch):
    """difflib would take seconds to read it."""
    read = []
    monkeypatch.setattr(
        difflib, "get_close_matches", lambda name, *_, **__: read.append(name) or []
    )
    with pytest.raises(ValueError, match="is not known"):
        sdpa.get_rescaling(LONG)
    assert [len(name) for name in read] == [200]


def test_environment_variable_chooses_the_device(monkeypatch):
    monkeypatch.setenv("SDPA_DEVICE", "cpu")
    assert get_device() == torch.device("cpu")
    monkeypatch.setenv("SDPA_DEVICE", "warp")
    with pytest.raises(
        ValueError, match="environment variable SDPA_DEVICE must name a device of this machine"
    ):
        get_device()


def test_the_best_device_is_chosen_in_order(monkeypatch):
    monkeypatch.delenv("SDPA_DEVICE", raising=False)
    from sdpa_lib import device

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert device._best_device() == "cuda"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert device._best_device() == "mps"
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert device._best_device() == "cpu"
    assert get_dtype("cpu") == torch.float64
