"""Exercises of the chapter "The real test: training with each rescaling"."""

import math
import statistics

from sdpa_lib.book.exercises._exercise import Exercise

EXERCISES: dict[str, Exercise] = {
    "half_width": Exercise(
        answer=lambda accuracies: 2.776 * statistics.stdev(accuracies) / math.sqrt(5),
        cases=(([0.90, 0.92, 0.94, 0.92, 0.92],), ([1.0, 0.98, 0.99, 0.97, 1.0],)),
        tolerance=1e-3,
        mistakes={
            "This is the standard error: for 95 % with five seeds it is multiplied by "
            "t.": lambda a: statistics.stdev(a) / math.sqrt(5),
            "1.96 belongs to a known standard deviation; five seeds leave t with four degrees of "
            "freedom, 2.776.": lambda a: 1.96 * statistics.stdev(a) / math.sqrt(5),
            "This is the interval of one further seed, not of the mean: divide by √5.": lambda a: (
                2.776 * statistics.stdev(a)
            ),
            "The deviations from the mean are divided by n - 1, not by n.": lambda a: (
                2.776 * statistics.pstdev(a) / math.sqrt(5)
            ),
        },
    ),
    "paired": Exercise(
        answer=lambda a, b: (
            statistics.stdev([x - y for x, y in zip(a, b, strict=True)]) / math.sqrt(len(a))
        ),
        cases=(
            ([0.90, 0.80, 0.95], [0.88, 0.79, 0.92]),
            ([1.0, 0.9, 0.8, 0.9], [0.9, 0.9, 0.9, 0.7]),
        ),
        mistakes={
            "These runs share their seeds: take the differences first.": lambda a, b: math.sqrt(
                (statistics.variance(a) + statistics.variance(b)) / len(a)
            ),
            "This is the spread of one difference, not of their mean.": lambda a, b: (
                statistics.stdev([x - y for x, y in zip(a, b, strict=True)])
            ),
        },
    ),
    "rate": Exercise(
        answer=lambda rate, d_k: rate * math.sqrt(d_k),
        cases=((0.003, 64), (0.01, 16)),
        mistakes={
            "Adam ignores the size of the gradient: W_Q moves as far as before, and A is √d_k "
            "times W_Q.": lambda rate, d_k: rate,
            "That is so for plain gradient descent.": lambda rate, d_k: rate * d_k,
            "The other way round: A moves further, not less far.": lambda rate, d_k: (
                rate / math.sqrt(d_k)
            ),
        },
    ),
}
