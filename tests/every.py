"""Every kind of rescaling, for the tests that all of them must pass: those that the book lists, and
those of published models.

The models' own lengths, in the thousands, are shortened so that few keys reach them.
"""

import pytest

from sdpa_lib import RESCALINGS
from sdpa_lib.rescaling import LogBeyond, LogCount, LogSteps, PowerOfDk

RESCALINGS_OF_EVERY_KIND = [
    *RESCALINGS,
    PowerOfDk(0.5, factor=3.0),
    LogCount(0.43),
    LogCount(2.0, power=1.0),
]
RESCALINGS_OF_EVERY_KIND += [LogBeyond(4), LogSteps(4, 0.5)]

EVERY_RESCALING = pytest.mark.parametrize("rescaling", RESCALINGS_OF_EVERY_KIND, ids=str)
