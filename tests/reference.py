"""Slow, independent implementations to test against: plain Python loops, no code shared with the
library.
"""

import math
from collections.abc import Callable, Sequence

Vector = Sequence[float]


def attention_row(
    query: Vector,
    keys: Sequence[Vector],
    values: Sequence[Vector],
    *,
    divisor: float,
    visible: Sequence[bool],
    bias: Vector,
) -> tuple[list[float], list[float]]:
    """One query's weights and output, in Python floats. ``visible`` and ``bias`` have one entry a
    key.
    """
    scores = [
        sum(a * b for a, b in zip(query, key, strict=True)) / divisor + add
        for key, add in zip(keys, bias, strict=True)
    ]
    seen = [score for score, sees in zip(scores, visible, strict=True) if sees]
    if not seen:
        return [0.0] * len(keys), [0.0] * len(values[0])
    top = max(seen)
    exps = [
        math.exp(score - top) if sees else 0.0 for score, sees in zip(scores, visible, strict=True)
    ]
    weights = [e / sum(exps) for e in exps]
    return weights, [
        sum(w * value[c] for w, value in zip(weights, values, strict=True))
        for c in range(len(values[0]))
    ]


def divisor(name: object, keys: Sequence[Vector], visible: Sequence[bool]) -> float:
    """The divisor of one row by its definition, from the keys it sees."""
    d_k = len(keys[0])
    lengths = [
        math.sqrt(sum(x * x for x in key)) for key, sees in zip(keys, visible, strict=True) if sees
    ]
    definitions: dict[str, Callable[[], float]] = {
        "none": lambda: 1.0,
        "sqrt_d_k": lambda: math.sqrt(d_k),
        "d_k": lambda: float(d_k),
        "k_total": lambda: sum(lengths),
        "k_mean": lambda: sum(lengths) / len(lengths) if lengths else 1.0,
        "k_rss": lambda: math.sqrt(sum(x**2 for x in lengths)),
        "k_norm_4": lambda: sum(x**4 for x in lengths) ** 0.25,
        "n_sqrt_d_k": lambda: len(lengths) * math.sqrt(d_k),
        "PowerOfDk(power=0.5, factor=3.0)": lambda: 3 * math.sqrt(d_k),
        "LogCount(s=0.43, power=0.5)": lambda: (
            math.sqrt(d_k) / (0.43 * math.log(max(len(lengths), 2)))
        ),
        "LogCount(s=2.0, power=1.0)": lambda: d_k / (2 * math.log(max(len(lengths), 2))),
        "LogBeyond(n_0=4)": lambda: (
            math.sqrt(d_k) / max(1.0, math.log(max(len(lengths), 1)) / math.log(4))
        ),
        "LogSteps(n_0=4, beta=0.5)": lambda: (
            math.sqrt(d_k) / (1 + 0.5 * math.log(1 + len(lengths) // 4))
        ),
    }
    return (
        definitions[str(name)]() or 1.0
    )  # all lengths zero, or no key seen: the scores are zero, or unused
