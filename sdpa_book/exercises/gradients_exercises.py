"""Exercises of the chapter "What does saturation do to learning?"."""

import math

from sdpa_book.exercises.exercise import Exercise

BEST_X = 1.5434
"""The solution of x tanh(x/2) = 1."""

EXERCISES: dict[str, Exercise] = {
    "best_divisor": Exercise(
        answer=lambda gap: gap / BEST_X,
        cases=((8.0,), (1.0,), (20.0,)),
        tolerance=5e-3,
        mistakes={
            "That is where p(1 - p)/c is largest if p stays as it is: p depends on c as well. Put "
            "x = Δ/c.": lambda gap: gap,
            "Near: the condition is x tanh(x/2) = 1, not x tanh(x) = 1.": lambda gap: gap / 1.1997,
            "That is x. The divisor is Δ/x.": lambda gap: BEST_X,
            "The other way round: x = Δ/c.": lambda gap: gap * BEST_X,
        },
    ),
    "spread": Exercise(
        answer=lambda inputs, var_q, var_k, d_k: inputs * math.sqrt(var_q * var_k * d_k),
        cases=((512, 1 / 512, 1 / 512, 64), (768, 4e-4, 4e-4, 64), (100, 0.04, 0.01, 16)),
        mistakes={
            "This is the variance; the spread is its "
            "square root.": lambda inputs, var_q, var_k, d_k: inputs**2 * var_q * var_k * d_k,
            "A component is a sum over the inputs: its variance is inputs times that of a "
            "weight.": lambda inputs, var_q, var_k, d_k: math.sqrt(var_q * var_k * d_k),
            "The dot product is a sum of d_k products.": lambda inputs, var_q, var_k, d_k: (
                inputs * math.sqrt(var_q * var_k)
            ),
            "That many inputs stand in the query and in the key: once under the root for "
            "each.": lambda inputs, var_q, var_k, d_k: math.sqrt(inputs * var_q * var_k * d_k),
        },
    ),
}
