"""Two tasks: handwritten digits as sequences of patches, and recall, which cannot be solved without
sharp attention.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache

import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

from sdpa_lib._checks import check_count
from sdpa_lib.book.training.model import draw

Batch = tuple[tuple[Tensor, ...], Tensor]
"""The inputs of the embedding, and the answers."""


class Task(ABC):
    """Where batches come from, and how features become answers."""

    batch_size: int
    n_classes: int

    @property
    @abstractmethod
    def n_tokens(self) -> int:
        """How many tokens a sequence has."""

    @abstractmethod
    def embedding(self, d_model: int) -> nn.Module:
        """From a batch's inputs to tokens (B, n_tokens, d_model)."""

    @abstractmethod
    def logits(self, features: Tensor) -> Tensor:
        """From the model's (B, n, n_classes) to (..., n_classes), one row for each answer."""

    @abstractmethod
    def batch(self, seed: int, step: int) -> Batch:
        """The training batch of a step: the same for every model of that seed."""

    @abstractmethod
    def held_out(self, part: str) -> Batch:
        """``"validation"``, which chooses the learning rate, or ``"test"``, which is looked at
        once.
        """


def _generator(*numbers: int) -> torch.Generator:
    """A generator for a tuple of small numbers: different tuples, different streams."""
    seed = 0
    for number in numbers:
        seed = seed * 1_000_003 + number + 1
    return torch.Generator().manual_seed(seed)


class PatchEmbedding(nn.Module):
    """A linear map of each patch, plus a learned vector for its place."""

    def __init__(self, n_pixels: int, n_patches: int, d_model: int) -> None:
        super().__init__()
        self.pixels = nn.Linear(n_pixels, d_model)
        self.place = nn.Parameter(draw(n_patches, d_model) / d_model**0.5)

    def forward(self, patches: Tensor) -> Tensor:  # (B, 16, 4) to (B, 16, d_model)
        embedded: Tensor = self.pixels(patches) + self.place
        return embedded


@cache
def _digits() -> dict[str, tuple[Tensor, Tensor]]:
    """1,797 images of 8 x 8 pixels as 16 patches of 2 x 2, standardised, in three parts that a
    fixed seed draws.
    """
    images, answers = (torch.from_numpy(array) for array in load_digits(return_X_y=True))
    order = torch.randperm(len(images), generator=_generator(0))
    patches = images.float().view(-1, 4, 2, 4, 2).transpose(2, 3).reshape(-1, 16, 4)[order]
    cuts = {"training": slice(0, 1197), "validation": slice(1197, 1497), "test": slice(1497, 1797)}
    mean, std = patches[cuts["training"]].mean(), patches[cuts["training"]].std()
    return {part: ((patches[cut] - mean) / std, answers[order][cut]) for part, cut in cuts.items()}


@dataclass(frozen=True)
class Digits(Task):
    """Which digit? scikit-learn's handwritten digits, 8 x 8 pixels, as 16 patches; 1,197 to train
    on, 300 and 300 held out.

    Source: :cite:t:`alpaydin1998`.
    """

    batch_size: int = 64
    n_classes = 10

    @property
    def n_tokens(self) -> int:
        return 16

    def embedding(self, d_model: int) -> nn.Module:
        return PatchEmbedding(4, 16, d_model)

    def logits(self, features: Tensor) -> Tensor:
        return features.mean(1)

    def batch(self, seed: int, step: int) -> Batch:
        patches, answers = _digits()["training"]
        chosen = torch.randint(
            len(patches), (self.batch_size,), generator=_generator(1, seed, step)
        )
        return (patches[chosen],), answers[chosen]

    def held_out(self, part: str) -> Batch:
        patches, answers = _digits()[part]
        return (patches,), answers


def _embedding(count: int, d_model: int) -> nn.Embedding:
    """A learned vector for each of ``count`` names, which starts with normal components."""
    start = draw(count, d_model)
    made: nn.Embedding = nn.Embedding.from_pretrained(start, freeze=False)  # type: ignore[no-untyped-call]
    return made


class PairEmbedding(nn.Module):
    """The sum of a vector for the name and one for the value; a question has the value "?"."""

    def __init__(self, n_names: int, n_values: int, d_model: int) -> None:
        super().__init__()
        self.name = _embedding(n_names, d_model)
        self.value = _embedding(n_values, d_model)

    def forward(self, names: Tensor, values: Tensor) -> Tensor:  # (B, n) twice to (B, n, d_model)
        embedded: Tensor = self.name(names) + self.value(values)
        return embedded


@dataclass(frozen=True)
class Recall(Task):
    """Associative recall: n pairs (name, value), then eight names of them; what was the value of
    each?

    Names and values are drawn anew for each sequence, so nothing can be learned by heart: a
    question must find the one token that has its name. A model that attends to all pairs evenly
    knows which values there are, and no more.

    Source: :cite:t:`arora2024`, whose task has names and values as tokens of their own.
    """

    n_pairs: int = 32
    batch_size: int = 32
    n_names: int = 256
    n_classes: int = 16
    n_questions: int = 8

    def __post_init__(self) -> None:
        check_count("n_pairs", self.n_pairs, minimum=self.n_questions)
        if self.n_pairs > self.n_names:
            raise ValueError(
                f"n_pairs must be at most n_names = {self.n_names}, got {self.n_pairs}"
            )

    @property
    def n_tokens(self) -> int:
        return self.n_pairs + self.n_questions

    def embedding(self, d_model: int) -> nn.Module:
        return PairEmbedding(self.n_names, self.n_classes + 1, d_model)

    def logits(self, features: Tensor) -> Tensor:
        return features[:, -self.n_questions :]

    def batch(self, seed: int, step: int) -> Batch:
        return self._draw(self.batch_size, _generator(2, seed, step))

    def held_out(self, part: str) -> Batch:
        return self._draw(64, _generator(3, {"validation": 0, "test": 1}[part]))

    def _draw(self, n_sequences: int, generator: torch.Generator) -> Batch:
        names = torch.rand(n_sequences, self.n_names, generator=generator).argsort(-1)[
            :, : self.n_pairs
        ]
        values = torch.randint(self.n_classes, names.shape, generator=generator)
        asked = torch.rand(names.shape, generator=generator).argsort(-1)[:, : self.n_questions]
        blank = torch.full_like(asked, self.n_classes)
        inputs = torch.cat([names, names.gather(1, asked)], 1), torch.cat([values, blank], 1)
        return inputs, values.gather(1, asked)
