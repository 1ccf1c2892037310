"""Every kind of rescaling, for the tests that all of them must pass: those that the book lists, and
those of published models.

The models' own lengths, in the thousands, are shortened so that few keys reach them.
"""

import pytest

from sdpa_lib import RESCALINGS, Rescaling, get_rescaling
from sdpa_lib.rescaling import LogBeyond, LogCount, LogSteps, PowerOfDk

RESCALINGS_OF_EVERY_KIND: list[str | Rescaling] = [
    *RESCALINGS,
    PowerOfDk(0.5, factor=3.0),
    LogCount(0.43),
    LogCount(2.0, power=1.0),
]
RESCALINGS_OF_EVERY_KIND += [LogBeyond(4), LogSteps(4, 0.5)]

EVERY_RESCALING = pytest.mark.parametrize("rescaling", RESCALINGS_OF_EVERY_KIND, ids=str)

# For what takes long and can't depend on the numbers in a rescaling, as its graph can't.
ONE_OF_EACH_CLASS = pytest.mark.parametrize(
    "rescaling",
    {type(get_rescaling(r)): r for r in RESCALINGS_OF_EVERY_KIND}.values(),
    ids=str,
)
