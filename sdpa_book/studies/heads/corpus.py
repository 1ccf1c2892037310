"""The text: the source of Python's standard library, byte by byte, with some modules held out.

Everyone who has Python has it, but each version of Python has another: what a study was made from
is recorded by file, size and one hash. Which modules are held out follows from their names alone,
so that a module held out of one version is held out of all.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from sdpa_lib._checks import check_count
from sdpa_lib.sampling import make_generator

LIBRARY = Path(os.__file__).parent
"""Where this Python keeps its standard library."""

LEFT_OUT = frozenset(
    {"site-packages", "dist-packages", "test", "tests", "idlelib", "lib2to3", "turtledemo"}
    | {"ensurepip", "encodings", "pydoc_data", "__phello__"}
)
"""Folders that are left out: other people's packages, tests, and tables of characters or words."""

HELD_OUT = 13
"""A module is held out if the first byte of its name's hash is below this: one in twenty."""


@dataclass(frozen=True)
class Corpus:
    """Modules as bytes.

    Attributes:
        training: (N,), uint8, the modules one after the other, a zero byte after each.
        held_out: by name the bytes, (size,), of each module that is not trained on.
        sizes: by name how many bytes each module has, all of them.
        sha256: of names and bytes, all of them.
        fixed_first: every passage begins with a zero byte, which stands between modules, in place
            of its own first.
    """

    training: Tensor
    held_out: Mapping[str, Tensor]
    sizes: Mapping[str, int]
    sha256: str
    fixed_first: bool = False

    def batch(self, count: int, n_tokens: int, seed: int, step: int) -> Tensor:
        """The training batch of a step, the same for every model of that seed.

        Returns:
            (count, n_tokens + 1), int64: what is read is ``[:, :-1]``, what is asked ``[:, 1:]``.

        Example:
            >>> corpus = Corpus(torch.arange(100, dtype=torch.uint8), {}, {}, "")
            >>> corpus.batch(2, 5, seed=0, step=0).shape
            torch.Size([2, 6])
        """
        last = len(self.training) - n_tokens
        if last < 1:
            raise ValueError(
                f"n_tokens must be less than the {len(self.training)} bytes trained on, got "
                f"{n_tokens}"
            )
        generator = make_generator(seed, step + 2)
        first = torch.randint(last, (count, 1), generator=generator)
        return self._begun(self.training[first + torch.arange(n_tokens + 1)].long())

    def passages(self, count: int, n_tokens: int) -> Tensor:
        """Passages that were not trained on, spread evenly over the modules held out: each module
        is cut into pieces that do not overlap, and what is left of it is dropped.

        Returns:
            (count, n_tokens + 1), int64, as in :meth:`batch`.

        Raises:
            ValueError: there are fewer pieces than asked for.

        Example:
            >>> held_out = {"a.py": torch.arange(20)}
            >>> corpus = Corpus(torch.empty(0), held_out, {"a.py": 20}, "")
            >>> corpus.passages(2, 4)
            tensor([[ 0,  1,  2,  3,  4],
                    [10, 11, 12, 13, 14]])
        """
        check_count("count", count)
        length = check_count("n_tokens", n_tokens) + 1
        whole = [
            text[first : first + length]
            for text in self.held_out.values()
            for first in range(0, len(text) - length + 1, length)
        ]
        if len(whole) < count:
            raise ValueError(
                f"count must be at most {len(whole)}, the pieces of {length} bytes in the modules "
                f"held out, got {count}"
            )
        chosen = torch.stack([whole[i * len(whole) // count] for i in range(count)])
        return self._begun(chosen.long())

    def _begun(self, passages: Tensor) -> Tensor:
        """Passages (count, n + 1) of this text, changed in place."""
        if self.fixed_first:
            passages[:, 0] = 0
        return passages


def load_corpus(folder: Path = LIBRARY, fixed_first: bool = False) -> Corpus:
    """The modules of a folder, in the order of their names.

    Args:
        folder: where they lie.
        fixed_first: as in :class:`Corpus`.

    Raises:
        ValueError: no module is there to train on.

    Example:
        >>> "os.py" in load_corpus().sizes
        True
    """
    below = (path.relative_to(folder) for path in folder.rglob("*.py"))
    names = sorted(path.as_posix() for path in below if LEFT_OUT.isdisjoint(path.parts))
    texts = {name: (folder / name).read_bytes() for name in names}
    training = b"".join(text + b"\0" for name, text in texts.items() if not is_held_out(name))
    if not training:
        raise ValueError(f"folder must hold Python modules to train on, got {folder}")
    digest = hashlib.sha256()
    for name, text in texts.items():
        digest.update(f"{name}\0{len(text)}\0".encode() + text)
    return Corpus(
        as_tokens(training),
        {name: as_tokens(text) for name, text in texts.items() if is_held_out(name)},
        {name: len(text) for name, text in texts.items()},
        digest.hexdigest(),
        fixed_first,
    )


def is_held_out(name: str) -> bool:
    """Whether a module is held out, by its path below the library's folder.

    Example:
        >>> is_held_out("sched.py"), is_held_out("os.py")
        (True, False)
    """
    return hashlib.sha256(name.encode()).digest()[0] < HELD_OUT


def as_tokens(text: bytes) -> Tensor:
    """The bytes of a text as numbers, (size,), uint8.

    Example:
        >>> as_tokens(b"if")
        tensor([105, 102], dtype=torch.uint8)
    """
    return torch.from_numpy(np.frombuffer(text, dtype=np.uint8).copy())
