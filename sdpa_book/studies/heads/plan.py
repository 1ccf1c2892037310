r"""What the study of heads declares before a run is made: which decoders are trained, how, and what
is asked of them. ``plan.toml`` holds the runs. The study takes a few hours on one core.

**The question.** Do the queries and keys of a trained language model keep the assumptions under
which this book divides scores, and where do its heads stand in the phase diagram of article C?

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

**As people train it.** ``causal`` and the tables after it were declared when all of the above was
known, with two pilots: a step takes 0.038 s at 4 passages of 128 bytes, which is why these tables
have a quarter of the others' bytes a step and so keep all of 2,400 steps; and the root's scores,
decayed, reach 10 to 36 a head after 400 steps, 25 in the median one, with the same held-out loss
at rates of 10^-2.5 and 10^-3 (1.89 and 1.88). Rotary throughout; AdamW with a second momentum of
0.95; decay is taken from matrices alone, the vectors of bytes among them. Everything starts with
entries of variance 1/inputs and vectors of bytes of variance 1, or all with a standard deviation of
0.02, as GPT-2 and its heirs do. ``qk_clip`` is the root, and after each step W_Q and W_K of a head
whose largest score in the step's batch was above ``Settings.tau`` are both multiplied by
sqrt(tau / largest): the rule of Kimi K2. Its tau of 100 would never bind under the root here; ours
is 12, half of what the median head had reached in the pilot.

One rate, 10^-2.5, which every scaling above chose, for all; ``causal_slower`` repeats two runs at
10^-3. Two seeds for no division and the root at the start of 1/inputs, elsewhere one. All runs take
all steps; a run is not left out, and a spread that is still growing at the end is said to be.
Asked is, of the mean over heads (error: over two seeds, where there are two) of ``sigma``,
``top_score`` and ``first_weight``, and of the losses:

1. Does decay of 0.1 hold the spread? It does if undivided ``sigma`` at the end is at most half of
   what it is without decay, in each seed. A weight that nothing drives shrinks by
   exp(-decay × the sum of rates): to 0.66 within these 2,400 steps at 0.1, to 0.015 at 1, as in
   trainings of some 10^5 steps. So ``causal_strong`` asks the same of a
   decay of 1.
2. What do QK-norm and QK-clip hold, and what does it cost? ``sigma`` at the end against the
   root's, and the held-out loss.
3. Is a start of 0.02 that of 1/inputs after 2,400 steps? ``sigma`` and the loss of each scaling.
4. Does a sink appear? There is one if a head lays a mean of 0.3 or more on the first key (one of
   64 to 128). ``causal_first`` asks it of passages that all begin with one byte, as the texts of
   released models do. And ``squares`` over ``squares_normal`` with and without the first key.

They are made in the order of the file; if time is short the last are left out.

``causal_small_slower`` and ``causal_small_slowest`` were declared when all of the above was known
and a reader had asked: at 10^-2.5 small first scores are beyond 12 within 80 steps, and at the
rates of large models, 10^-3 to 10^-3.5, they need not be. With decay, two seeds, all steps. Asked
is 3 at these rates: ``sigma`` at step 80 and at the end, and which of the two has the lower
held-out loss in each seed, which is said whatever it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sdpa_book.calculations.initialisation import STARTS
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
    "rotary_small": (0.02, 0.0),
}
"""How a decoder knows places: the standard deviations with which the learned vectors of bytes and
of places start. ``gpt2`` has those of GPT-2's code (openai/gpt-2, src/model.py); with ``rotary``
and ``rotary_small`` no place has a vector, and queries and keys are turned
(:func:`~sdpa_book.studies.transformer.turned`).
"""

CLIPPED = "qk_clip"
"""The scaling of a run that divides by the root and shortens W_Q and W_K where scores get large."""


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
        rates: powers of 10, tried as learning rates; a single one is taken without a trial.
        trial_steps: how long each is tried.
        trial_d_k: in heads of which size.
        moments: the steps before which weights are kept and measured.
        every: steps from one held-out loss to the next.
        passages: how many held-out passages the loss is taken from.
        positions: a name in ``POSITIONS``.
        start: how matrices start, a name in :data:`~sdpa_book.calculations.initialisation.STARTS`.
        decay: what AdamW takes from matrices at each step, as a part of the learning rate.
        beta_2: of Adam's mean of squared gradients.
        tau: with ``CLIPPED``, the largest score that a head may have; larger ones are shortened.
        fixed_first: every passage begins with a zero byte in place of its own first.
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
    start: str = "1/inputs"
    decay: float = 0.0
    beta_2: float = 0.999
    tau: float = 100.0
    fixed_first: bool = False

    def __post_init__(self) -> None:
        if self.positions not in POSITIONS:
            raise unknown_name("positions", self.positions, POSITIONS)
        if self.start not in STARTS:
            raise unknown_name("start", self.start, STARTS)
        counts = "n_tokens batch steps warm_up trial_steps trial_d_k every passages"
        for name in counts.split():
            check_count(name, getattr(self, name))
        check_number("clip", self.clip, above=0.0)
        check_number("tau", self.tau, above=0.0)
        check_number("decay", self.decay, minimum=0.0)
        if not 0 <= check_number("beta_2", self.beta_2) < 1:
            raise ValueError(f"beta_2 must be at least 0 and less than 1, got {self.beta_2}")
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

    @property
    def divided(self) -> str:
        """How the model's scores are made: a name in
        :data:`sdpa_book.studies.transformer.SCALINGS`, or one like it.

        Example:
            >>> DecoderRun("qk_clip").divided
            'sqrt_d_k'
        """
        return "sqrt_d_k" if self.scaling == CLIPPED else self.scaling


class Study(NamedTuple):
    """Runs and what they share, and of how many moments the first run's vectors are kept, 0 if no
    run's are.
    """

    settings: Settings
    runs: tuple[DecoderRun, ...]
    kept_moments: int


@dataclass(frozen=True)
class _Asked:
    """What a table says besides its settings: runs as scaling, d_k and seed."""

    question: str
    runs: tuple[tuple[str, int, int], ...]
    kept_moments: int = 0

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
        return Study(
            Settings(**settings), tuple(DecoderRun(*r) for r in known.runs), known.kept_moments
        )

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
