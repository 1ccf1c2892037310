"""What the study of released models declares: which models, by the packages of the Python index
that bring their weights, and what each is tried with. ``plan.toml`` lists the models. The study
takes about a quarter of an hour on one core, and ``make study NAME=published`` fetches what it
needs.

**What is measured**: for every head what chapter 10's own decoders are measured with
(:mod:`sdpa_book.studies.heads.measure`), on ``PASSAGES`` passages each of two texts, prose of this
book and code of its library, of ``LENGTHS`` tokens with those that the tokeniser adds. The short
passages are the beginnings of the long ones. Rows are those that see at least 64 keys, every third
of them; in an encoder every row does. Then fresh weights of the same shape as the model's own
initialiser draws them, and other divisors at inference, on the shorter passages.

**What another divisor costs** is the rise of a causal model's loss in nats a token, and of an
encoder the cosine of a passage's embedding, the mean of its last hidden states, with what it was.
*With one factor a head* the new scores are multiplied by the number that brings them nearest to the
model's own on the other half of the passages. Where a divisor differs from the root by a constant,
the factor undoes it, and nothing is run. Errors are standard errors from passage to passage;
nothing is chosen or left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from sdpa_book.studies.heads.look import SWAPS
from sdpa_book.studies.making import load_tables
from sdpa_lib._checks import check_number, unknown_name

DECLARED = Path(__file__).with_name("plan.toml")
"""The models of the book's study."""
TAKES = "a quarter of an hour"
TEXTS = ("prose", "code")
LENGTHS = (256, 512)
PASSAGES = 8
DIVIDED = {"twice": 2.0, "half": 0.5}
"""Divisors that are so many times the model's own."""


@dataclass(frozen=True)
class Published:
    """A released model, and what is tried with it.

    Attributes:
        name: what it is called.
        question: in words.
        title: what readers call it.
        package, version: of the Python index.
        weights: the file of the weights in that package.
        sha256: of that file.
        origin: where the weights are from, and the licences.
        starts: standard deviations that its initialiser draws fresh weights with.
        swaps: other divisors, of :data:`~sdpa_book.studies.heads.look.SWAPS` or ``DIVIDED``.
        matched: those that are tried with one factor a head as well.
    """

    name: str
    question: str
    title: str
    package: str
    version: str
    weights: str
    sha256: str
    origin: str
    starts: tuple[float, ...]
    swaps: tuple[str, ...]
    matched: tuple[str, ...]

    def __post_init__(self) -> None:
        if not re.fullmatch("[0-9a-f]{64}", self.sha256):
            raise ValueError(f"sha256 must be 64 hexadecimal digits, got {self.sha256!r}")
        for start in self.starts:
            check_number("starts", start, above=0.0)
        for name in self.swaps:
            if name not in (*SWAPS, *DIVIDED):
                raise unknown_name("swaps", name, (*SWAPS, *DIVIDED))
        if more := set(self.matched) - set(self.swaps):
            raise ValueError(f"matched must be of swaps, {list(self.swaps)}, got {sorted(more)}")

    @property
    def pieces(self) -> list[str]:
        """What is stored of it, in the order in which it is made.

        Example:
            >>> load_plan()["minilm"].pieces[:3]
            ['checks', 'prose, 256', 'prose, 512']
        """
        read = [f"{text}, {length}" for text in TEXTS for length in LENGTHS]
        fresh = [f"start, {start:.3g}" for start in self.starts]
        return ["checks", *read, *fresh, *(f"swaps, {text}" for text in TEXTS)]


def load_plan(path: Path = DECLARED) -> dict[str, Published]:
    """The models of a study by name, in the order in which they are measured.

    Example:
        >>> load_plan()["smollm2"].version
        '0.1.2'
    """
    return load_tables(
        path, (Published,), lambda name, own: Published(name=name, **own), given=("name",)
    )
