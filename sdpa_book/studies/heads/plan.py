r"""What the study of heads declares before a run is made: which decoders are trained, how, and what
is asked of them. ``plan.toml`` holds the runs. The study takes a few hours on one core.

**The question.** Do the queries and keys of a trained language model keep the assumptions under
which this book divides scores, and where do its heads stand in the phase diagram of study C?

**What is compared.** One decoder on one text under seven scalings, with one seed, and the root and
QK-norm with three. A difference between two scalings of one seed each is described, never tested.
Where the root or QK-norm is one of the two, the spread of its three seeds stands beside it.

**The metrics.** For each head at each of ``Settings.moments``, on passages that were not trained
on, what :mod:`~sdpa_book.studies.heads.measure` lists. Six contrasts are looked at first, and their
answers are reported whatever they are:

1. the standard deviation of undivided scores within a row over :math:`\sqrt{d_k}`, at the start
   and at the end: the argument for the root says 1;
2. the part of the keys' mean square that all keys share, at the end: the argument says 0;
3. the sum of squared weights of a row against that of a normal row with the same n and the same
   standard deviation, at the end: the random energy model says they agree;
4. the scale of a row's upper tail, in units of its standard deviation, against a normal row's;
5. the weight on the first token, and 3 without that token;
6. the loss with another divisor, as it is and with one temperature a head, which is chosen on
   passages that the loss is not taken from.

**The learning rate.** For each scaling each of ``Settings.rates`` is tried for
``Settings.trial_steps`` steps, with a seed that reports nothing and at a constant rate after the
warm-up. The one with the lower loss on what is held out is taken for every seed.

**Stopping.** Every run takes ``Settings.steps`` steps, unless a loss is no number, at which it
stops. No run is left out.

**Added after those runs had been looked at, and declared before their own.** ``longer``: the root
for four times as long, and then, after its figures were known, no division and QK-norm likewise and
the root with a second seed. The question is whether what the short trainings show is a beginning:
1, 3, 5 and 6 above, and the loss. ``wide``: the root, no division and d_k with heads of 64
components and one more learning rate, for 1, 3, 4 and 6. Measures that were added then, for all
runs: rows parted into what place decides and what is read, the loss with uniform attention, and
the losses of counted pieces of text.

**Other positions.** ``rotary`` and the tables after it were declared when all of the above was
known, and before any of their own runs: no vector of a place, and queries and keys turned by it;
place vectors that start a fiftieth as long as those of bytes; the first with other divisors; bytes
and places as short as GPT-2 starts them, those of places half as long; and the first for four times
as long. Text, batches, steps, what is measured, on which passages, and the rule for the rate are as
in ``heads`` and ``longer``. All scores are those after the turning. *Place* still means what is the
same in all passages for a pair of places; where they only turn vectors, they tell a first layer no
more than how far apart the two are.

Asked is which findings stand. For a kind of positions one stands if it holds with the root in each
seed. Figures are the median head's at the end; other divisors are described:

1. scores grow: ``row_std`` is at least twice what it was at the start;
2. past the border, yet more even: at least three heads have a ``ratio`` above 1, and three quarters
   of these have ``squares`` below ``squares_normal``;
3. one direction: ``score_rank`` is below 2;
4. place decides, and comes late: ``position`` is at least 0.4, and at step 160 at most a tenth of
   that; beside it ``place_tail_normal``, ``place_lag``, and what ``place`` gives back of what
   ``uniform`` costs;
5. a divisor is mostly a temperature: of each swap that costs 0.1 nats or more, one factor a head
   leaves at most a quarter.

If time is short, tables are left out from the end of the list. A table without its file is not made
yet.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sdpa_book.studies.making import load_tables
from sdpa_lib._checks import check_count, check_number, unknown_name

DECLARED = Path(__file__).with_name("plan.toml")
"""The studies of the book."""
TAKES = "a few hours"

CHOOSING = 100
"""The seed that chooses a learning rate."""

POSITIONS = {
    "learned": (1.0, 1.0),
    "small": (1.0, 0.02),
    "gpt2": (0.02, 0.01),
    "rotary": (1.0, 0.0),
}
"""How a decoder knows places: the standard deviations with which the learned vectors of bytes and
of places start. ``gpt2`` has those of GPT-2's code (openai/gpt-2, src/model.py); with ``rotary`` no
place has a vector, and queries and keys are turned
(:func:`~sdpa_book.studies.transformer.turned`).
"""


@dataclass(frozen=True)
class Settings:
    """What all runs of a study share.

    Attributes:
        d_model, n_heads, n_layers: of the decoder.
        n_tokens: how many bytes it reads at most.
        batch: passages a step.
        steps: of a run.
        warm_up: steps over which the rate rises; after them it falls along a cosine to a tenth.
        clip: gradients of a larger norm are shortened to it.
        rates: powers of 10, tried as learning rates.
        trial_steps: how long each is tried.
        trial_d_k: in heads of which size.
        moments: the steps before which weights are kept and measured.
        every: steps from one held-out loss to the next.
        passages: how many held-out passages the loss is taken from.
        positions: a name in ``POSITIONS``.
    """

    d_model: int = 128
    n_heads: int = 4
    n_layers: int = 4
    n_tokens: int = 256
    batch: int = 8
    steps: int = 600
    warm_up: int = 30
    clip: float = 1.0
    rates: tuple[float, ...] = (-3.0, -2.5)
    trial_steps: int = 60
    trial_d_k: int = 32
    moments: tuple[int, ...] = (0, 10, 20, 40, 80, 160, 240, 320, 450, 600)
    every: int = 30
    passages: int = 16
    positions: str = "learned"

    def __post_init__(self) -> None:
        if self.positions not in POSITIONS:
            raise unknown_name("positions", self.positions, POSITIONS)
        counts = "n_tokens batch steps warm_up trial_steps trial_d_k every passages"
        for name in counts.split():
            check_count(name, getattr(self, name))
        check_number("clip", self.clip, above=0.0)
        if not self.rates:
            raise ValueError("rates must name at least one power of 10, got none")
        for name in ("steps", "trial_steps"):
            if getattr(self, name) % self.every:
                raise ValueError(
                    f"{name} must be a multiple of every = {self.every}, so that the loss at the "
                    f"end is measured, got {getattr(self, name)}"
                )
        if any(not 0 <= moment <= self.steps for moment in self.moments):
            raise ValueError(
                f"moments must lie between 0 and steps = {self.steps}, got {self.moments}"
            )


class DecoderRun(NamedTuple):
    """One training: how scores are made, the components of a key, and the seed."""

    scaling: str
    d_k: int = 32
    seed: int = 0

    @property
    def name(self) -> str:
        """What the run is called in files and tables.

        Example:
            >>> DecoderRun("sqrt_d_k").name
            'sqrt_d_k, d_k 32, seed 0'
        """
        return f"{self.scaling}, d_k {self.d_k}, seed {self.seed}"


class Study(NamedTuple):
    """Runs and what they share, and of how many moments the first run's vectors are kept, 0 if no
    run's are.
    """

    settings: Settings
    runs: tuple[DecoderRun, ...]
    kept: int


@dataclass(frozen=True)
class _Asked:
    """What a table says besides its settings: runs as scaling, d_k and seed."""

    question: str
    runs: tuple[tuple[str, int, int], ...]
    kept: int = 0

    def __post_init__(self) -> None:
        if not self.runs or any(len(run) != 3 for run in self.runs):
            raise ValueError(f"runs must be lists of scaling, d_k and seed, got {self.runs}")


def load_plan(path: Path = DECLARED) -> dict[str, Study]:
    """The studies of a file by name, in the order in which they are made.

    Each table names its runs and the fields of its :class:`Settings`; what it leaves out of these
    has the default.

    Example:
        >>> len(load_plan()["heads"].runs)
        11
    """

    def build(name: str, asked: dict[str, Any], settings: dict[str, Any]) -> Study:
        known = _Asked(**asked)
        return Study(Settings(**settings), tuple(DecoderRun(*r) for r in known.runs), known.kept)

    return load_tables(path, (_Asked, Settings), build)


SCALINGS = tuple(dict.fromkeys(run.scaling for run in load_plan()["heads"].runs))
"""What is compared, by its names in :data:`sdpa_book.studies.transformer.SCALINGS`."""


def rate_at(step: int, settings: Settings, trial: bool) -> float:
    """The learning rate of a step, from 0, as a part of the full one.

    Example:
        >>> settings = Settings(steps=100, warm_up=10, every=20, moments=())
        >>> [round(rate_at(step, settings, trial=False), 3) for step in (0, 9, 99)]
        [0.1, 1.0, 0.1]
    """
    if step < settings.warm_up:
        return (step + 1) / settings.warm_up
    if trial:
        return 1.0
    done = (step + 1 - settings.warm_up) / max(1, settings.steps - settings.warm_up)
    return 0.55 + 0.45 * math.cos(math.pi * done)
