"""``watch`` against the table of scores, what it must leave as it is, and whose calls it sees."""

from __future__ import annotations

import contextlib
import copy
import math
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.attention.bias import causal_lower_right, causal_upper_left
from torch.nn.functional import scaled_dot_product_attention as imported_before
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

import sdpa_lib
from sdpa_lib import _fused, _rows, attention_scores, rescaled, watch
from sdpa_lib.visibility import HIDES
from sdpa_lib.watching import Seen

FIGURES = ("keys", "spread", "entropy", "effective_keys", "largest_weight", "first_key")


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    assert not _get_current_function_mode_stack()


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def by_the_table(query: Tensor, key: Tensor, mask: Any = None, **options: Any) -> dict[str, Tensor]:
    """Each figure from the definition: mean over rows, (heads,)."""
    wide = None if mask is None else mask
    if isinstance(mask, Tensor) and type(mask) is Tensor and mask.is_floating_point():
        wide = mask.double()
    scores = attention_scores(query.double(), key.double(), wide, **options)
    hidden = scores.isneginf()
    if wide is not None and wide.dtype != torch.bool and type(mask) is Tensor:
        hidden = hidden | (wide <= HIDES)
    scores = scores.masked_fill(hidden, -math.inf)
    while scores.dim() < 4:
        scores = scores.unsqueeze(0)
    scores = scores.flatten(0, -4)  # (B, H, L, S)
    weights = scores.softmax(-1)
    seen = ~scores.isneginf()
    keys = seen.sum(-1)
    rows = keys > 0
    first = seen.to(torch.uint8).argmax(-1, keepdim=True)
    mean = scores.masked_fill(~seen, 0).sum(-1, keepdim=True) / keys.unsqueeze(-1)
    deviations = (scores - mean).masked_fill(~seen, 0)
    figures = {
        "keys": keys.double(),
        "spread": (deviations.square().sum(-1) / keys).sqrt(),
        "entropy": torch.special.entr(weights).sum(-1),
        "effective_keys": 1 / weights.square().sum(-1),
        "largest_weight": weights.amax(-1),
        "first_key": weights.gather(-1, first).squeeze(-1),
        "saturated": (weights.amax(-1) > 0.9).double(),
    }
    count = rows.sum((0, 2))
    means = {name: x.masked_fill(~rows, 0).sum((0, 2)) / count for name, x in figures.items()}
    largest = scores.amax(-1).masked_fill(~rows, -math.inf).amax((0, 2))
    return {**means, "largest_score": largest, "queries": count}


def masks(n_queries: int, n_keys: int) -> dict[str, Any]:
    """Every kind of mask, for (2, 4, n_queries, n_keys)."""
    drawn = normal(2, 1, n_queries, n_keys, seed=5) > 0
    drawn[0, 0, 3] = False  # a row that sees nothing
    padding = torch.ones(2, 1, 1, n_keys, dtype=torch.bool)
    padding[1, ..., n_keys // 2 :] = False
    window = torch.ones(n_queries, n_keys, dtype=torch.bool).tril().triu(-5)
    bias = normal(2, 4, n_queries, n_keys, seed=6)
    return {
        "boolean": drawn,
        "padding": padding,
        "window": window,
        "bias": bias,
        "bias of heads": bias[:1],
        "bias that hides": bias.masked_fill(~drawn, -math.inf),
        "smallest number": torch.zeros(2, 1, n_queries, n_keys).masked_fill(
            ~drawn, torch.finfo(torch.float32).min
        ),
        "upper left": causal_upper_left(n_queries, n_keys),
        "lower right": causal_lower_right(n_queries, n_keys),
    }


CALLS: dict[str, dict[str, Any]] = {
    "plain": {},
    "causal": {"is_causal": True},
    "divided by keys": {"rescaling": "k_mean"},
    "divided by keys, causal": {"rescaling": "k_total", "is_causal": True},
    "scale": {"scale": 0.5},
    **{name: {"attn_mask": mask} for name, mask in masks(70, 90).items()},
}


def agree(seen: Seen, expected: dict[str, Tensor], near: float, score: float) -> None:
    heads = seen.heads()
    assert len(heads) == len(expected["keys"])
    for i, head in enumerate(heads):
        assert head["queries"] == expected["queries"][i]
        for name in FIGURES:
            value = expected[name][i].item()
            assert head[name] == pytest.approx(value, rel=near, abs=near), (i, name)
        assert head["largest_score"] == pytest.approx(
            expected["largest_score"][i].item(), abs=score, rel=near
        )
        assert head["saturated"] == pytest.approx(expected["saturated"][i].item(), abs=0.02)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("times", [0.3, 3.0])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_every_figure_is_that_of_the_table(name: str, times: float, dtype: torch.dtype) -> None:
    call = dict(CALLS[name])
    query, key = normal(2, 4, 70, 24) * times, normal(2, 4, 90, 24, seed=1) + 1.0
    query, key = query.to(dtype), key.to(dtype)
    mask = call.pop("attn_mask", None)
    if isinstance(mask, Tensor) and type(mask) is Tensor and mask.is_floating_point():
        mask = mask.clamp(min=max(torch.finfo(dtype).min, -3e38)).to(dtype)
    function = sdpa_lib.scaled_dot_product_attention if "rescaling" in call else imported_before
    with watch() as seen:
        function(query, key, key, mask, **call)
    expected = by_the_table(query, key, mask, **call)
    half = dtype in (torch.bfloat16, torch.float16)
    agree(seen, expected, 3e-2 if half else 1e-4, 3e-2 if half else 1e-2)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("times", [0.3, 3.0])
@pytest.mark.parametrize(("n_queries", "n_keys"), [(70, 90), (90, 70), (1, 1), (130, 130)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_both_roads_give_the_same(
    causal: bool, times: float, n_queries: int, n_keys: int, dtype: torch.dtype
) -> None:
    """A fused kernel's ln Z, which only a GPU takes by itself."""
    query = (normal(2, 4, n_queries, 24) * times).to(dtype)
    key = (normal(2, 2, n_keys, 24, seed=1) + 1.0).to(dtype)
    call = _rows.prepare(query, key, is_causal=causal, rescaling="k_mean", enable_gqa=True)
    roads = [_rows.figures_of_rows(call, road=road) for road in ("blocks", "fused")]
    for name, blocks, fused in zip(_rows.RowFigures._fields, *roads, strict=True):
        near = 3e-2 if dtype == torch.bfloat16 else 1e-4
        near = max(near, 1e-2) if name in ("largest_weight", "largest_score") else near
        torch.testing.assert_close(
            fused, blocks, rtol=near, atol=near, msg=lambda m, name=name: f"{name}: {m}"
        )


def test_the_fused_kernel_of_the_cpu_gives_ln_z() -> None:
    """What PyTorch's private function is taken for."""
    query, key = normal(2, 3, 40, 16), normal(2, 3, 50, 16, seed=1)
    output, log_z = _fused.with_log_normaliser(query, key, key, False, 0.7)
    scores = query @ key.mT * 0.7
    torch.testing.assert_close(log_z, scores.logsumexp(-1))
    torch.testing.assert_close(output, scores.softmax(-1) @ key)


SHAPES = {
    "two dimensions": ((9, 8), (7, 8), {}),
    "three": ((3, 9, 8), (3, 7, 8), {}),
    "five": ((2, 3, 4, 9, 8), (2, 3, 4, 7, 8), {}),
    "broadcast": ((2, 1, 9, 8), (1, 4, 7, 8), {}),
    "grouped": ((2, 6, 9, 8), (2, 2, 7, 8), {"enable_gqa": True}),
    "grouped, causal": ((2, 6, 9, 8), (2, 2, 9, 8), {"enable_gqa": True, "is_causal": True}),
    "one query of many keys": ((3, 4, 1, 8), (3, 4, 700, 8), {}),
    "long rows": ((1, 2, 5, 8), (1, 2, 200_000, 8), {}),
}


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape(name: str) -> None:
    of_query, of_key, options = SHAPES[name]
    query, key = normal(*of_query), normal(*of_key, seed=1)
    value = normal(*of_key[:-1], 5, seed=2)  # values of another width
    with watch() as seen:
        F.scaled_dot_product_attention(query, key, value, **options)
    agree(seen, by_the_table(query, key, **options), 1e-4, 1e-2)


@pytest.mark.parametrize("empty", [(0, 2, 5, 8), (2, 2, 0, 8)])
def test_a_call_without_rows_adds_nothing(empty: tuple[int, ...]) -> None:
    query = torch.zeros(empty)
    with watch() as seen:
        F.scaled_dot_product_attention(query, query, query)
        F.scaled_dot_product_attention(query, query, query)
    assert seen.heads() == []
    assert str(seen) == "Of the calls that were seen no row sees a key."


def test_rows_without_a_key_do_not_count() -> None:
    query = normal(1, 1, 4, 8)
    mask = torch.ones(4, 4, dtype=torch.bool)
    mask[2:] = False
    with watch() as seen:
        F.scaled_dot_product_attention(query, query, query, mask)
    (head,) = seen.heads()
    assert head["queries"] == 2


def test_some_rows_estimate_all() -> None:
    """Of 32 x 128 rows 64 are drawn 200 times: means over rows within four standard errors."""
    query, key = normal(32, 2, 128, 16), normal(32, 2, 128, 16, seed=1)
    model = Attending()
    with watch(model) as every:
        model(query, key)
    with watch(model, rows=64, seed=3) as some:
        for _ in range(200):
            model(query, key)
    for head, estimate in zip(every.heads(), some.heads(), strict=True):
        assert estimate["queries"] == 200 * 64
        for name in ("keys", "spread", "entropy", "effective_keys", "largest_weight"):
            # rows of one sequence are alike: as good as two rows of each are independent ones
            assert estimate[name] == pytest.approx(head[name], rel=0.02), name


class Attending(nn.Module):
    """Causal attention of what it is given."""

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(query, key, key, is_causal=True)


class Block(nn.Module):
    """As in nanoGPT, with dropout, and as many heads for keys as one likes."""

    def __init__(self, width: int, heads: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in self.qkv(x).chunk(3, dim=-1)
        )
        y = imported_before(
            q, k, v, dropout_p=self.dropout if self.training else 0.0, is_causal=True
        )
        return x + self.out(y.transpose(1, 2).flatten(2))


class Model(nn.Module):
    def __init__(self, recompute: bool | None = None) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Block(24, 3) for _ in range(2))
        self.recompute = recompute

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            if self.recompute is None:
                x = layer(x)
            else:
                x = checkpoint(layer, x, use_reentrant=self.recompute)
        return x


def encoder(**options: Any) -> nn.Module:
    layer = nn.TransformerEncoderLayer(24, 3, 48, batch_first=True, **options)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


class Weighing(nn.Module):
    """nn.MultiheadAttention as it is by default, with weights."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(24, 3, dropout=0.1, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        output, weights = self.attention(x, x, x, attn_mask=mask)
        return torch.cat([output, weights], dim=-1)


class Ours(nn.Module):
    """This library's function, with another divisor and, or without, weights."""

    def __init__(self, weights: bool) -> None:
        super().__init__()
        self.weights = weights
        self.project = nn.Linear(24, 24)

    def forward(self, x: Tensor) -> Tensor:
        q = self.project(x).unflatten(-1, (3, 8)).transpose(1, 2)
        output = sdpa_lib.scaled_dot_product_attention(
            q, q, q, is_causal=True, rescaling="k_mean", return_weights=self.weights
        )
        return output[0] if isinstance(output, tuple) else output


CONSUMERS: dict[str, Callable[[], nn.Module]] = {
    "nanoGPT": Model,
    "checkpoint, reentrant": lambda: Model(recompute=True),
    "checkpoint": lambda: Model(recompute=False),
    "encoder": encoder,
    "encoder, norm first": lambda: encoder(norm_first=True),
    "multi-head with weights": Weighing,
    "ours": lambda: Ours(False),
    "ours, with weights": lambda: Ours(True),
}


def run(model: nn.Module, seed: int, saved: list[Any], autocast: bool) -> list[Tensor]:
    """Output, gradients, and the next random number; and what autograd saved."""
    torch.manual_seed(seed)
    x = normal(2, 11, 24, seed=seed).requires_grad_()
    model.zero_grad()

    def pack(tensor: Tensor) -> Tensor:
        saved.append((tensor.shape, tensor.dtype))
        return tensor

    with (
        torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor),
        torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast),
    ):
        output = model(x)
    output.float().square().sum().backward()
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    return [output, x.grad, *gradients, torch.rand(3)]


@pytest.mark.parametrize("autocast", [False, True], ids=["", "autocast"])
@pytest.mark.parametrize("rows", [None, 5], ids=["all", "rows"])
@pytest.mark.parametrize("name", CONSUMERS)
def test_a_model_computes_the_same_bit_for_bit(name: str, rows: int | None, autocast: bool) -> None:
    torch.manual_seed(0)
    model = CONSUMERS[name]()
    before: list[Any] = []
    after: list[Any] = []
    plain = run(model, 1, before, autocast)
    state = copy.deepcopy(model.state_dict())
    with watch(model, rows=rows) as seen:
        watched = run(model, 1, after, autocast)
    for one, other in zip(plain, watched, strict=True):
        assert torch.equal(one, other)
    assert before == after
    assert all(torch.equal(value, state[key]) for key, value in model.state_dict().items())
    assert not seen.unmeasured
    layers = seen.layers()
    assert [layer["heads"] for layer in layers] == [3] * len(layers)
    # once each, though two of the models compute attention twice
    assert {layer["queries"] for layer in layers} == {2 * 11 if rows is None else 4}
    assert {layer["d_k"] for layer in layers} == {8}


def test_names_are_those_of_modules() -> None:
    model = Model()
    with watch(model) as seen:
        model(normal(2, 5, 24))
        model(normal(3, 5, 24))
    assert [layer["where"] for layer in seen.layers()] == ["layers.0", "layers.1"]
    assert seen.layers()[0]["queries"] == 5 * 5


@pytest.mark.parametrize("rows", [None, 1])
@pytest.mark.parametrize("masked", [False, True])
def test_query_heads_in_the_rows_of_their_key_head_are_heads(
    rows: int | None, masked: bool
) -> None:
    """As Transformers computes a step of decoding in grouped order."""
    query, key = normal(1, 6, 1, 8), normal(1, 2, 7, 8, seed=1)
    bias = normal(1, 6, 1, 7, seed=2) if masked else None

    class Packing(nn.Module):
        num_key_value_groups = 3
        config = types.SimpleNamespace(num_attention_heads=6)

        def forward(self) -> Tensor:
            mask = None if bias is None else bias.view(1, 2, 3, 7)
            return imported_before(query.view(1, 2, 3, 8), key, key, mask)

    model = Packing()
    with watch(model, rows=rows) as seen:
        model()
    agree(seen, by_the_table(query, key, bias, enable_gqa=True), 1e-4, 1e-2)


def test_calls_without_a_model_are_numbered() -> None:
    query = normal(1, 2, 5, 8)
    with watch() as seen:
        imported_before(query, query, query)
        Model()(normal(2, 5, 24))
    assert [layer["where"] for layer in seen.layers()] == ["call 1", "call 2", "call 3"]


def test_a_call_outside_the_model_is_told() -> None:
    query = normal(1, 2, 5, 8)
    with watch(Model()) as seen:
        imported_before(query, query, query)
    assert [layer["where"] for layer in seen.layers()] == ["outside every module"]


@pytest.mark.parametrize("padded", [False, True])
def test_the_fast_path_is_left_and_taken_again(padded: bool) -> None:
    model = encoder().eval()
    x = normal(2, 11, 24)
    mask = torch.zeros(2, 11, dtype=torch.bool)
    mask[1, 7:] = padded
    with torch.no_grad():
        fast = model(x, src_key_padding_mask=mask)
        with watch(model) as seen:
            watched = model(x, src_key_padding_mask=mask)
        again = model(x, src_key_padding_mask=mask)
    torch.testing.assert_close(watched[~mask], fast[~mask])
    assert torch.equal(again, fast)
    assert [layer["where"] for layer in seen.layers()] == [
        "layers.0.self_attn",
        "layers.1.self_attn",
    ]
    assert seen.layers()[0]["keys"] == (9 if padded else 11)


def test_weights_of_multi_head_attention_are_those_of_the_table() -> None:
    model = nn.MultiheadAttention(24, 3, batch_first=True)
    x = normal(2, 11, 24)
    with watch(model) as seen:
        _, weights = model(x, x, x, average_attn_weights=False)
    expected = weights.amax(-1).mean((0, 2))
    assert [head["largest_weight"] for head in seen.heads()] == pytest.approx(expected.tolist())
    assert seen.heads()[0]["scale"] == pytest.approx(8**-0.5)


@pytest.mark.parametrize("hides", [-math.inf, torch.finfo(torch.float32).min, -1e9, -1e4])
@pytest.mark.parametrize("weights", [True, False])
def test_padding_of_multi_head_attention_hides(hides: float, weights: bool) -> None:
    model = nn.MultiheadAttention(24, 3, batch_first=True)
    x = normal(2, 11, 24)
    padding = torch.zeros(2, 11)
    padding[1, 7:] = hides
    with watch(model) as seen:
        model(x, x, x, key_padding_mask=padding, need_weights=weights)
    with watch(model) as expected:
        model(x, x, x, key_padding_mask=padding < 0, need_weights=weights)
    for head, of_boolean in zip(seen.heads(), expected.heads(), strict=True):
        assert head == pytest.approx(of_boolean)
    assert seen.heads()[0]["keys"] == 9


def test_nothing_is_left_after_an_exception() -> None:
    query = normal(1, 2, 5, 8)
    with watch() as seen:
        imported_before(query, query, query)
        with pytest.raises(RuntimeError), watch():
            imported_before(query, query[..., :3], query)
    imported_before(query, query, query)
    assert len(seen.layers()) == 1


def test_generators_may_leave_in_any_order() -> None:
    query = normal(1, 2, 5, 8)

    def watching() -> Iterator[Seen]:
        with watch() as seen:
            yield seen
            yield seen

    class Other(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None):  # type: ignore[no-untyped-def]
            return func(*args, **(kwargs or {}))

    first, second = watching(), watching()
    seen_first = next(first)
    with Other():
        seen_second = next(second)
        imported_before(query, query, query)
        first.close()
        imported_before(query, query, query)
        second.close()
        imported_before(query, query, query)
        assert len(_get_current_function_mode_stack()) == 1
    assert (len(seen_first.layers()), len(seen_second.layers())) == (1, 2)


def test_a_copy_of_the_model_made_inside_is_a_plain_model() -> None:
    model = Model()
    with watch(model):
        twin = copy.deepcopy(model)
    for module in twin.modules():
        assert not module._forward_pre_hooks
        assert not module._forward_hooks
    with watch(model) as seen:
        twin(normal(1, 5, 24))
    assert [layer["where"] for layer in seen.layers()] == ["outside every module"]


def test_other_threads_are_not_seen() -> None:
    query = normal(1, 2, 5, 8)
    with watch() as seen:
        thread = threading.Thread(target=imported_before, args=(query, query, query))
        thread.start()
        thread.join()
    assert seen.heads() == []
    assert "No call" in str(seen)


def test_watching_and_rescaling_nest_in_any_order() -> None:
    query = normal(1, 2, 9, 16)
    expected = by_the_table(query, query, rescaling="d_k")
    with watch() as outer, rescaled("k_mean"), rescaled("d_k"), watch() as inner:
        output = imported_before(query, query, query)
    for seen in (outer, inner):
        agree(seen, expected, 1e-4, 1e-2)
        assert seen.heads()[0]["scale"] == pytest.approx(1 / 16)
    assert torch.equal(
        output, sdpa_lib.scaled_dot_product_attention(query, query, query, rescaling="d_k")
    )


def test_only_the_modules_that_match_are_rescaled() -> None:
    model = Model()
    with watch(model) as seen, rescaled("d_k", model, only="layers.1"):
        model(normal(2, 5, 24))
    assert [layer["scale"] for layer in seen.layers()] == pytest.approx([8**-0.5, 1 / 8])


BACKWARD: dict[str, Callable[[Tensor, list[Tensor]], Any]] = {
    "loss.backward": lambda loss, _: loss.backward(),
    "autograd.backward": lambda loss, _: torch.autograd.backward(loss),
    "autograd.grad": lambda loss, of: torch.autograd.grad(loss, of),
}


@pytest.mark.parametrize("name", BACKWARD)
@pytest.mark.parametrize("recompute", [True, False], ids=["reentrant", ""])
def test_rescaled_reaches_what_a_backward_pass_computes_once_more(
    name: str, recompute: bool
) -> None:
    if recompute and name == "autograd.grad":
        pytest.skip("PyTorch has no gradients of reentrant checkpoints there")

    def gradients(model: Model) -> list[Tensor]:
        x = normal(2, 5, 24).requires_grad_()
        of = [x, *model.parameters()]
        with rescaled("k_mean"):
            given = BACKWARD[name](model(x).square().sum(), of)
        return list(given) if given else [p.grad for p in of if p.grad is not None]

    model = Model(recompute).eval()
    plain = copy.deepcopy(model)
    plain.recompute = None
    for gradient, expected in zip(gradients(model), gradients(plain), strict=True):
        assert torch.equal(gradient, expected)


def test_a_subclass_that_overrides_the_backward_pass_goes_on_doing_so() -> None:
    class Own(Tensor):
        calls = 0

        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None):  # type: ignore[no-untyped-def]
            cls.calls += func is Tensor.backward
            return super().__torch_function__(func, types, args, kwargs)

    with watch():
        normal(3).requires_grad_().as_subclass(Own).sum().backward()  # type: ignore[no-untyped-call]
    assert Own.calls == 1


def test_rescaled_reaches_the_gradients() -> None:
    torch.manual_seed(0)
    model, x = Block(24, 3, dropout=0.0), normal(2, 5, 24)
    with rescaled("k_total"):
        model(x).square().sum().backward()
    gradient = model.qkv.weight.grad
    q, k, v = (
        part.unflatten(-1, (3, -1)).transpose(1, 2) for part in model.qkv(x).chunk(3, dim=-1)
    )
    y = sdpa_lib.scaled_dot_product_attention(q, k, v, is_causal=True, rescaling="k_total")
    expected = (x + model.out(y.transpose(1, 2).flatten(2))).square().sum()
    torch.testing.assert_close(gradient, torch.autograd.grad(expected, model.qkv.weight)[0])


def test_what_rescaled_can_not_express_is_refused() -> None:
    query = normal(1, 2, 5, 8)
    with rescaled("k_mean"):
        with pytest.raises(ValueError, match="passes scale=1"):
            imported_before(query, query, query, scale=1.0)
        with pytest.raises(ValueError, match="need_weights=False"):
            Weighing()(normal(2, 5, 24))
        imported_before(query, query, query, scale=0.3)  # a factor of the model's is replaced
    for error, arguments, only in (
        (ValueError, ("no such",), None),
        (ValueError, ("k_mean",), "*"),
        (ValueError, ("k_mean", Model()), "layers.7"),
        (TypeError, ("k_mean", "model"), None),
        (ValueError, (sdpa_lib.RunningDivisor("k_mean"),), None),
    ):
        with pytest.raises(error), rescaled(*arguments, only=only):  # type: ignore[arg-type]
            pass


@pytest.mark.parametrize(
    ("error", "options"),
    [(TypeError, {"rows": 1.5}), (ValueError, {"rows": 0}), (TypeError, {"model": "gpt2"})],
)
def test_bad_arguments(error: type[Exception], options: dict[str, Any]) -> None:
    with pytest.raises(error, match=next(iter(options))), watch(**options):
        pass


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")  # Dynamo looks at it
def test_compiled_code_computes_the_same_and_is_told() -> None:
    """It was compiled before, is compiled again inside, and goes on after."""
    torch._dynamo.reset()
    model = Model().eval()
    compiled = torch.compile(model, backend="aot_eager")
    x = normal(2, 5, 24)
    before = compiled(x)
    with watch(model) as seen:
        inside = compiled(x)
        assert torch.equal(compiled(x), inside)
    assert torch.equal(inside, before)
    assert "torch.compile were not seen" in str(seen)
    with torch.compiler.set_stance("force_eager"), watch(model) as seen:
        compiled(x)
    assert [layer["where"] for layer in seen.layers()] == ["layers.0", "layers.1"]
    assert "not seen" not in str(seen)


def test_what_is_printed() -> None:
    model = Model()
    with watch(model) as seen:
        model(normal(2, 50, 24))
    lines = str(seen).splitlines()
    assert len(lines) == 4
    assert max(map(len, lines)) <= 100
    assert lines[-1] == "Nothing stands out."
    assert "<td>layers.1</td>" in seen._repr_html_()
    scalars = seen.scalars("x/")
    assert all(isinstance(value, float) for value in scalars.values())
    assert scalars["x/layers.1/spread"] == seen.layers()[1]["spread"]
    seen.reset()
    assert seen.heads() == []


@pytest.mark.parametrize(
    ("times", "remark"),
    [
        (100.0, "saturated: call 1"),
        (0.0, "all keys effective: call 1"),
        (1e4, "65,504"),
        (math.nan, "not numbers"),
    ],
)
def test_what_stands_out_is_said(times: float, remark: str) -> None:
    query = normal(1, 2, 20, 8) * times
    with watch() as seen:
        imported_before(query, query, query)
    assert remark in str(seen).splitlines()[-1]


def test_a_mask_that_is_not_a_number_makes_no_figure_of_its_row() -> None:
    query, mask = normal(1, 2, 5, 8), torch.zeros(5, 5)
    mask[2, 3] = math.nan
    with watch() as seen:
        output = imported_before(query, query, query, mask)
    assert output.isnan().any()
    assert "not numbers: call 1" in str(seen)


def test_a_first_key_that_takes_all_is_said() -> None:
    query = torch.ones(1, 1, 9, 4)
    key = torch.zeros(1, 1, 9, 4)
    key[..., 0, :] = 5.0
    with watch() as seen:
        imported_before(query, key, key)
    assert "first key takes more than half" in str(seen)


def nested(query: Tensor) -> Any:
    """Of the kind whose shape can not be asked for."""
    several = torch.nested.nested_tensor([query[0], query[0, :, :3]])
    return imported_before(several, several, several).to_padded_tensor(0.0)


UNMEASURED: dict[str, Callable[[Tensor], Any]] = {
    "vmap": torch.vmap(lambda x: imported_before(x, x, x)),
    "grad": torch.func.grad(lambda x: imported_before(x, x, x).sum()),
    "grad, of a mask": lambda query: torch.func.grad(
        lambda x: imported_before(query, query, query, x).sum()
    )(torch.zeros(5, 5)),
    "grad, with weights": torch.func.grad(
        lambda x: nn.MultiheadAttention(8, 2, bias=False)(x[0], x[0], x[0])[1].sum()
    ),
    "meta": lambda query: imported_before(*3 * [query.to("meta")]).shape,
    "fake": lambda query: (
        make_fx(lambda x: imported_before(x, x, x), tracing_mode="fake")(query).code
    ),
    "symbolic": lambda _: str(torch.fx.symbolic_trace(Attending()).graph),
    "nested": nested,
}


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("rows", [None, 3])
@pytest.mark.parametrize("name", UNMEASURED)
def test_a_call_that_can_not_be_measured_is_told(name: str, rows: int | None) -> None:
    query = normal(3, 2, 5, 8)
    torch.manual_seed(0)
    expected = UNMEASURED[name](query)
    torch.manual_seed(0)
    with watch(rows=rows) as seen:
        output = UNMEASURED[name](query)
    assert torch.equal(output, expected) if isinstance(output, Tensor) else output == expected
    assert seen.heads() == []
    assert "call 1 was not measured" in str(seen)


def test_other_modes_do_not_see_the_measuring() -> None:
    """Operations that are counted or recorded, and a default device without values."""
    query, weights = normal(3, 2, 5, 8), normal(8, 8)

    class Counting(TorchFunctionMode):
        calls = 0

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None):  # type: ignore[no-untyped-def]
            self.calls += 1
            return func(*args, **(kwargs or {}))

    def counted(watching: Any) -> tuple[int, int, Any]:
        with (
            Counting() as functions,
            torch.device("meta"),
            FlopCounterMode(display=False) as flops,
            watching as seen,
        ):
            imported_before(query, query @ weights, query)
        return functions.calls, flops.get_total_flops(), seen

    *expected, _ = counted(contextlib.nullcontext())
    for rows in (3, None):
        *counts, seen = counted(watch(rows=rows))
        assert counts == expected
        assert seen.layers()[0]["queries"] == (3 if rows else 15)


def test_a_recorded_graph_holds_no_measuring() -> None:
    model, query = Attending(), normal(1, 2, 5, 8)
    expected = make_fx(model)(query, query).code
    with watch(model) as seen:
        code = make_fx(model)(query, query).code
    assert code == expected
    assert [layer["where"] for layer in seen.layers()] == ["Attending"]


def test_a_mode_may_be_left_in_another_thread() -> None:
    """As a web framework leaves the generator of a dependency."""
    query = normal(1, 2, 5, 8)

    def watching() -> Iterator[Seen]:
        with watch() as seen:
            yield seen

    generator, errors = watching(), []
    seen = next(generator)

    def close() -> None:
        try:
            generator.close()  # type: ignore[attr-defined]
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=close)
    thread.start()
    thread.join()
    assert not errors
    imported_before(query, query, query)
    assert seen.heads() == []
    with watch() as seen:  # which takes it from the stack at last
        imported_before(query, query, query)
    assert len(seen.layers()) == 1


def test_a_model_called_by_a_backward_pass_is_seen_where_watch_is_entered_there() -> None:
    query, counts = normal(1, 2, 5, 8).requires_grad_(), []

    def watching(gradient: Tensor) -> Tensor:
        with watch() as seen:
            imported_before(gradient, gradient, gradient)
        counts.append(len(seen.layers()))
        return gradient

    output = imported_before(query, query, query)
    output.register_hook(watching)
    with watch() as seen:
        output.sum().backward()
    assert counts == [1]
    assert seen.heads() == []


def test_qk_clip_limits_a_score_and_changes_no_other_head() -> None:
    """QK-clip in ten lines: the matrices of a head that is over the limit, times the root."""
    model, limit = Block(24, 3, dropout=0.0), 2.0
    with torch.no_grad():
        model.qkv.weight.view(3, 3, 8, 24)[:2, 1] *= 20.0
    x = normal(2, 9, 24)
    for over in (True, False):
        before = model(x)
        with watch(model) as seen:
            model(x)
        with torch.no_grad():
            of_head = model.qkv.weight.view(3, 3, 8, 24), model.qkv.bias.view(3, 3, 8)
            for head in seen.heads():
                factor = min(1.0, math.sqrt(limit / head["largest_score"]))
                factor = factor if over else min(1.0, factor * 1.001)
                for parameter in of_head:
                    parameter[:2, head["head"]] *= factor
        assert torch.equal(model(x), before) is not over
    with watch(model) as seen:
        model(x)
    largest = [head["largest_score"] for head in seen.heads()]
    assert largest[1] == pytest.approx(limit, rel=1e-5)


def test_two_kinds_of_attention_in_one_module_stand_apart() -> None:
    class Both(nn.Module):
        def forward(self, x: Tensor) -> None:
            for heads in (2, 4, 4):
                q = x.unflatten(-1, (heads, -1)).transpose(1, 2)
                imported_before(q, q, q)

    model = Both()
    with watch(model) as seen:
        model(normal(2, 5, 24))
    assert [(x["where"], x["heads"], x["queries"]) for x in seen.layers()] == [
        ("Both", 2, 10),
        ("Both (4 heads of 6)", 4, 20),
    ]
    assert (
        seen.scalars()["attention/Both/spread"]
        != seen.scalars()["attention/Both (4 heads of 6)/spread"]
    )


@pytest.mark.parametrize("only", ["layers.1", "*.1", "layers.1*", "l*1"])
def test_only_means_a_module_and_what_is_in_it(only: str) -> None:
    model = nn.Module()
    model.layers = nn.ModuleList(nn.Sequential(Block(24, 3)) for _ in range(2))
    x = normal(2, 5, 24)
    with watch(model) as seen, rescaled("d_k", model, only=only):
        for layer in model.layers:
            layer(x)
    assert [layer["scale"] for layer in seen.layers()] == pytest.approx([8**-0.5, 1 / 8])


def test_only_says_what_it_may_have_meant() -> None:
    with (
        pytest.raises(ValueError, match=r"Did you mean 'layers\.1'"),
        rescaled("d_k", Model(), only=".1"),
    ):
        pass
    with pytest.raises(TypeError, match="only must be a str, got int"), rescaled("d_k", only=3):  # type: ignore[arg-type]
        pass


def test_rescaled_warns_where_it_changed_nothing() -> None:
    with pytest.warns(UserWarning, match="'d_k'.* has changed no call"), rescaled("d_k"):
        torch.softmax(normal(3, 3), dim=-1)


def test_a_head_that_stands_out_is_named() -> None:
    model = Model()
    with torch.no_grad():
        model.layers[1].qkv.weight.view(3, 3, 8, 24)[0, 2] *= 50.0
    with watch(model) as seen:
        model(normal(4, 30, 24))
    assert str(seen).splitlines()[-1] == (
        "spread over four times the median head's: layers.1 head 2."
    )


def test_compiled_encoders_are_told_too() -> None:
    torch._dynamo.reset()
    model = encoder().train()
    compiled = torch.compile(model, backend="aot_eager")
    with watch(model) as seen:
        compiled(normal(2, 5, 24))
    assert seen.heads() or "torch.compile were not seen" in str(seen)


def test_rows_lie_over_the_whole_length() -> None:
    """Of 64 rows in causal order the mean number of keys is nearly right in a single call."""
    query = torch.zeros(8, 1, 640, 4)
    with watch(rows=64) as seen:
        F.scaled_dot_product_attention(query, query, query, is_causal=True)
    assert seen.heads()[0]["keys"] == pytest.approx(320.5, abs=25)  # evenly drawn: 46 off


def test_the_package_lists_what_it_has() -> None:
    assert {"watch", "rescaled", "Seen", "transformers", "sample"} - set(dir(sdpa_lib)) == {
        "sample"
    }


def test_a_head_of_which_no_row_sees_a_key_has_no_figures() -> None:
    query = normal(1, 2, 4, 8)
    mask = torch.zeros(1, 2, 4, 4, dtype=torch.bool)
    with watch() as seen:
        imported_before(query, query, query, mask)
    assert str(seen) == "Of the calls that were seen no row sees a key."
    mask[:, 1] = True
    with watch() as seen:
        imported_before(query, query, query, mask)
    assert [head["head"] for head in seen.heads()] == [1]
    assert "not numbers" not in str(seen)


def test_a_table_of_long_names_fits_and_tells_modules_apart() -> None:
    class Deep(nn.Module):
        def __init__(self, levels: int) -> None:
            super().__init__()
            if levels:
                parts = [Deep(levels - 1) for _ in range(2)]
                self.transformer_blocks_of_this_level = nn.ModuleList(parts)

        def forward(self, x: Tensor) -> None:
            for part in getattr(self, "transformer_blocks_of_this_level", []):
                part(x)
            if not list(self.children()):
                imported_before(x, x, x)

    model = Deep(3)
    with watch(model) as seen:
        model(normal(1, 1, 2_000, 4) * 1e4)
    lines = str(seen).splitlines()
    assert max(map(len, lines[:9])) <= 100
    assert len({line.split()[0] for line in lines[1:9]}) == 8
