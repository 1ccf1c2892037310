"""Exercises of the chapter "What should you remember?"."""

import math

from sdpa_book.exercises.exercise import Exercise

EXERCISES: dict[str, Exercise] = {
    "false_sentences": Exercise(
        answer="bde",
        mistakes={
            "(a) is true: dividing by d_k divides the variance by its square, and d_k/d_k² is "
            "1/d_k.": "abde",
            "(c) is true: what is added to all keys adds the same number to all scores of a "
            "row.": "bcde",
            "(f) is true: the sharper the weights, the fewer values are averaged.": "bdef",
            "One is missing: does a score know how many other keys there are?": "de",
            "One is missing: what does correlation do if the other side has none?": "be",
            "One is missing: what does softmax make of scores that are all twice as large?": "bd",
            "(c) is true, and one is missing: what does correlation do if the other side has "
            "none?": "bce",
        },
    ),
    "diagnosis": Exercise(
        answer="dacb",
        mistakes={
            "Programs 2 and 4: one variance falls like 1/d_k, and the other grows with "
            "d_k.": "dbca",
            "Programs 1 and 3: which of the two has a mean?": "cadb",
            "Programs 1 and 4: both variances grow like d_k. What is the factor, 1 or "
            "1/512?": "bacd",
            "Programs 3 and 4: which of the two has a mean?": "dabc",
        },
    ),
    "enough_keys": Exercise(
        answer=lambda std: math.exp(std**2 / 2),
        cases=((1.0,), (2.0,), (4.8,)),
        tolerance=0.01,
        mistakes={
            "The border is √(2 ln n): square the spread before you halve it.": lambda std: math.exp(
                std / 2
            ),
            "The square of √(2 ln n) has a factor 2.": lambda std: math.exp(std**2),
            "This is the logarithm of n.": lambda std: std**2 / 2,
            "This is the border of so many keys; solve it for their number.": lambda std: math.sqrt(
                2 * math.log(std)
            ),
        },
    ),
}
