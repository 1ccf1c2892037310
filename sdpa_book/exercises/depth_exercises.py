"""Exercises of the chapter "Through many layers: what arrives at the bottom?"."""

from sdpa_book.exercises.exercise import Exercise
from sdpa_book.studies.depth import mean_field


def _from_few_to_many() -> float:
    few, many = (mean_field(24, 1 / 8, n_tokens=n).gradient[0] for n in (4, 64))
    return many / few


EXERCISES: dict[str, Exercise] = {
    "alike": Exercise(
        answer=lambda n, gamma: (1 + (n - 1) * gamma) / n,
        cases=((16, 1.0), (16, 0.0), (4, 0.5)),
        mistakes={
            "That is a query that has decided. Equal keys have equal scores: what are the weights "
            "then?": lambda n, gamma: 1 + (n - 1) * gamma,
            "The other rows send something to this value as well, and what they send is alike: "
            "(n - 1)γS'.": lambda n, gamma: 1 / n,
            "Row i is not one of the others: there are n - 1 of them.": lambda n, gamma: (
                1 / n + gamma
            ),
        },
    ),
    "limit": Exercise(
        answer=lambda kappa, S: (1 + S) ** (kappa / S),
        cases=((9.0, 1.0), (0.3, 0.15), (4.0, 0.5)),
        mistakes={
            "So it would be with a stream that does not grow: at its top V is 1 + S.": (
                lambda kappa, S: 2.718281828459045**kappa
            ),
            "That is 1 + κ, one block. With L blocks there is a product, and its logarithm a "
            "sum.": lambda kappa, S: 1 + kappa,
            "The stream grows by S from bottom to top: the integral of κ/(1 + Sx) has a factor "
            "1/S.": lambda kappa, S: (1 + S) ** kappa,
            "In V every block counts, not the last one alone: V rises evenly from 1 to 1 + S.": (
                lambda kappa, S: 2.718281828459045 ** (kappa / (1 + S))
            ),
        },
    ),
    "tokens": Exercise(
        answer=_from_few_to_many(),
        tolerance=0.05,
        mistakes={
            "More tokens change something: ask the recursion.": 1.0,
            "The other way round: sequences of 64 over sequences of 4.": 1 / _from_few_to_many(),
            "`gradient` is a root mean square already.": _from_few_to_many() ** 2,
        },
    ),
}
