"""Figures with their standard errors, and how both are shown."""

from __future__ import annotations

import math
from typing import NamedTuple

from torch import Tensor


class Measured(NamedTuple):
    """A figure and its standard error.

    As text both are rounded to the error's second significant digit. Each keeps digits of its own
    where that would take zeros by the dozen, or where the error is no number.

    Example:
        >>> print(Measured(63.9417, 0.2874), Measured(0.00012, 0.0031), sep=", ")
        63.94 ± 0.29, 0.0001 ± 0.0031
    """

    value: float
    error: float

    def __str__(self) -> str:
        if self.error == 0.0:
            return f"{significant(self.value)} ± 0"
        if not 1e-12 < abs(self.error) < 1e12 or not abs(self.value) < 1e15:
            return f"{significant(self.value)} ± {significant(self.error, 2)}"
        places = max(0, 1 - int(f"{self.error:.1e}".split("e")[1]))
        return f"{self.value:.{places}f} ± {self.error:.{places}f}"


def mean_and_error(values: Tensor) -> Measured:
    """The mean of independent values (N,), N at least 2, and its standard error.

    Example:
        >>> import torch
        >>> mean_and_error(torch.tensor([2.0, 4.0, 2.0, 4.0, 3.0, 3.0, 3.0, 2.0, 4.0]))
        Measured(value=3.0, error=0.288...)
    """
    return Measured(values.mean().item(), values.std().item() / math.sqrt(len(values)))


def median_and_error(values: Tensor) -> Measured:
    """The median of independent values, and its standard error from the values one standard
    deviation of the rank to either side.

    Example:
        >>> import torch
        >>> median_and_error(torch.arange(101.0)).value
        50.0
    """
    ordered = values.flatten().sort().values
    n = len(ordered)
    step = math.sqrt(n) / 2
    low, high = ordered[math.floor(n / 2 - step)], ordered[math.ceil(n / 2 + step)]
    return Measured(ordered[n // 2].item(), ((high - low) / 2).item())


def ratio(first: Measured, second: Measured) -> Measured:
    """The ratio of two independent figures.

    Example:
        >>> ratio(Measured(6.0, 0.3), Measured(2.0, 0.0))
        Measured(value=3.0, error=0.15)
    """
    value = first.value / second.value
    relative = math.hypot(first.error / first.value, second.error / second.value)
    return Measured(value, abs(value) * relative)


def significant(value: float, digits: int = 4) -> str:
    """A number with so many significant digits, trailing zeros kept; an int as it is.

    Example:
        >>> [significant(x) for x in (0.99996, 511.83, 0.000123456, 8)]
        ['1.000', '511.8', '0.0001235', '8']
    """
    if isinstance(value, int):
        return str(value)
    if value == 0.0:
        return "0"
    text = f"{value:#.{digits}g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        return f"{mantissa.rstrip('.')}e{int(exponent)}"
    return text.rstrip(".")


def brief(figure: tuple[float, float], digits: int = 3) -> str:
    """A figure and its standard error for a narrow column: at most so many significant digits, and
    a power of ten below 0.001 and from 10¹² on.

    The error ends at the same place, and is left out where it is smaller than one there.

    Example:
        >>> print(brief((0.17406, 4.6e-7)), brief((16.54, 0.11)), brief((2.91e-8, 1.9e-9)))
        0.174 16.5 ± 0.1 (2.91 ± 0.19)·10⁻⁸
        >>> print(brief((7.9e13, 0), digits=2), brief((1808.04, 0)))
        7.9·10¹³ 1,808
    """
    value, error = figure
    exponent = int(f"{value:.{digits - 1}e}".split("e")[1])
    if not -4 < exponent < 12:
        text = brief((value / 10.0**exponent, error / 10.0**exponent), digits)
        power = str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
        return f"({text})·10{power}" if "±" in text else f"{text}·10{power}"
    places = digits - 1 - exponent
    if error > 0:
        places = min(places, 1 - int(f"{error:.1e}".split("e")[1]))
    places = max(0, places)
    text = f"{value:,.{places}f}"
    return text if error < 10.0**-places else f"{text} ± {error:,.{places}f}"
