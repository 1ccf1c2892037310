"""Exercises of the chapter "What does training say?"."""

import math
import statistics

from sdpa_book.exercises.exercise import PER_CENT, Exercise


def _median(times: list[int | None]) -> float:
    return statistics.median(math.inf if t is None else t for t in times)


EXERCISES: dict[str, Exercise] = {
    "median": Exercise(
        answer=_median,
        cases=(
            ([200, 400, 300, None, 260],),
            ([100, None, 120, None, 900],),
            ([100, None, None, None, 900],),
        ),
        mistakes={
            "The runs that have not learned yet are the slowest, so leaving them out makes the "
            "median too early.": lambda times: statistics.median(t for t in times if t is not None),
            "A run that has not learned by step 400 may learn at 5,000, so 400 is not its time. In "
            "order it stands behind all that have learned.": lambda times: statistics.median(
                400 if t is None else t for t in times
            ),
            "This is a mean, which a single slow run can make as large as you "
            "like.": lambda times: statistics.fmean(400 if t is None else t for t in times),
        },
    ),
    "upper_limit": Exercise(
        answer=lambda n: 1 - 0.05 ** (1 / n),
        cases=((5,), (2,), (10,)),
        tolerance=1e-6,
        mistakes={
            "None of n is what was seen. But a model that learns with one seed of ten often "
            "fails five times. Which share p makes that just likely, (1 - p)^n = 0.05?": lambda n: (
                0.0
            ),
            "This is the share p at which all n learn with a chance of 5 %: ask for none of "
            "them.": lambda n: 0.05 ** (1 / n),
            PER_CENT: lambda n: 100 * (1 - 0.05 ** (1 / n)),
            "For many seeds that is close (the rule of three); for few it is above 1.": lambda n: (
                3 / n
            ),
        },
    ),
    "thawed": Exercise(
        answer=0.51,  # of the stored study; the chapter's solution computes it
        mistakes={
            "This is the entropy itself when the models have learned: divide it by that at step "
            "0.": 0.08,
            "This is the other way round: divide by the entropy at step 0.": 1 / 0.51,
            "This is the ratio of the root's models.": 0.35,
            PER_CENT: 51,
        },
        tolerance=0.05,
    ),
}
