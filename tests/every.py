"""Every kind of rescaling, for the tests that all of them must pass: those that the book lists, and
those of published models; and fewer cases than a full product has.

The models' own lengths, in the thousands, are shortened so that few keys reach them.
"""

import itertools
import random
from collections.abc import Iterable
from typing import Any

import pytest

from sdpa_lib import RESCALINGS, Rescaling, get_rescaling
from sdpa_lib.rescaling import LogBeyond, LogCount, LogSteps, PowerOfDk

RESCALINGS_OF_EVERY_KIND: list[str | Rescaling] = [
    *RESCALINGS,
    PowerOfDk(0.5, factor=3.0),
    LogCount(0.43),
    LogCount(2.0, power=1.0),
    LogBeyond(4),
    LogSteps(4, 0.5),
]
# For what can't depend on the numbers in a rescaling.
ONE_OF_EACH_CLASS = list({type(get_rescaling(r)): r for r in RESCALINGS_OF_EVERY_KIND}.values())

EVERY_RESCALING = pytest.mark.parametrize("rescaling", RESCALINGS_OF_EVERY_KIND, ids=str)
EVERY_CLASS = pytest.mark.parametrize("rescaling", ONE_OF_EACH_CLASS, ids=str)


def every_pair(**axes: Iterable[Any]) -> pytest.MarkDecorator:
    """Parametrises with as many cases of the product of ``axes`` as it takes for every value to
    meet every value of the other axes: what goes wrong, goes wrong where two things meet.
    """

    values = [list(axis) for axis in axes.values()]
    product = list(itertools.product(*(range(len(axis)) for axis in values)))
    random.Random(0).shuffle(product)
    pairs = {case: set(itertools.combinations(enumerate(case), 2)) for case in product}
    missing, chosen = set().union(*pairs.values()), []
    while missing:
        chosen.append(max(product, key=lambda case: len(pairs[case] & missing)))
        missing -= pairs[chosen[-1]]
    cases = [[axis[i] for axis, i in zip(values, case, strict=True)] for case in sorted(chosen)]
    return pytest.mark.parametrize(list(axes), cases, ids=name)


def name(value: object) -> str:
    """What a case is called; a function by its name, for its address is another in each process."""
    return getattr(value, "__name__", None) or str(value)
