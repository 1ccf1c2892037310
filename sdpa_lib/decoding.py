"""Decoding, a few tokens at a time: the divisor of a cache, without reading the cache again.

A divisor that is made of keys takes their lengths, one more pass over all of them, which a single
query does not pay for. The length of a key does not change, so it need not be computed again: one
number a key and head is kept beside the cache, 1/d_k of what the keys take.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from sdpa_lib._checks import check_count, check_tensor, repr_of
from sdpa_lib.device import is_tracing, peek_range
from sdpa_lib.rescaling import (
    AnyRescaling,
    Function,
    Multiple,
    Rescaling,
    get_rescaling,
    key_lengths,
)
from sdpa_lib.visibility import CausalOrder, Visible

_WHOLE = (torch.int32, torch.int64)

EVERY = 16
"""After how many keys a cache is looked at."""


class RunningDivisor(Rescaling):
    """A rescaling that remembers the lengths of the keys of a cache: whoever appends keys to the
    cache appends them here, too, and attends with this as ``rescaling``. The output is that of the
    rescaling itself, with whatever mask, causal order or grouped queries.

    What is done to the cache must be done here: a cache with another number of keys than were
    appended, or of another shape, is refused. Every layer needs its own. A divisor that reads the
    keys otherwise than through :func:`~sdpa_lib.rescaling.key_lengths` reads all of them in each
    step, and a warning says so; and so do all where gradients reach the keys or a graph is
    compiled.

    Args:
        rescaling: a name, an instance, or a function of ``(key, visible)``.
        window: the cache slides: with T new keys it holds them and the ``window - 1`` before, or as
            many as there are. ``None`` means that it holds all.
        static: the cache has empty places after the keys that were appended, which stand in order
            from place 0, and the mask hides them. Not together with ``window``.

    Attributes:
        n_keys: how many keys were appended, those among them that a window has forgotten.

    On the CPU, where looking is free, the last 32 keys are measured once more every 16 keys, to see
    that they are those that were appended, and a mask that shows empty places is refused.

    What is appended are the keys as they are cached, before grouped heads are repeated. A mask is
    still needed to hide what a query must not see: none for one query, ``causal_lower_right(T, S)``
    for the last T of S tokens, the places beyond a window in a prompt that is longer.

    Example:
        >>> from sdpa_lib import scaled_dot_product_attention as attention
        >>> shape = 1, 2, 9, 8  # batch, heads, tokens, d_k
        >>> q, k, v = (torch.randn(shape) for _ in range(3))
        >>> running, rows = RunningDivisor("k_rss"), []
        >>> for i in range(9):
        ...     running.append(k[..., i : i + 1, :])
        ...     query, seen = q[..., i : i + 1, :], slice(0, i + 1)
        ...     keys, values = k[..., seen, :], v[..., seen, :]
        ...     rows.append(attention(query, keys, values, rescaling=running))
        >>> whole = attention(q, k, v, is_causal=True, rescaling="k_rss")
        >>> torch.allclose(torch.cat(rows, dim=-2), whole, atol=1e-6)
        True
        >>> running
        RunningDivisor(KeyLengthNorm(p=2.0); keys (1, 2, 9, 8))
    """

    def __init__(
        self, rescaling: AnyRescaling, *, window: int | None = None, static: bool = False
    ) -> None:
        self.rescaling: Rescaling = get_rescaling(rescaling)
        if self.rescaling.remembers:
            raise TypeError("rescaling must be none that remembers keys, got a RunningDivisor")
        if static and window is not None:
            raise ValueError(f"static and window exclude each other, got window={window}")
        self.window: int | None = None if window is None else check_count("window", window)
        self.static: bool = static
        self.reset()

    def reset(self) -> None:
        """Forget all keys: the next that are appended are the first of another text."""
        self._lengths: Tensor | None = None  # of the last keys, (..., S)
        self._room = torch.empty(0)  # what they are the beginning of: it doubles where it is full
        self.n_keys: int = 0
        self._check_at = 0
        self._kind: tuple[int, ...] = ()  # the keys' batch dimensions, heads and d_k

    def __repr__(self) -> str:
        window = "" if self.window is None else f", window={self.window}"
        static = ", static=True" if self.static else ""
        return f"RunningDivisor({self.rescaling!r}{window}{static}; {self._so_far()})"

    def _so_far(self) -> str:
        if self._lengths is None:
            return "no keys"
        held = f", the last {self._held} held" if self._held < self.n_keys else ""
        return f"keys {(*self._kind[:-1], self.n_keys, self._kind[-1])}{held}"

    @property
    def _held(self) -> int:
        return 0 if self._lengths is None else self._lengths.shape[-1]

    @property
    def remembers(self) -> bool:
        return True

    @property
    def name(self) -> str:
        return f"running {self.rescaling.name}"

    @property
    def formula(self) -> str:
        return self.rescaling.formula

    def constant(self, d_k: int) -> float | None:
        return self.rescaling.constant(d_k)

    def append(self, key: Tensor) -> None:
        """Take account of new keys (..., T, d_k), before they are attended to."""
        check_tensor("key", key, min_dim=2, shape="(..., T, d_k)")
        if key.shape[-2] == 0:
            raise ValueError(f"key must hold at least one new key, got shape {tuple(key.shape)}")
        if self._lengths is None:
            self._lengths = self._room = key_lengths(key.detach())  # (..., T)
            self._kind = (*key.shape[:-2], key.shape[-1])
        else:
            self._check_kind(key)
            past = self._lengths
            if self.window is not None:
                past = past[..., max(0, self._held - self.window + 1) :]
            first, last = past.shape[-1], past.shape[-1] + key.shape[-2]
            # What inference mode has made can't be written to outside of it.
            closed = self._room.is_inference() and not torch.is_inference_mode_enabled()
            if last > self._room.shape[-1] or self.window is not None or closed:
                self._room = past.new_empty(*past.shape[:-1], 2 * last)
                self._room[..., :first] = past
            self._room[..., first:last] = key_lengths(key.detach())
            self._lengths = self._room[..., :last]
        self.n_keys += key.shape[-2]

    def crop(self, n_keys: int) -> None:
        """Keep the first ``n_keys`` of all keys that were appended, as where a draft is not
        accepted. With a window only those of the last ``append`` can be taken back.
        """
        check_count("n_keys", n_keys, minimum=0)
        lost = self.n_keys - self._held  # that a window has forgotten
        fewest = lost + (self.window or 1) - 1 if lost else 0
        if not fewest <= n_keys <= self.n_keys:
            raise ValueError(
                f"n_keys must lie between {fewest} and {self.n_keys}, got {n_keys}: appended were "
                f"{self._so_far()}"
            )
        if self._lengths is not None:
            self._lengths, self.n_keys = self._lengths[..., : n_keys - lost], n_keys
            self._check_at = min(self._check_at, n_keys + EVERY)

    def reorder(self, index: Tensor) -> None:
        """Take the sequences with these numbers (B,) of the batch, the first dimension, as beam
        search does. One may be taken several times, or not at all.
        """
        if self._lengths is None or self._lengths.dim() < 2:
            raise ValueError(
                f"reorder needs keys with a batch dimension, (B, ..., T, d_k): appended were "
                f"{self._so_far()}"
            )
        if not isinstance(index, Tensor) or index.dim() != 1 or index.dtype not in _WHOLE:
            raise TypeError(
                f"index must be whole numbers (B,) in a torch.Tensor, got {repr_of(index)}"
            )
        n_sequences, seen = self._lengths.shape[0], peek_range(index)
        if seen is not None and not 0 <= seen[0] <= seen[1] < n_sequences:
            raise ValueError(
                f"index must hold numbers from 0 to {n_sequences - 1}, of the {n_sequences} "
                f"sequences of the batch, got {repr_of(index)}"
            )
        self._lengths = self._room = self._lengths.index_select(0, index)
        self._kind = (*self._lengths.shape[:-1], self._kind[-1])

    def divisor(self, key: Tensor, visible: Visible) -> Tensor:
        if self._lengths is None:
            raise ValueError("append must be given the new keys before they are attended to")
        self._check_kind(key)
        n_empty = key.shape[-2] - self._held
        if n_empty < 0 or (n_empty > 0 and not self.static):
            raise ValueError(
                f"key must hold the {self._held} keys that were appended, got {key.shape[-2]}: "
                f"append every new key once, and crop both; a cache that slides needs window=, "
                f"one with empty places static=True"
            )
        if isinstance(visible, CausalOrder) and visible.offset == 0 < self._held - visible.n_rows:
            raise ValueError(
                f"is_causal must be False for {visible.n_rows} queries on {self._held} keys, of "
                f"which it would show them the first: one query needs no mask, the last of several "
                f"causal_lower_right"
            )
        if is_tracing(key) or (key.requires_grad and torch.is_grad_enabled()):
            return self.rescaling.divisor(key, visible)
        if key.is_cpu and self.n_keys >= self._check_at:
            self._check_cache(key, visible)
        lengths = F.pad(self._lengths, (0, n_empty)) if n_empty else self._lengths
        key, changes = with_lengths(key, lambda: lengths), _changes(lengths)
        warn_of_reading(self.rescaling, key, visible)
        divisor = self.rescaling.divisor(key, visible)
        if _changes(lengths) != changes:
            raise RuntimeError(f"{self.rescaling.name} must not change what key_lengths gives")
        return divisor

    def _check_kind(self, key: Tensor) -> None:
        """Refuse keys of other batch dimensions, heads or d_k than those before."""
        if (*key.shape[:-2], key.shape[-1]) != self._kind:
            expected = ", ".join(map(str, (*self._kind[:-1], "S", self._kind[-1])))
            raise ValueError(
                f"key must have the shape ({expected}) of those that were appended, got "
                f"{tuple(key.shape)}: reset() begins anew"
            )

    def _check_cache(self, key: Tensor, visible: Visible) -> None:
        """The last keys must be as long as those that were appended, to 1 %, which a cache of fewer
        digits keeps, and empty places must be hidden.
        """
        assert self._lengths is not None
        self._check_at = self.n_keys + EVERY
        last = slice(max(0, self._held - 2 * EVERY), self._held)
        was, now = self._lengths[..., last], key_lengths(key[..., last, :])
        beyond = peek_range((now - was).abs() - 0.01 * was)
        if beyond is not None and beyond[1] > 0.0:
            raise ValueError(
                f"key must hold what was appended, {self._so_far()}, got others among the last: "
                f"append the new keys of this layer once, to their places in the cache; crop, "
                f"reorder and reset both"
            )
        n_empty = key.shape[-2] - self._held
        if n_empty:
            empty = F.pad(key.new_zeros(self._held), (0, n_empty), value=1.0)  # (S,)
            seen = peek_range(visible.max(empty))
            if seen is not None and seen[1] > 0.0:
                raise ValueError(
                    f"attn_mask must hide the {n_empty} empty places of the cache: appended were "
                    f"{self._so_far()}"
                )


def _changes(x: Tensor) -> int:
    """How often a tensor has been written to, which is not counted under inference mode."""
    return 0 if x.is_inference() else x._version


def with_lengths(key: Tensor, lengths: Callable[[], Tensor]) -> Tensor:
    """The same keys, of which :func:`~sdpa_lib.rescaling.key_lengths` takes ``lengths`` (..., S)
    in place of reading them: a tensor that nobody else has, so that it can't grow out of date.
    """
    key = key.view_as(key)
    key.known_lengths = lengths  # type: ignore[attr-defined]
    return key


def warn_of_reading(rescaling: Rescaling, key: Tensor, visible: Visible) -> None:
    """Say once of a rescaling that it reads the keys, although their lengths are known."""
    kind, name = _origin(rescaling)
    if kind in _SEEN:
        return
    _SEEN.add(kind)
    unknown = with_lengths(key.new_full((), math.nan).expand(key.shape), lambda: key_lengths(key))
    if bool(rescaling.divisor(unknown, visible).isnan().any()):
        warnings.warn(
            f"{name} reads the keys otherwise than by sdpa_lib.key_lengths: in decoding it is "
            f"right, but reads all of them in each step",
            stacklevel=2,
        )


_SEEN: set[object] = set()


def _origin(rescaling: Rescaling) -> tuple[object, str]:
    """What is the same for all rescalings that read keys alike, and what to call it. Of a function
    its code: all lambdas have one name, and each step may make a new function of the same code.
    """
    if isinstance(rescaling, Multiple):
        return _origin(rescaling.rescaling)
    if not isinstance(rescaling, Function):
        kind = type(rescaling)
        return (kind, rescaling.name), f"{kind.__name__}.divisor"
    function: Any = rescaling.function
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(function, "__code__", None)
    if code is None:
        return type(function), rescaling.name
    return code, f"{rescaling.name} ({code.co_filename}:{code.co_firstlineno})"
