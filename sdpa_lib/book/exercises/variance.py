"""Exercises of the chapter "Why is the variance exactly d_k?"."""

import math

from sdpa_lib.book.exercises._exercise import Exercise

EXERCISES: dict[str, Exercise] = {
    "product_variance": Exercise(
        answer=lambda mx, vx, my, vy: vx * vy + mx**2 * vy + my**2 * vx,
        cases=((0.0, 1.0, 0.0, 1.0), (2.0, 1.0, -1.0, 9.0), (0.5, 4.0, 3.0, 0.25)),
        mistakes={
            "This is right for zero means only.": lambda mx, vx, my, vy: vx * vy,
            "Each mean goes with the other factor's variance.": lambda mx, vx, my, vy: (
                vx * vy + mx**2 * vx + my**2 * vy
            ),
            "This is E[X²Y²]; the square of E[XY] is still to be taken "
            "off.": lambda mx, vx, my, vy: (vx + mx**2) * (vy + my**2),
            "The means enter squared.": lambda mx, vx, my, vy: (
                vx * vy + abs(mx) * vy + abs(my) * vx
            ),
        },
    ),
    "biased_divisor": Exercise(
        answer=lambda d_k, mu_q, mu_k: math.sqrt(d_k * (1 + mu_q**2 + mu_k**2)),
        cases=((4, 0.0, 0.0), (16, 1.0, 1.0), (64, 0.5, -2.0), (9, 0.0, 3.0)),
        mistakes={
            "This ignores the means.": lambda d_k, mu_q, mu_k: math.sqrt(d_k),
            "This is the variance; the divisor is its root.": lambda d_k, mu_q, mu_k: (
                d_k * (1 + mu_q**2 + mu_k**2)
            ),
            "The product of the means moves the mean of the score; its variance has each mean "
            "squared.": (lambda d_k, mu_q, mu_k: math.sqrt(d_k * (1 + abs(mu_q * mu_k)))),
            "This also counts μ_q²μ_k², which belongs to the mean of the product, not to its "
            "variance.": (lambda d_k, mu_q, mu_k: math.sqrt(d_k * (1 + mu_q**2) * (1 + mu_k**2))),
        },
    ),
    "xavier_variance": Exercise(
        answer=lambda fan_in, fan_out: 2 * fan_in / (fan_in + fan_out),
        cases=((512, 64), (512, 512), (512, 1536)),
        mistakes={
            "This is what S4 says, and it holds for a square matrix "
            "only.": lambda fan_in, fan_out: 1.0,
            "This is the variance of one weight; q_i sums one product for each "
            "input.": lambda fan_in, fan_out: 2 / (fan_in + fan_out),
            "The number of inputs is summed over, not the number of "
            "outputs.": lambda fan_in, fan_out: 2 * fan_out / (fan_in + fan_out),
        },
    ),
    "t5_query_std": Exercise(
        answer=lambda d_model, d_k: (d_model * d_k) ** -0.5,
        cases=((512, 64), (768, 16), (1024, 128)),
        mistakes={
            "With this the scores have variance d_k: the factor that others divide by is still "
            "missing.": (lambda d_model, d_k: d_model**-0.5),
            "This is the variance of a weight, not its standard deviation.": lambda d_model, d_k: (
                1 / (d_model * d_k)
            ),
            "The sum over the inputs of W_Q is not accounted for.": lambda d_model, d_k: d_k**-0.5,
            "This puts the whole of d_k where its root belongs.": lambda d_model, d_k: (
                d_model**-0.5 / d_k
            ),
        },
    ),
}
