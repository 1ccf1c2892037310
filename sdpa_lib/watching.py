r"""What attention does in a model: :func:`watch` measures every call, :func:`rescaled` divides by
something else. The model's own code stays as it is.

::

    with sdpa_lib.watch(model) as seen:
        loss = model(**batch).loss
        loss.backward()
    print(seen)                        # a line a layer
    wandb.log(seen.scalars())          # a flat dict of floats
    with sdpa_lib.rescaled("k_mean"):  # another divisor, in the same model
        model(**batch)

**What is seen.** Every call of :func:`torch.nn.functional.scaled_dot_product_attention`, under
whatever name a module has imported it, and of
:func:`sdpa_lib.scaled_dot_product_attention <sdpa_lib.attention.scaled_dot_product_attention>`. So
models of Hugging Face Transformers with ``"sdpa"``, timm, diffusers and
:class:`torch.nn.MultiheadAttention` are seen, the latter with ``need_weights=True``, too. Not seen
is attention that a model computes by hand, that of another library's kernel (flash-attn, xFormers),
:func:`~torch.nn.attention.flex_attention.flex_attention`, and what runs in TorchScript.
``print(seen)`` says so where no call was seen, and can't where some were. What a backward pass
computes once more, as activation checkpointing does, is not counted again. What can't be measured
is named by ``print`` with the reason: nested tensors, those without values, and transforms of
:mod:`torch.func`.

**What it leaves as it is.** Outputs, gradients, the state of random generators and saved tensors
are those without it, bit for bit. There is one exception: in evaluation
:class:`torch.nn.TransformerEncoder` and :class:`torch.nn.MultiheadAttention` have a fast path in
one kernel, which makes no such call. Inside it is left, as it is left in training, and outputs
agree to rounding, but for rows of padding, which mean nothing. Nested tensors as input, which only
that path takes, are refused by PyTorch there.

**Threads.** It works by a :class:`torch.overrides.TorchFunctionMode`, which belongs to the thread
that entered: nothing is patched, other threads see and pay nothing, and their calls are not seen.

**torch.compile.** Calls in compiled code are not seen, and ``print(seen)`` says so; the code is
compiled once more inside, and the old one goes on outside. To see them, run it as it is written,
which holds for all threads: ``with torch.compiler.set_stance("force_eager"), sdpa_lib.watch(model)
as seen:``. Where ``rescaled`` changes a call, PyTorch runs the code around it as it is written.
"""

from __future__ import annotations

import difflib
import fnmatch
import html
import itertools
import math
import random
import statistics
import sys
import textwrap
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType, FunctionType
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch._C._functorch import is_functorch_wrapped_tensor
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack
from torch.utils._python_dispatch import _disable_current_modes

from sdpa_lib._checks import check_count, scales_itself, type_of
from sdpa_lib._rows import RowFigures, figures_of_rows, figures_of_scores, prepare
from sdpa_lib.attention import scaled_dot_product_attention
from sdpa_lib.device import is_tracing, widest_dtype
from sdpa_lib.rescaling import AnyRescaling, Rescaling, get_rescaling
from sdpa_lib.visibility import HIDES

_PYTORCHS = F.scaled_dot_product_attention
_MULTI_HEAD = F.multi_head_attention_forward
_BACKWARD = (Tensor.backward, torch.autograd.backward, torch.autograd.grad)
_OVERRIDES_NOTHING = (
    Tensor.__torch_function__.__func__,  # type: ignore[attr-defined]
    nn.Parameter.__torch_function__,
)
_MODULE_CALL = nn.Module._wrapped_call_impl.__code__  # also where a tracer wraps ``__call__``

SATURATED = 0.9
"""A row counts as saturated where its largest weight is above this."""

SEQUENCES = 4
"""From how many sequences of a batch, at most, the rows of ``watch(rows=...)`` are taken."""

_MEANS = (
    "keys",
    "scale",
    "spread",
    "entropy",
    "effective_keys",
    "largest_weight",
    "saturated",
    "first_key",
)
"""The figures that are means over rows."""

_NO_CALL = """\
No call of scaled_dot_product_attention was seen. Either nothing ran inside `with`, or in another
thread, or reset() has forgotten it; or the model computes attention by hand or in a kernel of its
own: a model of Hugging Face Transformers calls it after model.set_attn_implementation("sdpa")."""

_NO_ROW = "Of the calls that were seen no row sees a key."

_COMPILED = """\
Calls in code of torch.compile were not seen: put `with torch.compiler.set_stance("force_eager"):`
around, which runs it as it is written."""


class Seen:
    """What :func:`watch` has measured: ``print`` it, or ask :meth:`heads` or :meth:`scalars`, also
    while watching, such as after each step of a training.

    A printed line is a layer: means over its heads (``weight`` is the largest of a row, ``> 0.9``
    the share of rows where it is above that), and the largest score. Below, the layers and heads
    are named that stand out: figures that are not numbers; scores above 65,504; more than
    0.9 of the rows saturated; effective keys above 0.95 of the keys; more than half of the weight
    on the first of at least three keys; a spread more than four times the median head's.

    Attributes:
        unmeasured: modules with calls that could not be measured, and why.
    """

    def __init__(self) -> None:
        self.unmeasured: dict[str, str] = {}
        self._compiled = False
        self._calls = 0
        self._kinds: dict[str, tuple[int, int]] = {}  # heads and d_k of what has a name first
        self._sums: dict[tuple[str, int], tuple[Tensor, Tensor, Tensor]] = {}

    def reset(self) -> None:
        """Forget everything that was measured so far."""
        Seen.__init__(self)

    def heads(self) -> list[dict[str, Any]]:
        """One dict for each layer and head, in the order in which layers were first called.

        ``pandas.DataFrame`` takes the list. All figures are means over rows, of every sequence and
        call, but for the last. A row that sees no key does not count; queries at places of padding
        do, and so does the first row of causal order, whose one key has all of its weight.

        - ``where``: the module's name in the model, or ``"call 3"``; calls of anybody else are
          ``"outside every module"``;
        - ``head``, ``d_k``; ``queries``: rows measured; ``keys``: that a row sees;
        - ``scale``: what dot products are multiplied by, :math:`1/\\sqrt{d_k}` in most models;
        - ``spread``: the standard deviation of a row's scores, over the n keys that it sees
          (divided by n);
        - ``entropy`` in nats; ``effective_keys``: :math:`1/\\sum_j p_j^2`;
        - ``largest_weight``; ``saturated``: the share of rows where it is above 0.9;
        - ``first_key``: the weight on the first key that a row sees;
        - ``largest_score``: of all rows that were measured, after scale and bias.

        Example:
            >>> query = torch.zeros(1, 2, 8, 16)
            >>> with watch() as seen:
            ...     _ = F.scaled_dot_product_attention(query, query, query)
            >>> seen.heads()[1]["largest_weight"]
            0.125
        """
        rows = []
        for (where, d_k), (sums, n_rows, largest) in self._sums.items():
            means = (sums / n_rows).tolist()
            for head, count in enumerate(n_rows.tolist()):
                if not count:
                    continue
                row = {"where": where, "head": head, "d_k": d_k, "queries": int(count)}
                row |= {name: means[i][head] for i, name in enumerate(_MEANS)}
                rows.append(row | {"largest_score": largest[head].item()})
        return rows

    def layers(self) -> list[dict[str, Any]]:
        """One dict for each layer: means over its heads, the largest of ``largest_score``, and in
        ``heads`` how many there are.
        """
        layers: dict[str, list[dict[str, Any]]] = {}
        for head in self.heads():
            layers.setdefault(head["where"], []).append(head)
        return [
            {
                "where": heads[0]["where"],
                "heads": len(heads),
                "d_k": heads[0]["d_k"],
                "queries": heads[0]["queries"],
                **{name: sum(head[name] for head in heads) / len(heads) for name in _MEANS},
                "largest_score": _largest([head["largest_score"] for head in heads]),
            }
            for heads in layers.values()
        ]

    def scalars(self, prefix: str = "attention/") -> dict[str, float]:
        """The layers' figures in a flat dict, for TensorBoard, MLflow or Weights & Biases.

        Example:
            >>> query = torch.zeros(1, 2, 8, 16)
            >>> with watch() as seen:
            ...     _ = F.scaled_dot_product_attention(query, query, query)
            >>> seen.scalars()["attention/call 1/largest_weight"]
            0.125
        """
        names = [name for name in _MEANS if name not in ("keys", "scale")]
        return {
            f"{prefix}{layer['where']}/{name}": layer[name]
            for layer in self.layers()
            for name in (*names, "largest_score")
        }

    def __str__(self) -> str:
        table, notes = self._table_and_notes()
        if not table:
            return notes
        return f"{as_text(table)}\n{notes}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        table, notes = self._table_and_notes()
        tags = ["th", *["td"] * (len(table) - 1)]
        rows = "".join(
            f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in line)}</tr>"
            for tag, line in zip(tags, table, strict=False)
        )
        return f"<table>{rows}</table><p>{html.escape(notes)}</p>"

    def _table_and_notes(self) -> tuple[list[list[str]], str]:
        """A table of texts, its first line the heads of its columns; and what stands below it."""
        layers = self.layers()
        notes = [f"{where} was not measured: {why}" for where, why in self.unmeasured.items()]
        if self._compiled:
            notes.append(_COMPILED)
        if not layers:
            return [], "\n".join(notes or [_NO_ROW if self._calls else _NO_CALL])
        columns: dict[str, Callable[[dict[str, Any]], str]] = {
            "layer": lambda x: shortened_name(x["where"], 28),
            "heads": lambda x: str(x["heads"]),
            "keys": lambda x: f"{x['keys']:,.0f}",
            "spread": lambda x: f"{x['spread']:.{'2f' if x['spread'] < 1e3 else '3g'}}",
            "eff. keys": lambda x: f"{x['effective_keys']:,.1f}",
            "weight": lambda x: f"{x['largest_weight']:.2f}",
            "> 0.9": lambda x: f"{100 * x['saturated']:.0f} %",
            "first key": lambda x: f"{x['first_key']:.2f}",
            "top score": lambda x: f"{x['largest_score']:.4g}",
        }
        table = [list(columns), *([text_of(x) for text_of in columns.values()] for x in layers)]
        return table, "\n".join([_standing_out(self.heads()), *notes])


def _largest(numbers: list[float]) -> float:
    """NaN, if one is."""
    return math.nan if any(map(math.isnan, numbers)) else max(numbers)


def as_text(table: list[list[str]]) -> str:
    """Lines of cells in columns, of which the first stands to the left."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in table
    )


def shortened_name(name: str, width: int) -> str:
    """A module's name, the words before its last cut to equally many letters, as many as fit: the
    numbers, which tell modules apart, stay.
    """
    *above, last = name.split(".")
    for letters in range(max(map(len, above), default=0), 0, -1):
        short = (part if part.isdigit() else part[:letters] for part in above)
        if len(shortened := ".".join([*short, last])) <= width:
            return shortened
    return name if len(name) <= width else "..." + name[3 - width :]


def _standing_out(heads: list[dict[str, Any]]) -> str:
    """In words which of them are unusual: layers, if all their heads are, and heads."""
    usual = statistics.median(head["spread"] for head in heads)
    kinds: dict[str, Callable[[dict[str, Any]], bool]] = {
        "figures are not numbers": lambda x: not math.isfinite(x["spread"] + x["entropy"]),
        "a score above 65,504, where float16 ends": lambda x: x["largest_score"] > 65504,
        "nearly all rows saturated": lambda x: x["saturated"] > 0.9,
        "nearly all keys effective": lambda x: x["effective_keys"] > 0.95 * x["keys"] > 1,
        "the first key takes more than half": lambda x: x["first_key"] > 0.5 and x["keys"] > 2.5,
        "spread over four times the median head's": lambda x: x["spread"] > 4.0 * usual > 0.0,
    }
    sizes = Counter(head["where"] for head in heads)

    def named(unusual: list[dict[str, Any]]) -> str:
        names: list[str] = []
        for where, those in itertools.groupby(unusual, key=lambda head: head["where"]):
            numbers = [str(head["head"]) for head in those]
            some = f" head {', '.join(numbers[:3])}" + (" ..." if len(numbers) > 3 else "")
            names.append(where + (some if len(numbers) < sizes[where] else ""))
        return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")

    of_kinds = {kind: [x for x in heads if holds(x)] for kind, holds in kinds.items()}
    phrases = [f"{kind}: {named(those)}" for kind, those in of_kinds.items() if those]
    return textwrap.fill("; ".join(phrases) + "." if phrases else "Nothing stands out.", 100)


class _Watcher:
    """One ``watch``: a model's names, and what to measure."""

    def __init__(self, model: nn.Module | None, rows: int | None, seed: int) -> None:
        self.names = _names(model)
        self.rows = rows
        self.seen = Seen()
        self._backward = torch._C._current_graph_task_id()  # the pass that runs meanwhile; -1: none
        self._random = random.Random(seed)  # nobody else draws from it

    def tell(self, measure: Callable[[_Watcher], tuple[RowFigures, int]]) -> None:
        """Measure a call, and add the figures, of heads of d_k dimensions, to what was seen. No
        mode of anybody else, which may count or record operations, is shown how.
        """
        if torch._C._current_graph_task_id() != self._backward:  # it computes the call once more
            return
        seen = self.seen
        seen._calls += 1
        where = f"call {seen._calls}"
        if self.names is not None:
            where = _module_of_call(self.names)[0] or "outside every module"
        others = torch._C._len_torch_dispatch_stack()
        with torch._C.DisableTorchFunction(), _disable_current_modes() if others else nullcontext():
            try:
                figures, d_k = measure(self)
            except Exception as error:  # of an unusual tensor; the model itself can take it
                seen.unmeasured[where] = f"{type(error).__name__}: {error}"
                return
            if figures.keys.numel():
                self._add(where, figures, d_k)

    def _add(self, where: str, figures: RowFigures, d_k: int) -> None:
        sums_seen = self.seen._sums
        wide = widest_dtype(figures.keys.device)
        sees = figures.keys > 0  # (B, H, R)
        saturated = (figures.largest_weight > SATURATED).to(figures.keys.dtype)
        means = [saturated if name == "saturated" else getattr(figures, name) for name in _MEANS]
        sums = torch.stack(means).masked_fill_(~sees, 0.0).sum((1, 3), dtype=wide)  # (8, H)
        n_rows = sees.sum((0, 2))
        largest = figures.largest_score.masked_fill(~sees, -math.inf).amax((0, 2)).to(wide)
        kind = (sums.shape[1], d_k)
        if self.seen._kinds.setdefault(where, kind) != kind:  # attention of two kinds in a module
            where = f"{where} ({kind[0]} heads of {d_k})"
        key = (where, d_k)
        if key in sums_seen:
            before = sums_seen[key]
            sums, n_rows = sums + before[0], n_rows + before[1]
            largest = torch.maximum(largest, before[2])
        sums_seen[key] = sums, n_rows, largest

    def of_call(self, *args: Any, **kwargs: Any) -> RowFigures:
        """The figures of all rows, or of those that are drawn."""
        call = prepare(*args, **kwargs)
        drawn = self._drawn(call.query)
        return figures_of_rows(call) if drawn is None else figures_of_rows(*call.of_rows(*drawn))

    def of_scores(self, scores: Tensor, scale: float) -> RowFigures:
        """The same of a table of scores (B, H, L, S)."""
        drawn = self._drawn(scores)
        if drawn is not None:
            scores = scores.index_select(0, drawn[0]).index_select(-2, drawn[1])
        return figures_of_scores(scores, scale)

    def _drawn(self, x: Tensor) -> tuple[Tensor, Tensor] | None:
        """The numbers of some sequences and rows of (B, ..., L, any); None: all."""
        n_batch, n_rows = x.shape[0], x.shape[-2]
        if self.rows is None or self.rows >= n_batch * n_rows or x.numel() == 0:
            return None
        sequences = self._random.sample(range(n_batch), min(n_batch, SEQUENCES, self.rows))
        # One row in each of as many equal parts: what depends on the place differs little.
        n_parts = min(n_rows, self.rows // len(sequences))
        places = [(i + self._random.random()) * n_rows / n_parts for i in range(n_parts)]
        rows = [min(int(place), n_rows - 1) for place in places]
        return torch.tensor(sequences, device=x.device), torch.tensor(rows, device=x.device)


class _Rescaler:
    """One ``rescaled``: which calls get which divisor."""

    def __init__(self, rescaling: Rescaling, model: nn.Module | None, only: str | None) -> None:
        self.rescaling = rescaling
        self.names = _names(model)
        self.only = only
        self.calls = 0  # that it was for

    def applies(self) -> bool:
        if self.names is None:
            return True
        name, _ = _module_of_call(self.names)
        return name is not None and (self.only is None or self._matches(name, self.only))

    @staticmethod
    def _matches(name: str, only: str) -> bool:
        """Whether the name is meant, or that of a module which it is a part of."""
        parts = name.split(".")
        names = (".".join(parts[: i + 1]) for i in range(len(parts)))
        return any(fnmatch.fnmatchcase(whole, only) for whole in names)


class _Calls(TorchFunctionMode):
    """Sees the calls of one thread, for all its ``watch`` and ``rescaled`` in the order in which
    they were entered.
    """

    def __init__(self) -> None:
        super().__init__()
        self.watchers: list[_Watcher] = []
        self.rescalers: list[_Rescaler] = []

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is _PYTORCHS or func is scaled_dot_product_attention:
            return self._attention(func, args, kwargs)
        if func is _MULTI_HEAD:
            if torch.compiler.is_compiling():
                return self._attention(func, args, kwargs)
            return self._multi_head(*args, **kwargs)
        if func in _BACKWARD and all(map(_overrides_nothing, types)):  # they may compute it again
            return self._seeing(func)(*args, **kwargs)
        return func(*args, **kwargs)

    def _seeing(self, func: Any, **names: Any) -> Callable[..., Any]:
        """The body of one of PyTorch's functions with this mode seeing what it calls: the function
        would give all of itself to the mode again. ``names`` mean something else in it.
        """
        names = {"has_torch_function": _not_here, "has_torch_function_unary": _not_here, **names}
        names = {**func.__globals__, **names}
        body = FunctionType(func.__code__, names, argdefs=func.__defaults__)
        body.__kwdefaults__ = func.__kwdefaults__

        def seen(*args: Any, **kwargs: Any) -> Any:
            with self:
                return body(*args, **kwargs)

        return seen

    def _attention(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        if torch.compiler.is_compiling():
            if self.rescalers:
                raise RuntimeError(
                    "rescaled does not work in code of torch.compile: add "
                    'torch.compiler.set_stance("force_eager")'
                )
            for watcher in self.watchers:
                watcher.seen._compiled = True
            return func(*args, **kwargs)
        call = _bound(*args, **kwargs)
        rescalers = [x for x in self.rescalers if x.applies()]
        if rescalers:
            _check_expressible(func, call)
            for rescaler in rescalers:
                rescaler.calls += 1
            call |= {"rescaling": rescalers[-1].rescaling, "scale": None}
            output = scaled_dot_product_attention(**call)
        else:
            output = func(*args, **kwargs)
        for watcher in self.watchers:
            watcher.tell(lambda watcher: _measured(watcher, call))
        return output

    def _multi_head(self, *args: Any, **kwargs: Any) -> Any:
        """What PyTorch's function calls, and the scores that it makes where it is to return
        weights.
        """

        def softmax(scores: Tensor, dim: int) -> Tensor:
            if self.rescalers and any(rescaler.applies() for rescaler in self.rescalers):
                raise ValueError(
                    "nn.MultiheadAttention with need_weights=True scales its queries itself: "
                    "rescaled needs need_weights=False"
                )
            d_k = query.shape[-1] // n_heads
            mask = sys._getframe(1).f_locals["attn_mask"]  # all that was added to the scores

            def measured(watcher: _Watcher) -> tuple[RowFigures, int]:
                _check_values(scores)
                table = scores.detach()
                if mask is not None:
                    table = table.masked_fill(mask <= HIDES, -math.inf)
                table = table.view(-1, n_heads, *table.shape[-2:])  # (B, H, L, S)
                return watcher.of_scores(table, d_k**-0.5), d_k

            for watcher in self.watchers:
                watcher.tell(measured)
            return F.softmax(scores, dim=dim)

        query, n_heads = args[0], args[4]
        return self._seeing(_MULTI_HEAD, softmax=softmax)(*args, **kwargs)


def _not_here(_: Any) -> bool:
    return False


def _overrides_nothing(kind: Any) -> bool:
    """Whether a class of tensors leaves all functions as they are."""
    function = kind.__torch_function__
    return getattr(function, "__func__", function) in _OVERRIDES_NOTHING


def _bound(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    **others: Any,
) -> dict[str, Any]:
    """The arguments of a call, by name."""
    return {
        "query": query,
        "key": key,
        "value": value,
        "attn_mask": attn_mask,
        "dropout_p": dropout_p,
        "is_causal": is_causal,
        **others,
    }


def _check_values(*tensors: Any) -> None:
    """Refuse what has no values that could be measured."""
    for x in tensors:
        if not isinstance(x, Tensor) or x.is_meta or is_tracing(x):
            raise ValueError("a graph is being recorded, of tensors without values")
        if is_functorch_wrapped_tensor(x):
            raise ValueError("a transform of torch.func computes it, of many values at once")


@torch.no_grad()
def _measured(watcher: _Watcher, call: dict[str, Any]) -> tuple[RowFigures, int]:
    """The figures of a call whose output has been computed, and d_k."""
    names = ("attn_mask", "is_causal", "scale", "rescaling", "enable_gqa")
    options = {name: call[name] for name in names if name in call}
    query, key = call["query"], call["key"]
    mask = options["attn_mask"]
    _check_values(query, key, *([] if mask is None else [mask]))
    groups = _packed(query)
    if groups > 1:
        query = query.reshape(query.shape[0], -1, 1, query.shape[-1])
        options["enable_gqa"] = True
        if mask is not None and mask.dim() == 4 and mask.shape[1] > 1:
            options["attn_mask"] = mask = mask.reshape(mask.shape[0], -1, 1, mask.shape[-1])
    device = query.device.type
    if not torch.is_autocast_enabled(device):
        return watcher.of_call(query, key, **options), query.shape[-1]
    half = torch.get_autocast_dtype(device)
    query, key = (x if x.dtype == torch.float64 else x.to(half) for x in (query, key))
    if mask is not None and mask.dtype not in (torch.bool, torch.float64):
        options["attn_mask"] = mask.to(half)
    with torch.autocast(device, enabled=False):
        return watcher.of_call(query, key, **options), query.shape[-1]


def _packed(query: Tensor) -> int:
    """How many query heads stand in the rows of each key head: so Transformers computes steps of
    decoding in grouped order.
    """
    module = _module_of_call(None)[1]
    groups = getattr(module, "num_key_value_groups", 1)
    heads = getattr(getattr(module, "config", None), "num_attention_heads", None)
    packed = query.dim() == 4 and query.shape[2] == groups and query.shape[1] * groups == heads
    return groups if packed else 1


def _check_expressible(func: Any, call: dict[str, Any]) -> None:
    """Refuse to rescale the dot products of queries that the model has scaled itself."""
    scale, module = call.get("scale"), _module_of_call(None)[1]
    what = "the call" if module is None else type(module).__name__
    if module is not None and scales_itself(module, scale):
        why = "scales its queries itself"
    elif scale == 1.0 and not hasattr(module, "scaling"):
        why = "passes scale=1, so it may have scaled its queries itself"
    else:
        return
    raise ValueError(f"{what} {why}, before attention: a rescaling would come on top of that")


def _names(model: nn.Module | None) -> dict[nn.Module, str] | None:
    if model is None:
        return None
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a torch.nn.Module, got {type_of(model)}")
    return {module: name or type(model).__name__ for name, module in model.named_modules()}


def _module_of_call(
    names: dict[nn.Module, str] | None,
) -> tuple[str | None, nn.Module | None]:
    """The innermost module that is being called, of those with ``names``."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code is _MODULE_CALL:
            module = frame.f_locals["self"]
            if names is None or module in names:
                return None if names is None else names[module], module
        frame = frame.f_back
    return None, None


class _OfThread(threading.local):
    mode: _Calls | None = None


_OF_THREAD = _OfThread()


@contextmanager
def _entered(watcher: _Watcher | None = None, rescaler: _Rescaler | None = None) -> Iterator[None]:
    """Have the thread's mode see calls for one more; without any it is taken from PyTorch's stack,
    wherever it lies there.
    """
    mode = _OF_THREAD.mode
    if mode is None:
        mode = _OF_THREAD.mode = _Calls()
        mode.__enter__()  # type: ignore[no-untyped-call]
    entries: list[Any] = mode.rescalers if watcher is None else mode.watchers
    entry = rescaler if watcher is None else watcher
    entries.append(entry)
    try:
        yield
    finally:
        entries.remove(entry)
        # A generator may be closed by another thread; this one's mode then waits, without effect.
        if not (mode.watchers or mode.rescalers) and _OF_THREAD.mode is mode:
            _OF_THREAD.mode = None
            _leave(mode)


def _leave(mode: _Calls) -> None:
    """Take a mode from the stack, on which those of others may lie above it."""
    above = []
    stack = _get_current_function_mode_stack()  # type: ignore[no-untyped-call]
    for _ in range(len(stack) - stack.index(mode) - 1):
        above.append(torch._C._pop_torch_function_stack())
    mode.__exit__(None, None, None)  # type: ignore[no-untyped-call]
    for other in reversed(above):
        torch._C._push_on_torch_function_stack(other)


@contextmanager
def watch(
    model: nn.Module | None = None, *, rows: int | None = None, seed: int = 0
) -> Iterator[Seen]:
    """Measure what attention does, in every call inside ``with``.

    Measuring every row costs about twice what the calls themselves cost in float32, five times
    where a processor is quick in bfloat16, and no memory that grows with their square. It has to be
    entered by ``with``; see :mod:`sdpa_lib.watching` for what is seen, and what stays as it is.

    Args:
        model: whose modules' names stand in :class:`Seen`; it may be in ``train()`` or ``eval()``.
            None: calls are numbered, and each stands by itself.
        rows: how many rows of a head to measure in each call at most, at least 1: of up to four
            sequences of the batch, drawn anew, the same places, spread over their length. None:
            all. With 64 it can stay in every step of a training; the largest score of 64 rows is
            below that of all.
        seed: for drawing those rows. The state of PyTorch's own generators stays as it is.

    Returns:
        A context manager that gives a :class:`Seen`. Several calls of one layer add up, weighted
        by rows: micro-batches, steps of decoding.

    Example:
        >>> layer = nn.TransformerEncoderLayer(32, 4, batch_first=True)
        >>> with watch(layer) as seen:
        ...     _ = layer(torch.randn(2, 10, 32))
        >>> [(head["where"], head["head"]) for head in seen.heads()][:2]
        [('self_attn', 0), ('self_attn', 1)]
    """
    if rows is not None:
        check_count("rows", rows)
    watcher = _Watcher(model, rows, check_count("seed", seed, minimum=0))
    with _entered(watcher=watcher):
        yield watcher.seen


@contextmanager
def rescaled(
    rescaling: AnyRescaling, model: nn.Module | None = None, *, only: str | None = None
) -> Iterator[None]:
    """Divide dot products by something else, in every call inside ``with``, forward and backward.

    A rescaling replaces the number by which the model scales its dot products, with whatever factor
    the model has put there; what a model does to queries and keys before stays. What no rescaling
    can express is refused, as in :mod:`sdpa_lib.transformers`. Where activation checkpointing
    computes attention once more, the backward pass has to run inside, too. Of several, the
    innermost decides; :func:`watch` sees the new scores.

    Args:
        rescaling: a name, an instance, or a function of ``(key, visible)``.
        model: only the calls of its modules; None: all.
        only: of these the modules whose name matches, with all that is in them, such as
            ``"encoder.layer.3"`` or ``"*.layers.3.*"``, where ``*`` stands for anything. Names are
            those of ``model.named_modules()``. Needs a model.

    Raises:
        TypeError, ValueError: no rescaling, no name that matches, or, from the call itself, a
            model that scales its queries before.

    Warns:
        UserWarning: on leaving, where no call was changed: nothing ran, or in compiled code or
            another thread, or the model doesn't call ``scaled_dot_product_attention``.

    Example:
        >>> query = 9.0 * torch.eye(4).view(1, 1, 4, 4)
        >>> with watch() as seen, rescaled("d_k"):
        ...     _ = F.scaled_dot_product_attention(query, query, query)
        >>> seen.heads()[0]["scale"]
        0.25
    """
    chosen = get_rescaling(rescaling)
    if chosen.remembers:
        raise ValueError(
            f"rescaling must serve all layers of a model, and {chosen.name!r} remembers the keys "
            f"of one: take what it was made of"
        )
    rescaler = _Rescaler(chosen, model, only)
    if only is not None:
        if not isinstance(only, str):
            raise TypeError(f"only must be a str, got {type_of(only)}")
        if rescaler.names is None:
            raise ValueError(f"only={only!r} needs a model, whose modules have names")
        if not fnmatch.filter(rescaler.names.values(), only):
            names = [name for name in rescaler.names.values() if name.endswith(only)]
            near = names or difflib.get_close_matches(only, rescaler.names.values())
            hint = f" Did you mean {' or '.join(map(repr, near[:3]))}?" if near else ""
            raise ValueError(f"only must match the name of a module, got {only!r}.{hint}")
    with _entered(rescaler=rescaler):
        yield
    if not rescaler.calls:
        warnings.warn(
            f"rescaled({chosen.name!r}) has changed no call: no scaled_dot_product_attention was "
            "called by what it is for",
            stacklevel=3,
        )
