"""Bad input is refused at the door by an error that names the argument, what came and what was
expected.
"""

import difflib
import math

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

import sdpa_lib as sdpa
from sdpa_book import check, plotting
from sdpa_book.calculations import first_gradients, query_gradients, scores_by_rank
from sdpa_book.studies import lookup
from sdpa_book.studies.lookup.layer import steps_to_learn
from sdpa_book.writing.tables import Table
from sdpa_lib import RunningDivisor, device, get_rescaling
from sdpa_lib import scaled_dot_product_attention as attend
from sdpa_lib.device import get_device
from sdpa_lib.moments import (
    exact_moments,
    measure_dot_products,
    measure_moments,
    normal_dot_product_density,
    sample_normal_scores,
    shape_distance,
)
from sdpa_lib.sampling import get_distribution, make_generator, sample, student_t
from sdpa_lib.saturation import jacobian_norm

Q, K, V = torch.ones(2, 4), torch.ones(3, 4), torch.ones(3, 5)
HEADS = torch.ones(4, 2, 4)
P = torch.full((3,), 1 / 3)
NESTED = torch.nested.nested_tensor([Q, Q], layout=torch.jagged)

TYPE_ERRORS = {
    "query must be a torch.Tensor, got list": lambda: attend([[1.0]], K, V),
    "query must .*got torch.int32": lambda: attend(Q.int(), K, V),
    "query and key must .* dtype, got torch.float64 and": lambda: attend(Q.double(), K, V),
    "key must be a dense tensor, got a nested one": lambda: attend(Q, NESTED, V),
    "value must .*got torch.float16": lambda: attend(Q, K, V.half()),
    "attn_mask must be a torch.Tensor, got list": lambda: attend(Q, K, V, [[True]]),
    "attn_mask must be boolean, float32 or": lambda: attend(Q, K, V, torch.ones(2, 3).int()),
    "is_causal must be a bool, got int": lambda: attend(Q, K, V, is_causal=1),
    "dropout_p must be a number, got bool": lambda: attend(Q, K, V, dropout_p=True),
    "is_causal must be a bool, got numpy.bool": lambda: attend(Q, K, V, is_causal=np.bool_(True)),
    "scale must be a number, got numpy.bool": lambda: attend(Q, K, V, scale=np.bool_(True)),
    "scale must be a number, got bool": lambda: attend(Q, K, V, scale=True),
    "n_0 must be an int, got numpy.bool": lambda: sdpa.LogBeyond(np.bool_(True)),
    "query must have dtype torch.float64, .* or torch.float16, got torch.float8_e5m2": lambda: (
        attend(*(x.to(torch.float8_e5m2) for x in (Q, K, V)))
    ),
    "value must have dtype .*, got torch.float8_e4m3fn": lambda: attend(
        Q, K, V.to(torch.float8_e4m3fn)
    ),
    "rescaling must be none that remembers": lambda: RunningDivisor(2 * RunningDivisor("k_rss")),
    "rescaling must .*got int": lambda: get_rescaling(2),
    r"class KeyLengthNorm: write KeyLengthNorm\(\)": lambda: get_rescaling(sdpa.KeyLengthNorm),
    "visible must be boolean": lambda: get_rescaling("k_total")(K, torch.ones(2, 3)),
    "factor must be a number, got str": lambda: get_rescaling("k_total") * "2",
    "factor must be a number, got bool": lambda: get_rescaling("k_total") * True,
    "distribution must .*got list": lambda: get_distribution(["normal"]),
    "d_k must be an int, got bool": lambda: exact_moments(True),
    "column 'a' must .*got None": lambda: Table({"a": [1, None]}),
    "headings must be texts, got 2": lambda: Table({2: [1]}),
}

VALUE_ERRORS = {
    "'root' is not known. Did you mean 'sqrt_d_k'": lambda: lookup.train("root", 64),
    "'√d_k' is not known. Did you mean 'sqrt_d_k'": lambda: lookup.agreement_by_weight("√d_k", 64),
    "'undivided' is not known. Did you mean 'none'": lambda: query_gradients.at_weights(
        "undivided", 64
    ),
    "^d_k must be at least 1, got 0": lambda: lookup.train("sqrt_d_k", 0),
    "d_k must be at least 1, got -1": lambda: lookup.agreement_by_weight("none", -1),
    "steps must be at least 1, got 0": lambda: lookup.train("sqrt_d_k", 64, steps=0),
    "batches must be at least 1, got 0": lambda: lookup.first_gradients("none", 4, batches=0),
    "batches must be at most 120, got 121": lambda: lookup.first_gradients("none", 4, batches=121),
    "queries must be at least 1, got 0": lambda: steps_to_learn("none", 4, 0),
    "d_k must be at least 1, got -2": lambda: first_gradients.layers_at_start(-2, 8.0),
    "c must be a finite number greater than 0, got 0": lambda: first_gradients.layers_at_start(
        64, 0.0
    ),
    "layers must be at least 1": lambda: first_gradients.layers_at_start(64, 8.0, layers=0),
    "n_keys must be at least 1": lambda: first_gradients.layers_at_start(64, 8.0, n_keys=0),
    "correlation must be below 1, got 1": lambda: first_gradients.layers_at_start(
        64, 8.0, correlation=1.0
    ),
    "name must be of a divisor that d_k alone decides, got 'k_mean'": lambda: lookup.first_move(
        "k_mean", 64
    ),
    "question 'step' is not known. Did you mean 'steps'": lambda: lookup.load_steps("step"),
    "d_k must be at least 1, got -3": lambda: query_gradients.at_weights("none", -3),
    "n must be at least 1, got 0": lambda: query_gradients.at_weights("none", 64, n=0),
    "d_model must be at least 1": lambda: query_gradients.at_weights("none", 64, d_model=0),
    "layers must be at least 2, got 1": lambda: query_gradients.at_weights("none", 64, layers=1),
    "correlation must be between 0 and 1, got 1.5": lambda: query_gradients.at_weights(
        "none", 64, 1.5
    ),
    "log_n must be .* of at least 0": lambda: scores_by_rank.largest_scores(-1.0),
    "rows must be at least 1": lambda: scores_by_rank.largest_scores(2.0, rows=0),
    "top must be at least 1": lambda: scores_by_rank.largest_scores(20.0, top=0),
    r"query must .*got \(4,\)": lambda: attend(Q[0], K, V),
    r"key must .*got \(4,\)": lambda: attend(Q, K[0], V),
    r"value must .*got \(5,\)": lambda: attend(Q, K, V[0]),
    r"their last dimension d_k, got \(2, 3\) and \(3, 4\)": lambda: attend(Q[:, :3], K, V),
    r"value must .*got \(2, 5\)": lambda: attend(Q, K, V[:2]),
    "query and key must .*got meta and cpu": lambda: attend(Q.to("meta"), K, V),
    "value must .*got meta": lambda: attend(Q, K, V.to("meta")),
    r"attn_mask must .* \(2, 3\), got \(2, 4\)": lambda: attend(Q, K, V, torch.ones(2, 4).bool()),
    "attn_mask must be on the device": lambda: attend(Q, K, V, torch.ones(2, 3, device="meta")),
    "attn_mask and is_causal=True exclude": lambda: attend(Q, K, V, torch.ones(2, 3), 0.0, True),
    "dropout_p must .*got 1.5": lambda: attend(Q, K, V, dropout_p=1.5),
    "batch dimensions must broadcast, got .*value": lambda: attend(
        Q, K.expand(2, 3, 4), V.expand(4, 3, 5), return_weights=True
    ),
    r"got query \(2, 2, 4\) and key .* and value \(4, 3, 5\)$": lambda: attend(
        Q.expand(2, 2, 4), K.expand(2, 3, 4), V.expand(4, 3, 5)
    ),
    "batch dimensions .*; for grouped queries pass enable_gqa=True": lambda: attend(
        HEADS, K.expand(2, 3, 4), V.expand(2, 3, 5)
    ),
    "enable_gqa needs a head dimension": lambda: attend(Q, K, V, enable_gqa=True),
    "multiple of the key heads, got 3 and 2": lambda: attend(
        HEADS[:3], K.expand(2, 3, 4), V.expand(2, 3, 5), enable_gqa=True
    ),
    "rescaling 'sqrt_dk' is not known. Did you mean 'sqrt_d_k'": lambda: get_rescaling("sqrt_dk"),
    "power must be a finite number, got nan": lambda: sdpa.PowerOfDk(math.nan),
    "factor must be a finite number .*got 0": lambda: get_rescaling("k_total") * 0,
    "factor must be a finite number .*got inf": lambda: get_rescaling("k_total") * math.inf,
    "p must .*got 0.5": lambda: sdpa.KeyLengthNorm(0.5),
    r"key must have shape \(..., S, d_k\)": lambda: sdpa.key_lengths(torch.ones(3)),
    "with S = 3 keys, got": lambda: get_rescaling("k_total")(K, torch.ones(2, 4).bool()),
    "append must be given the new keys before": lambda: RunningDivisor("k_rss")(K),
    "window must be at least 1, got 0": lambda: RunningDivisor("k_rss", window=0),
    r"key must .*got shape \(0, 4\)": lambda: RunningDivisor("k_rss").append(K[:0]),
    "n_keys must .*got 1: .*no keys": lambda: RunningDivisor("k_rss").crop(1),
    "a batch dimension": lambda: RunningDivisor("k_rss").reorder(torch.ones(1)),
    "seed must be at least 0, got -1": lambda: sample(3, seed=-1),
    "stream must be at least 0, got -1": lambda: make_generator(0, stream=-1),
    "shape must be at least 0, got -3": lambda: sample(-3, seed=0),
    "distribution 'gaussian' is not known": lambda: get_distribution("gaussian"),
    "std must .*got 0": lambda: get_distribution("normal").scaled(0),
    "mean must .*got inf": lambda: get_distribution("normal").shifted(math.inf),
    "df must be a finite number greater than 2, got 2": lambda: student_t(2),
    "device must name a device of this machine": lambda: get_device("gpu"),
    "values must be finite, got NaN or": lambda: measure_moments(torch.tensor([1.0, math.nan])),
    r"values must .*got shape \(0,\)": lambda: measure_moments(torch.empty(0)),
    "d_k must be at least 1, got 0": lambda: measure_dot_products(0, 10, seed=0),
    "n_pairs must .*got 1": lambda: measure_dot_products(4, 1, seed=0),
    "n_keys must .*got 0": lambda: sample_normal_scores(2, 0, 2, seed=0),
    "x must not be 0 at d_k = 1": lambda: normal_dot_product_density(torch.zeros(1), 1),
    "scale must be a finite number greater": lambda: normal_dot_product_density(P, 4, 0.0),
    "same number of entries, got 3 and 4": lambda: shape_distance(
        torch.arange(3.0), torch.arange(4.0)
    ),
    "second must be finite": lambda: shape_distance(torch.arange(3.0), torch.tensor([1, math.inf])),
    r"weights must lie in \[0, 1\]": lambda: sdpa.entropy(torch.tensor([2.0, -1.0])),
    "norm must be 'fro' or 'spectral', got 'l1'": lambda: jacobian_norm(P, "l1"),
    "query must be finite": lambda: sdpa.attention_gradients(Q * math.nan, K, V),
    r"output, \(2, 5\), got \(2, 4\)": lambda: sdpa.attention_gradients(Q, K, V, upstream=Q),
    "upstream must be finite": lambda: sdpa.attention_gradients(
        Q, K, V, upstream=torch.full((2, 5), math.nan)
    ),
    r"rows must .*got \(3,\)": lambda: Table.from_rows(("a", "b"), [(1, 2), (3,)]),
    r"headings must differ .*got \('a', 'a'\)": lambda: Table.from_rows(("a", "a"), [(1, 2)]),
    "columns must .*got {'a': 1, 'b': 2}": lambda: Table({"a": [1], "b": [1, 2]}),
    "digits must be at least 1, got 0": lambda: Table({"a": [1.0]}, digits=0),
    r"column 'a' must .*got \(1.0, -0.1\)": lambda: Table({"a": [(1.0, -0.1)]}),
    "Did you mean .*'square_root.general_divisor'": lambda: check("general_divisor", 1),
    "rows must be at least 1, got 0": lambda: plotting.figure(0),
    "values must be finite": lambda: plotting.density_curve(torch.tensor([1.0, math.nan])),
    "points must be at least 2, got 1": lambda: plotting.density_curve(V.cumsum(0)[:, 0], points=1),
    "y must be finite": lambda: plotting.measured(plt.gca(), [1, 2], [1, math.nan]),
    r"matrix must .*got \(3,\)": lambda: plotting.heatmap(plt.gca(), torch.ones(3)),
}


@pytest.mark.parametrize("message", TYPE_ERRORS)
def test_a_wrong_type(message):
    with pytest.raises(TypeError, match=message):
        TYPE_ERRORS[message]()


@pytest.mark.parametrize("message", VALUE_ERRORS)
def test_a_wrong_value(message):
    with pytest.raises(ValueError, match=message):
        VALUE_ERRORS[message]()


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
@pytest.mark.parametrize("layout", [torch.jagged, torch.strided], ids=str)
def test_nested_tensors_are_refused(layout):
    nested = torch.nested.nested_tensor([Q, Q], layout=layout)
    with pytest.raises(TypeError, match="query must be a dense tensor, got a nested one"):
        attend(nested, nested, nested)


LONG = "k_total " * 12_500


@pytest.mark.parametrize(
    "call",
    [
        lambda: get_rescaling(LONG),
        lambda: get_device(LONG),
        lambda: jacobian_norm(P, LONG),
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
        get_rescaling(LONG)
    assert [len(name) for name in read] == [200]


def test_environment_variable_chooses_the_device(monkeypatch):
    monkeypatch.setenv("SDPA_DEVICE", "cpu")
    assert get_device() == torch.device("cpu")
    monkeypatch.setenv("SDPA_DEVICE", "warp")
    with pytest.raises(
        ValueError, match="environment variable SDPA_DEVICE must name a device of this machine"
    ):
        get_device()


@pytest.mark.parametrize(
    ("cuda", "mps", "best"), [(True, True, "cuda"), (False, True, "mps"), (False, False, "cpu")]
)
def test_the_best_device_is_chosen_in_order(cuda, mps, best, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert device._devices()[0] == best
    there = [name for name, is_there in (("cuda", cuda), ("mps", mps), ("cpu", True)) if is_there]
    with pytest.raises(ValueError, match=rf"of this machine \({', '.join(there)}\), got 'warp'"):
        get_device("warp")
