"""Exercises of the chapter "Scalings in the wild"."""

from sdpa_book.exercises.exercise import Exercise

EXERCISES: dict[str, Exercise] = {
    "own_start": Exercise(
        answer=lambda d_model, d_k, p: 0.02**2 * d_model * d_k ** (0.5 - p),
        cases=((768, 64, 0.5), (4096, 128, 1.0), (1024, 256, 0.0)),
        mistakes={
            "That is the variance, and the spread is its root.": lambda d_model, d_k, p: (
                (0.02**2 * d_model) ** 2 * d_k ** (1 - 2 * p)
            ),
            "That is for matrices of variance 1/d_model.": lambda d_model, d_k, p: d_k ** (0.5 - p),
            "Queries come out of such a matrix, but so do keys.": lambda d_model, d_k, p: (
                0.02 * d_model**0.5 * d_k ** (0.5 - p)
            ),
            "The terms of a dot product have random signs, so their sum grows with the root of "
            "their number.": lambda d_model, d_k, p: 0.02**2 * d_model * d_k ** (1 - p),
        },
    ),
    "kept_by_both": Exercise(
        answer=[0.5, 1.5],
        mistakes={
            "With these the start is kept, but Adam's step is not.": [0.0, 0.5],
            "With these Adam's step is kept, but the start is not.": [0.0, 1.0],
            "With these the start is kept. But the change of a query meets keys that are d^a times "
            "as large, and Adam's step goes like d^(1 + a - p).": [0.25, 1.0],
        },
    ),
    "hundred_keys": Exercise(
        answer=2.54,
        tolerance=0.025,
        mistakes={
            "That is what the formula gives, but it is for very many keys. If you count here, "
            "there are about 250.": 2.1,
            "That leaves about 3,000 effective keys, as the root alone does.": 1.0,
            "That is Muse Spark's constant, which leaves fewer than ten.": 5.47,
            "That is the square of a factor: scores that are f times as large have f² times the "
            "variance.": 6.45,
        },
    ),
}
