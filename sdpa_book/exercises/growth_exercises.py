"""Exercises of the chapter "Why do dot products grow with dimension?"."""

import math
from statistics import NormalDist

from sdpa_book.exercises.exercise import Exercise

EXERCISES: dict[str, Exercise] = {
    "diagnosis": Exercise(
        answer="bdac",
        mistakes={
            "Heads 1 and 2: which of the two standard deviations grows fourfold with d_k?": "dbac",
            "Heads 3 and 4: how large is the mean of a match?": "bdca",
            "Heads 1 and 3: which of the two has a mean?": "adbc",
            "Heads 2 and 4: which of the two has a mean?": "bcad",
        },
    ),
    "needed_d_k": Exercise(
        answer=lambda rho, z: z**2 * (2 - rho**2) / rho**2,
        cases=((1.0, 3.0), (0.5, 4.0), (0.2, 4.0), (0.1, 3.0)),
        mistakes={
            "This measures by the spread of the unrelated dot product alone; the related one "
            "varies, too.": lambda rho, z: (z / rho) ** 2,
            "This takes the variance 1 for both terms. A related term has the mean ρ, and so its "
            "variance is less.": lambda rho, z: 2 * (z / rho) ** 2,
            "The variance of a difference is the sum of the two variances.": lambda rho, z: z**2,
            "This measures by the spread of the related dot product alone.": lambda rho, z: (
                (z / rho) ** 2 * (1 - rho**2)
            ),
            "The standard deviation grows like the root of d_k: solve for d_k.": lambda rho, z: (
                z * math.sqrt(2 - rho**2) / rho
            ),
        },
    ),
    "largest_of": Exercise(
        # the median of the largest of n normal numbers; their mean is within 3 per cent of it
        answer=lambda n: NormalDist().inv_cdf(0.5 ** (1 / n)),
        cases=((10,), (100,), (1000,)),
        tolerance=0.06,  # an answer may be measured, and be a mean or a median
        mistakes={
            "√(2 ln n) is where the largest of n normal numbers goes in the end, but at these n it "
            "is still well below.": lambda n: math.sqrt(2 * math.log(n)),
            "This is the score itself, at d_k = 64; count it in standard deviations.": lambda n: (
                8 * NormalDist().inv_cdf(0.5 ** (1 / n))
            ),
            "This is the largest in size, of either sign; softmax favours the largest.": lambda n: (
                NormalDist().inv_cdf((1 + 0.5 ** (1 / n)) / 2)
            ),
            "One standard deviation is a typical score; the largest of many is farther out, and "
            "the farther the more there are.": lambda n: 1.0,
        },
    ),
}
