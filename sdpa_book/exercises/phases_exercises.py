"""Exercises of the chapter "How sharp is too sharp? A phase transition"."""

import math

from sdpa_book.exercises.exercise import Exercise

EXERCISES: dict[str, Exercise] = {
    "spread": Exercise(
        answer=lambda n, perplexity: math.sqrt(2 * math.log(n / perplexity)),
        cases=((10_000, 2000), (4096, 100)),
        mistakes={
            "This is the variance.": lambda n, perplexity: 2 * math.log(n / perplexity),
            "The exponent is half of the variance; so the 2 is missing, or the keys are counted "
            "by 1/Σp².": lambda n, perplexity: math.sqrt(math.log(n / perplexity)),
            "This is the border, where the query attends to a few keys only.": lambda n, _: (
                math.sqrt(2 * math.log(n))
            ),
        },
    ),
    "factor": Exercise(
        answer=lambda n, g: g - math.sqrt(g**2 - 2 * math.log(9 * n)),
        cases=((131_072, 8.0), (4096, 6.0)),
        mistakes={
            "The factor spreads the other scores, too: their sum is n e^(f²/2).": lambda n, g: (
                math.log(9 * n) / g
            ),
            "The others' sum is taken before they are multiplied by f.": lambda n, g: (
                (math.log(9 * n) + 0.5) / g
            ),
            "This is the larger solution, beyond the border.": lambda n, g: (
                g + math.sqrt(g**2 - 2 * math.log(9 * n))
            ),
            "This gives the match one half of the weight.": lambda n, g: (
                g - math.sqrt(g**2 - 2 * math.log(n))
            ),
        },
    ),
    "share": Exercise(
        answer=0.1,
        mistakes={
            "These keys are counted by e^H, and the question is about 1/Σp².": math.e / 20,
            "This is what normal scores with this standard deviation would leave below the "
            "border; cosines are not normal.": math.exp(-100 / 6),
            "The sum of e^(2z) falls off twice as fast: it is n e^(2s)/4s, not n e^(2s)/2s.": 0.05,
        },
        tolerance=0.03,
    ),
}
