"""From a claim and a finding to a verdict, by one rule for all rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from sdpa_book.ledger.claims import Claim

STANDARD_ERRORS = 3.0
"""Half the width of the interval of a measured figure, in standard errors."""

ROUGH = 5.0
"""A figure that misses its tolerance, but not this many times over, is rough and not wrong."""

EXACT = 1e-9
"""Figures that differ by less, relative to the source's, are equal: float64 and a handful of
operations.
"""


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
        without: what the check computed with the row's other arguments, without its unstated
            assumption.
        facts: further results, by the names under which the row's sentence uses them.
    """

    ours: tuple[float, ...]
    error: float = 0.0
    without: Finding | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


def finding(ours: float | Sequence[float], error: float = 0.0, **facts: Any) -> Finding:
    """A finding, from one figure or several.

    Example:
        >>> finding(0.5, n=3)
        Finding(ours=(0.5,), error=0.0, without=None, facts={'n': 3})
    """
    figures = (ours,) if isinstance(ours, (int, float)) else ours
    return Finding(tuple(float(x) for x in figures), float(error), facts=facts)


def decide(claim: Claim, finding: Finding | None) -> Verdict:
    """The verdict on a claim.

    A figure **fits** where the whole interval of three standard errors around ours lies within the
    claim's tolerance, or on the side of the threshold that its relation names. A claim that fits
    holds; if its row names an assumption, it has to fail without it. One that doesn't fit is rough
    where it fits five times the tolerance, and wrong otherwise.

    Raises:
        ValueError: the interval lies across the border, so that more draws are needed; or the
            finding doesn't go with the row.

    Example:
        >>> given = {"section": "", "claim": "", "chapter": ""}
        >>> claim = Claim(id="S9-01", says=(0.98,), tolerance=(0.005,), **given)
        >>> decide(claim, finding(0.976)).value, decide(claim, finding(0.7)).value
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
            raise ValueError(
                f"{claim.id}: holds_if needs without, the arguments that drop the assumption"
            )
        if fits(claim, finding.without):
            raise ValueError(f"{claim.id} holds without its assumption, {claim.holds_if!r}, too")
        return Verdict.HOLDS_IF
    return Verdict.ROUGH if fits(claim, finding, times=ROUGH) else Verdict.WRONG


def fits(claim: Claim, finding: Finding, *, times: float = 1.0) -> bool:
    """Whether the finding agrees with the source's figures within so many tolerances. Errors as in
    :func:`decide`.
    """
    if len(finding.ours) != len(claim.says):
        raise ValueError(
            f"{claim.id}: says has {len(claim.says)} figures, {claim.check} gave "
            f"{len(finding.ours)}"
        )
    if claim.relation == "=":
        tolerances = (
            claim.tolerance if len(claim.tolerance) > 1 else claim.tolerance * len(claim.says)
        )
        margins = [
            times * tolerance + EXACT * abs(says)
            for says, tolerance in zip(claim.says, tolerances, strict=True)
        ]
        bounds = [
            (says - margin, says + margin) for says, margin in zip(claim.says, margins, strict=True)
        ]
    elif claim.relation == "<":
        bounds = [
            (-math.inf, math.nextafter(says, -math.inf)) for says in claim.says
        ]  # the threshold itself is not below it
    else:
        bounds = [(math.nextafter(says, math.inf), math.inf) for says in claim.says]
    answers = [
        _inside(claim.id, x, finding.error, *bound)
        for x, bound in zip(finding.ours, bounds, strict=True)
    ]
    return all(answers)


def _inside(name: str, ours: float, error: float, low: float, high: float) -> bool:
    if math.isnan(ours):
        raise ValueError(f"{name}: the computed figure is NaN")
    reach = STANDARD_ERRORS * error
    if low <= ours - reach and ours + reach <= high:
        return True
    if ours + reach < low or ours - reach > high:
        return False
    raise ValueError(
        f"{name} is undecided: {ours:.6g} ± {error:.2g} lies across the border {low:.6g} or "
        f"{high:.6g}"
    )
