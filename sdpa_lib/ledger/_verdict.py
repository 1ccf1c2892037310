"""From a claim and a finding to a verdict, by one rule for all rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from sdpa_lib.ledger._claims import Claim

STANDARD_ERRORS = 3.0
"""Half the width of the interval of a measured figure, in standard errors."""

EXACT = 1e-9
"""Figures that differ by less, relative to the source's, are equal: float64 and a handful of operations."""


class Verdict(StrEnum):
    """What the computation says of a claim."""

    HOLDS = "holds"
    HOLDS_IF = "holds if"
    ROUGH = "rough"
    WRONG = "wrong"
    NOT_TESTABLE = "not testable here"


@dataclass(frozen=True)
class Finding:
    """What a check computed.

    Attributes:
        ours: the figures that stand beside the source's, in the same order.
        error: their standard error, the largest of them; 0 for an exact value.
        without: the same without the row's unstated assumption.
        facts: further results, by the names under which the row's sentence uses them.
    """

    ours: tuple[float, ...]
    error: float = 0.0
    without: Finding | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


def found(ours: float | Sequence[float], error: float = 0.0, without: Finding | None = None, **facts: Any) -> Finding:
    """A finding, from one figure or several.

    Example:
        >>> found(0.5, n=3)
        Finding(ours=(0.5,), error=0.0, without=None, facts={'n': 3})
    """
    figures = (ours,) if isinstance(ours, (int, float)) else ours
    return Finding(tuple(float(x) for x in figures), float(error), without, facts)


def decide(claim: Claim, finding: Finding | None) -> Verdict:
    """The verdict on a claim.

    A figure **fits** where the whole interval of three standard errors around ours lies within the claim's tolerance, or on the
    side of the threshold that its relation names. A claim that fits holds; if its row names an assumption, it has to fail
    without it. One that doesn't fit is rough where it fits the row's wider tolerance, and wrong otherwise.

    Raises:
        ValueError: the interval lies across the border, so that more draws are needed; or the finding doesn't go with the row.

    Example:
        >>> claim = Claim(id="S9-01", section="", claim="", chapter="", says=(0.98,), tolerance=0.005)
        >>> decide(claim, found(0.976)).value, decide(claim, found(0.7)).value
        ('holds', 'wrong')
    """
    if claim.not_testable:
        return Verdict.NOT_TESTABLE
    if finding is None:
        raise ValueError(f"{claim.id}: a claim that can be tested needs a finding")
    if fits(claim, finding):
        if not claim.holds_if:
            return Verdict.HOLDS
        if finding.without is None:
            raise ValueError(f"{claim.id}: {claim.check} must also give the figure without the assumption")
        if fits(claim, finding.without):
            raise ValueError(f"{claim.id} holds without its assumption, {claim.holds_if!r}, too")
        return Verdict.HOLDS_IF
    if claim.rough is not None and fits(claim, finding, rough=True):
        return Verdict.ROUGH
    return Verdict.WRONG


def fits(claim: Claim, finding: Finding, *, rough: bool = False) -> bool:
    """Whether the finding agrees with the source's figure, or with the claim's wider tolerance. Errors as in :func:`decide`."""
    if len(finding.ours) != len(claim.says):
        raise ValueError(f"{claim.id}: says has {len(claim.says)} figures, {claim.check} gave {len(finding.ours)}")
    if claim.relation == "=":
        tolerance = (claim.rough if rough else claim.tolerance) or 0.0
        bounds = [(says - tolerance - EXACT * abs(says), says + tolerance + EXACT * abs(says)) for says in claim.says]
    else:
        thresholds = [claim.rough if rough and claim.rough is not None else says for says in claim.says]
        beyond = [
            math.nextafter(at, -math.inf if claim.relation == "<" else math.inf) for at in thresholds
        ]  # the threshold fails
        bounds = [(-math.inf, at) if claim.relation == "<" else (at, math.inf) for at in beyond]
    answers = [_inside(claim.id, x, finding.error, *bound) for x, bound in zip(finding.ours, bounds, strict=True)]
    return all(answers)


def _inside(name: str, ours: float, error: float, low: float, high: float) -> bool:
    if ours != ours:
        raise ValueError(f"{name}: the computed figure is NaN")
    reach = STANDARD_ERRORS * error
    if low <= ours - reach and ours + reach <= high:
        return True
    if ours + reach < low or ours - reach > high:
        return False
    raise ValueError(f"{name} is undecided: {ours:.6g} ± {error:.2g} lies across the border {low:.6g} or {high:.6g}")
