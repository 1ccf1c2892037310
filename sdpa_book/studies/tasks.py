"""The tasks: handwritten digits as sequences of patches, and recall, which cannot be solved without
sharp attention.

All data of a run follow from its seed. Seeds from ``CHOOSING`` on choose a learning rate, and those
below report: no run that reports has seen, or is measured on, what chose its rate.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache

import torch
from torch import Generator, Tensor, nn

from sdpa_book.studies.transformer import draw
from sdpa_lib._checks import check_count
from sdpa_lib.sampling import make_generator, standard_normal

Batch = tuple[tuple[Tensor, ...], Tensor]
"""The inputs of the embedding, and the answers."""

CHOOSING = 100
"""The first of the seeds that choose a learning rate."""


class Task(ABC):
    """Where batches come from, and how features become answers."""

    batch_size: int
    n_classes: int
    n_folds: int = 1
    """Into how many parts the data are cut, each held out in turn; 1 where data never repeat."""

    @property
    @abstractmethod
    def n_tokens(self) -> int:
        """How many tokens the longest training sequence has."""

    @abstractmethod
    def embedding(self, d_model: int) -> nn.Module:
        """From a batch's inputs to tokens (B, n_tokens, d_model)."""

    @abstractmethod
    def logits(self, features: Tensor) -> Tensor:
        """From the model's (B, n, n_classes) to (..., n_classes), one row for each answer."""

    @abstractmethod
    def batch(self, seed: int, step: int) -> Batch:
        """The training batch of a step, from 0: the same for every model of that seed."""

    @abstractmethod
    def held_out(self, seed: int) -> Batch:
        """What a run of that seed is measured on."""


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
def _digits() -> tuple[Tensor, Tensor]:
    """1,797 images of 8 x 8 pixels as 16 patches of 2 x 2, standardised, in an order that a fixed
    seed draws, and their answers.
    """
    from sklearn.datasets import load_digits  # here, since it takes a second to import

    images, answers = (torch.from_numpy(array) for array in load_digits(return_X_y=True))
    order = torch.randperm(len(images), generator=make_generator(0))
    patches = images.float().view(-1, 4, 2, 4, 2).transpose(2, 3).reshape(-1, 16, 4)[order]
    return (patches - patches.mean()) / patches.std(), answers[order]


@dataclass(frozen=True)
class Digits(Task):
    """Which digit? scikit-learn's handwritten digits, 8 x 8 pixels, as 16 patches, in five folds.

    A run that reports is measured on the fold of its seed and trained on the other four, so that
    five seeds measure every image. One that chooses a rate for that fold never sees it: it trains
    on three of the others and is measured on the fourth.

    Source: :cite:t:`alpaydin1998`.
    """

    batch_size: int = 64
    n_classes = 10
    n_folds = 5

    @property
    def n_tokens(self) -> int:
        return 16

    def embedding(self, d_model: int) -> nn.Module:
        return PatchEmbedding(4, 16, d_model)

    def logits(self, features: Tensor) -> Tensor:
        return features.mean(1)

    def batch(self, seed: int, step: int) -> Batch:
        training = self.places(seed)[0]
        chosen = torch.randint(
            len(training), (self.batch_size,), generator=make_generator(seed, step + 2)
        )
        patches, answers = _digits()
        return (patches[training[chosen]],), answers[training[chosen]]

    def held_out(self, seed: int) -> Batch:
        patches, answers = _digits()
        measured = self.places(seed)[1]
        return (patches[measured],), answers[measured]

    def places(self, seed: int) -> tuple[Tensor, Tensor]:
        """Which images a run of that seed is trained on, and which it is measured on."""
        folds = torch.arange(1797) % self.n_folds
        own = seed % self.n_folds
        if seed < CHOOSING:
            return torch.where(folds != own)[0], torch.where(folds == own)[0]
        other = (own + 1) % self.n_folds
        return torch.where((folds != own) & (folds != other))[0], torch.where(folds == other)[0]


def _embedding(count: int, d_model: int) -> nn.Embedding:
    """A learned vector for each of ``count`` names, which starts with normal components."""
    start = draw(count, d_model)
    embedding: nn.Embedding = nn.Embedding.from_pretrained(start, freeze=False)  # type: ignore[no-untyped-call]
    return embedding


class PairEmbedding(nn.Module):
    """The sum of what a module makes of the name and a vector for the value; a question has the
    value "?".
    """

    def __init__(self, name: nn.Module, n_values: int, d_model: int) -> None:
        super().__init__()
        self.name, self.value = name, _embedding(n_values, d_model)

    def forward(self, names: Tensor, values: Tensor) -> Tensor:  # to (B, n, d_model)
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
        return PairEmbedding(_embedding(self.n_names, d_model), self.n_classes + 1, d_model)

    def logits(self, features: Tensor) -> Tensor:
        return features[:, -self.n_questions :]

    def batch(self, seed: int, step: int) -> Batch:
        return self.sequences(self.batch_size, make_generator(seed, step + 2))

    def held_out(self, seed: int) -> Batch:
        return self.sequences(64, make_generator(seed, 1))

    def sequences(self, count: int, generator: Generator) -> Batch:
        """So many new sequences."""
        names = torch.rand(count, self.n_names, generator=generator).argsort(-1)[:, : self.n_pairs]
        return _asked(self, names, generator)


@dataclass(frozen=True)
class LongRecall(Task):
    """Recall among any number of pairs: names are random vectors of ``n_components`` normal
    components, so that they never run out. Trained with 8, 16, 32 and 64 pairs in turn.
    """

    lengths: tuple[int, ...] = (8, 16, 32, 64)
    batch_size: int = 32
    n_components: int = 32
    n_classes: int = 16
    n_questions: int = 8

    @property
    def n_tokens(self) -> int:
        return max(self.lengths) + self.n_questions

    def embedding(self, d_model: int) -> nn.Module:
        names = nn.Linear(self.n_components, d_model, bias=False)
        return PairEmbedding(names, self.n_classes + 1, d_model)

    def logits(self, features: Tensor) -> Tensor:
        return features[:, -self.n_questions :]

    def batch(self, seed: int, step: int) -> Batch:
        n_pairs = self.lengths[step % len(self.lengths)]
        return self.sequences(self.batch_size, n_pairs, make_generator(seed, step + 2))

    def held_out(self, seed: int) -> Batch:
        return self.sequences(64, max(self.lengths), make_generator(seed, 1))

    def sequences(self, count: int, n_pairs: int, generator: Generator) -> Batch:
        """So many new sequences of so many pairs."""
        names = standard_normal((count, n_pairs, self.n_components), generator)
        return _asked(self, names, generator)


def _asked(task: Recall | LongRecall, names: Tensor, generator: Generator) -> Batch:
    """A value for each of names (B, n) or (B, n, components), and then some of the names again."""
    values = torch.randint(task.n_classes, names.shape[:2], generator=generator)
    asked = torch.rand(values.shape, generator=generator).argsort(-1)[:, : task.n_questions]
    again = names[torch.arange(len(names)).unsqueeze(-1), asked]
    blank = torch.full_like(asked, task.n_classes)
    inputs = torch.cat([names, again], 1), torch.cat([values, blank], 1)
    return inputs, values.gather(1, asked)


TASKS: dict[str, Task] = {
    "digits": Digits(),
    "recall 8": Recall(8),
    "recall 32": Recall(32),
    "recall 64": Recall(64),
    "recall 8 to 64": LongRecall(),
}
"""The tasks by name."""
