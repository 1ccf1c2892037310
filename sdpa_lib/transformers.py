r"""Every rescaling as an attention implementation of Hugging Face Transformers, chosen by name.

::

    import sdpa_lib.transformers

    sdpa_lib.transformers.register()
    model = AutoModelForCausalLM.from_pretrained(
        path, attn_implementation="sdpa_lib:k_total"
    )
    model.set_attn_implementation("sdpa_lib")  # the model's own scaling again

It works on every model that uses Transformers' attention interface, in causal order, in a sliding
window or bidirectional, padded on either side, with grouped queries, and decoding with a cache. A
model without the interface warns, and keeps the attention it has, or can't be made. Transformers
itself is needed only by :func:`register`.

**What is replaced.** A rescaling replaces the number by which the model scales its dot products:
:math:`\sqrt{d_k}`, and with it whatever factor the model has put there, such as a layer's number or
YaRN's correction. What a model does to queries and keys before (norms, rotations) stays. A model
that has scaled its queries already, such as Whisper, OPT or Llama 4, would be scaled twice and is
refused; so is everything else that no rescaling can express: capped scores (Gemma 2), attention
sinks (gpt-oss), keys chosen by an indexer (DeepSeek 3.2). Continuous batching is not possible.

**How masks are read.** A divisor made of the keys counts those that a query sees, so the mask must
say which those are. Whoever writes another back end has to read it the same way:

- Boolean: True where the query sees the key. A row that sees no key, as padding does, gives zeros.
  This is what Transformers makes for these names.
- Floating point, added to the divided scores: an entry at or below
  :data:`~sdpa_lib.visibility.HIDES` hides the key, as do -1e4, -inf and the smallest number of a
  dtype, which models write there. Any other entry, such as a position bias, moves the score and
  hides nothing.
- None: a single query sees every key, and so do all queries of a module that is not causal. In
  one that is, each of several queries sees the keys up to its own position, and another number of
  keys than of queries is refused.

**Decoding.** A divisor made of the keys' lengths would read the whole cache once more in each step.
So :func:`register` wraps ``Cache.update``: beside the keys that a layer of a cache stores, their
lengths are kept, once a divisor has asked for them, in a copy of the layer that does with lengths
what the layer does with keys. They count for the very tensor that was stored last, unchanged:
wherever a cache was reordered, cropped, reset or written to by anybody else, all lengths are
computed anew, once. Only Transformers' dynamic and static layers, full or sliding, are followed;
not in a compiled graph, under ``torch.inference_mode``, in a static cache on a GPU, nor where
gradients reach the keys.
"""

from __future__ import annotations

import copy
import functools
import importlib
import sys
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.weak import WeakTensorKeyDictionary

from sdpa_lib._checks import scales_itself
from sdpa_lib.attention import scaled_dot_product_attention
from sdpa_lib.decoding import warn_of_reading, with_lengths
from sdpa_lib.device import is_tracing
from sdpa_lib.rescaling import (
    _ON_REGISTER,
    AnyRescaling,
    Rescaling,
    check_order,
    checked_name,
    get_rescaling,
    key_lengths,
    known_rescalings,
    store,
)
from sdpa_lib.visibility import EveryKey

PREFIX = "sdpa_lib"
"""The name of the implementation that keeps a model's own scaling; the others are
``sdpa_lib:NAME``.
"""

Attention = Callable[..., tuple[Tensor, Tensor | None]]

KNOWN = "5.23"
"""The version of Transformers whose models were looked through for the two lists below."""

_WITHOUT_EFFECT = {
    "cache_position",
    "cu_seq_lens_k",
    "cu_seq_lens_q",
    "deterministic",
    "max_length_k",
    "max_length_q",
    "num_items_in_batch",
    "output_hidden_states",
    "output_router_logits",
    "position_ids",
    "seq_idx",
    "sliding_window",
    "use_cache",
}
"""What models hand through to their attention and a masked dot product has no use for: the window
and the bounds of packed sequences are in the mask.
"""

_REFUSED = {
    "softcap": "caps the scores",
    "s_aux": "adds an attention sink to each row",
    "sinks": "adds an attention sink to each row",
    "head_mask": "multiplies the weights",
    "indices": "says which keys are seen, beside the mask",
    "block_indices": "says which keys are seen, beside the mask",
    "cache": "keeps keys in pages",
}
"""What some models ask of their attention and this one does not do."""


def register(rescaling: AnyRescaling | None = None, name: str | None = None) -> list[str]:
    """Make rescalings known to Transformers as attention implementations.

    ``register()`` makes known the model's own scaling, as ``"sdpa_lib"``, and all of
    :func:`~sdpa_lib.rescaling.known_rescalings`, as ``"sdpa_lib:k_total"`` and so on; and from then
    on all that :func:`sdpa_lib.register <sdpa_lib.rescaling.register>` is given.
    ``register(LogCount(0.3), "mine")`` registers that one there, by the same rules, and makes it
    known here, as ``"sdpa_lib:mine"``. Done again, it changes nothing. All layers share one
    instance; what it learns, if it does, is not among the model's parameters.

    Args:
        rescaling: a name, an instance, or a function of ``(key, visible)``; ``None`` means all, and
            the model's own scaling.
        name: what to call it, after ``"sdpa_lib:"``; by default its own name.

    Returns:
        The names that ``attn_implementation=`` and ``set_attn_implementation`` take now.

    Raises:
        ImportError: Transformers is not installed.
        TypeError, ValueError: as of :func:`sdpa_lib.register <sdpa_lib.rescaling.register>`.
    """
    check_order(rescaling, name)
    if rescaling is None:
        if name is not None:
            raise ValueError(f"name {name!r} needs a rescaling to call so")
        _follow()
        _offer(None, None)
        return [PREFIX, *(_offer(known, own) for own, known in known_rescalings().items())]
    chosen = get_rescaling(rescaling)
    name = checked_name(chosen, rescaling if isinstance(rescaling, str) and not name else name)
    _follow()
    store(chosen, name)
    return [f"{PREFIX}:{name}"]


def unregister() -> None:
    """Undo :func:`register`: Transformers forgets all names that begin with ``"sdpa_lib"``, and its
    caches are its own again. A model that has one of these names must be given another. What
    ``sdpa_lib`` itself knows by name stays.
    """
    if _offer in _ON_REGISTER:
        _ON_REGISTER.remove(_offer)
    _FOLLOWED.clear()
    transformers = sys.modules.get("transformers")
    if transformers is None:
        return
    for interface in (transformers.AttentionInterface, transformers.AttentionMaskInterface):
        names = interface._global_mapping
        for key in [key for key in names if key == PREFIX or key.startswith(f"{PREFIX}:")]:
            del names[key]
    cache = importlib.import_module("transformers.cache_utils").Cache
    for update, original in _WRAPPED:
        if cache.update is update:  # else somebody has wrapped it once more: it does nothing now
            cache.update = original
            _WRAPPED.clear()


def _offer(rescaling: Rescaling | None, name: str | None) -> str:
    """Make one known to Transformers; the name that it takes."""
    transformers = importlib.import_module("transformers")
    sdpa_mask = importlib.import_module("transformers.masking_utils").sdpa_mask

    def mask(
        *, q_length: int, kv_length: int, allow_is_causal_skip: bool = True, **others: Any
    ) -> Any:
        """The boolean mask of ``"sdpa"``, left out only where :func:`attention_function` reads
        no mask as the same: ``"sdpa"`` also leaves it out for a prompt in a longer, still empty
        cache.
        """
        skip = allow_is_causal_skip and q_length in (1, kv_length)
        return sdpa_mask(
            q_length=q_length, kv_length=kv_length, allow_is_causal_skip=skip, **others
        )

    key = PREFIX if name is None else f"{PREFIX}:{name}"
    transformers.AttentionInterface.register(key, attention_function(rescaling))
    transformers.AttentionMaskInterface.register(key, mask)
    return key


_STORED = WeakTensorKeyDictionary()
"""Of the keys that a cache's layer stores: their version, and the layer's copy for lengths."""

_RETURNED = WeakTensorKeyDictionary()
"""Of the keys that a cache gave: a reference to the layer, and, where known, version and lengths.
"""

_FOLLOWED: set[type] = set()
"""Classes of layers; none before :func:`register`."""

_WRAPPED: list[tuple[Any, Any]] = []
"""The ``Cache.update`` that is put into the other's place, and that other."""


def _follow() -> None:
    """Have ``Cache.update`` keep the lengths of what it stores, and be told of new names."""
    try:
        importlib.import_module("transformers.masking_utils")
        caches = importlib.import_module("transformers.cache_utils")
    except ImportError as error:
        raise ImportError(
            "sdpa_lib.transformers needs Hugging Face Transformers: pip install transformers"
        ) from error
    if _offer not in _ON_REGISTER:
        _ON_REGISTER.append(_offer)
    for name in ("Dynamic", "DynamicSlidingWindow", "Static", "StaticSlidingWindow"):
        _FOLLOWED.add(getattr(caches, f"{name}Layer"))
    if _WRAPPED:
        return
    original = caches.Cache.update

    @functools.wraps(original)
    def update(
        self: Any, key_states: Tensor, value_states: Tensor, layer_idx: int, *args: Any, **kw: Any
    ) -> Any:
        if is_tracing() or not _FOLLOWED:
            return original(self, key_states, value_states, layer_idx, *args, **kw)
        of_lengths = _recall(self.layers[layer_idx]) if layer_idx < len(self.layers) else None
        keys, values = original(self, key_states, value_states, layer_idx, *args, **kw)
        layer, known = self.layers[layer_idx], None
        # What is made under inference mode counts no changes, and so is not followed.
        if of_lengths is not None and not layer.keys.is_inference():
            new = key_lengths(key_states).unsqueeze(-1)
            lengths, _ = of_lengths.update(new, new[..., :0], *args, **kw)
            known = None if keys.is_inference() else (keys._version, lengths.squeeze(-1))
            _STORED[layer.keys] = layer.keys._version, of_lengths
        if type(layer) in _FOLLOWED:
            _RETURNED[keys] = weakref.ref(layer), known
        return keys, values

    caches.Cache.update = update
    _WRAPPED.append((update, original))


def _recall(layer: Any) -> Any:
    """The layer's copy for lengths, if the layer is as it was left."""
    stored: Any = getattr(layer, "keys", None)
    if stored is None or stored not in _STORED:
        return None
    version, of_lengths = _STORED[stored]
    same = version == stored._version and all(
        _same(value, getattr(of_lengths, name, None))
        for name, value in vars(layer).items()
        if name not in ("keys", "values")
    )
    return of_lengths if same else None


def _same(value: object, other: object) -> bool:
    if isinstance(value, Tensor) and isinstance(other, Tensor):
        return value.device.type != "cpu" or torch.equal(value, other)
    return value == other


def _lengths(key: Tensor) -> Tensor:
    """The lengths of keys that a cache gave. From now on they are kept."""
    reference, known = _RETURNED[key]
    if known is not None and known[0] == key._version:
        of_key: Tensor = known[1]
        return of_key
    of_key, layer = key_lengths(key), reference()
    if layer is None:
        return of_key
    stored = layer.keys
    on_gpu = layer.is_compileable and stored.device.type != "cpu"
    if not (stored.is_inference() or on_gpu):
        of_lengths = copy.copy(layer)
        for name, value in vars(layer).items():
            if isinstance(value, Tensor):
                setattr(of_lengths, name, None if name in ("keys", "values") else value.clone())
        of_lengths.keys = (of_key if stored is key else key_lengths(stored)).unsqueeze(-1)
        of_lengths.values = of_lengths.keys[..., :0]
        _STORED[stored] = stored._version, of_lengths
    return of_key


def attention_function(rescaling: AnyRescaling | None) -> Attention:
    """The function that a model calls for attention: what :func:`register` makes known.

    Args:
        rescaling: a name, an instance, or a function of ``(key, visible)``; ``None`` keeps the
            scaling that the model passes.

    Returns:
        A function of the module, query (B, Hq, L, d_k), key (B, H, S, d_k), value (B, H, S, Ev),
        mask and keyword arguments, as Transformers calls it. It gives the output (B, L, Hq, Ev)
        and, where ``output_attentions`` is set, the weights (B, Hq, L, S), else None.

    Example:
        >>> attention = attention_function("k_total")
        >>> query, key = torch.ones(1, 4, 3, 8), torch.ones(1, 2, 3, 8)
        >>> output, weights = attention(
        ...     nn.Module(), query, key, key, None, scaling=8**-0.5
        ... )
        >>> output.shape, weights
        (torch.Size([1, 3, 4, 8]), None)
    """
    chosen = None if rescaling is None else get_rescaling(rescaling)
    if chosen is not None and chosen.remembers:
        raise ValueError(
            f"rescaling must serve all layers of a model, and {chosen.name!r} remembers the keys "
            f"of one: take what it was made of"
        )

    def attention(
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        dropout: float = 0.0,
        scaling: float | None = None,
        is_causal: bool | None = None,
        position_bias: Tensor | None = None,
        output_attentions: bool | None = None,
        **others: Any,
    ) -> tuple[Tensor, Tensor | None]:
        _check_keywords(module, others)
        n_queries, n_keys = query.shape[-2], key.shape[-2]
        if chosen is not None:
            if scales_itself(module, scaling):
                raise ValueError(
                    f"{type(module).__name__} scales its queries itself, before attention: a "
                    f"rescaling would come on top of that; only {PREFIX!r}, which keeps the "
                    "model's own, is possible"
                )
            reads = is_tracing(key) or (key.requires_grad and torch.is_grad_enabled())
            if not reads and chosen.constant(key.shape[-1]) is None and key in _RETURNED:
                key = with_lengths(key, functools.partial(_lengths, key))
                if n_queries < n_keys:
                    groups = query.shape[-3] // key.shape[-3]
                    warn_of_reading(chosen, key, EveryKey(n_keys, groups))
        causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
        causal = n_queries > 1 and attention_mask is None and causal
        if causal and n_queries != n_keys:
            raise ValueError(
                f"{type(module).__name__} passes attention_mask=None with {n_queries} queries and "
                f"{n_keys} keys: which keys a query sees in causal order can't be told"
            )
        if position_bias is not None:
            attention_mask = _with_bias(position_bias, attention_mask, causal)
            causal = False
        if output_attentions is None:
            config = getattr(module, "config", None)
            output_attentions = getattr(config, "output_attentions", False)
        options: dict[str, Any] = {
            "attn_mask": attention_mask,
            "dropout_p": dropout,
            "is_causal": causal,
            "enable_gqa": query.shape[-3] != key.shape[-3],
            **({"scale": scaling} if chosen is None else {"rescaling": chosen}),
        }
        weights = None
        if output_attentions:
            output, weights = scaled_dot_product_attention(
                query, key, value, **options, return_weights=True
            )
        else:
            output = scaled_dot_product_attention(query, key, value, **options)
        return output.transpose(1, 2).contiguous(), weights

    return attention


def _with_bias(bias: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
    """A position bias and the mask, or the causal order, in one additive mask."""
    if causal:
        mask = torch.ones(bias.shape[-2:], dtype=torch.bool, device=bias.device).tril()
    if mask is None:
        return bias
    return bias.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else bias + mask


def _check_keywords(module: nn.Module, others: dict[str, Any]) -> None:
    """Refuse what would change the result and is not done here."""
    for name, value in others.items():
        if name not in _WITHOUT_EFFECT and value is not None and value is not False:
            if name in _REFUSED:
                why = f"{_REFUSED[name]}: sdpa_lib does not do that"
            else:
                why = (
                    f"may change the result: sdpa_lib knows what Transformers {KNOWN} passes, and "
                    "a newer one needs a newer sdpa_lib"
                )
            raise ValueError(f"{type(module).__name__} passes {name}, which {why}")
