"""Exercises of the chapter "Scalings in the wild"."""

import math

from sdpa_book.exercises.exercise import Exercise

EXERCISES: dict[str, Exercise] = {
    "rate_factor": Exercise(
        answer=lambda h, m: 1 / (m * math.sqrt(h)),
        cases=((4.0, 1.0), (1.0, 4.0), (2.0, 8.0)),
        mistakes={
            "That is for a wider head in the same model; the model's width lengthens the step, "
            "too.": lambda h, m: 1 / math.sqrt(h),
            "That is for scores divided by d_k.": lambda h, m: 1 / m,
            "That is for scores that are not divided.": lambda h, m: 1 / (m * h),
            "By so much the step becomes longer; the rate has to undo it.": lambda h, m: (
                m * math.sqrt(h)
            ),
        },
    ),
    "normalised_step": Exercise(
        answer=lambda p: 0.5 - p,
        cases=((0.0,), (0.5,), (1.0,)),
        mistakes={
            "That is gradient descent; here the gradient's own size is divided away.": lambda p: (
                1 - 2 * p
            ),
            "That is Adam, which divides every entry by its own size; the norm of the whole "
            "matrix grows with the number of its entries.": lambda p: 1 - p,
            "The update is divided by d_k^p once more, when the score is.": lambda p: 0.5,
        },
    ),
    "kept_by_both": Exercise(
        answer=[0.5, 1.5],
        mistakes={
            "With these the start is kept, and Adam's step is not.": [0.0, 0.5],
            "With these Adam's step is kept, and the start is not.": [0.0, 1.0],
            "With these the start is kept. But the change of a query meets keys that are d^a times "
            "as large, and Adam's step goes like d^(1 + a - p).": [0.25, 1.0],
        },
    ),
    "half_epsilon": Exercise(
        answer=5.8e-5,
        tolerance=0.35,
        mistakes={
            "Here less than a fifth of the step is left.": 3e-4,
            "That is a head of 256 components: the entries of the gradient go like 1/d_k.": 9.2e-4,
            "Here most of the step, 87 %, is left.": 7e-6,
        },
    ),
}
