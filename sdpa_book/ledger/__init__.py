"""The ledger: the statements of the book's five source documents that could fail, recomputed, with
a verdict.

The statements are data, in ``claims.toml``; each names one of the functions in
:mod:`sdpa_book.ledger.checks`, and one rule, :func:`decide`, makes a verdict of the two.
``python -m sdpa_book.ledger`` writes the result as CSV.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from typing import Any, NamedTuple

from sdpa_book.ledger.checks import CHECKS
from sdpa_book.ledger.claims import Claim, Source, load_claims, load_sources
from sdpa_book.ledger.page import COLUMNS, Entry, Ledger, figure_texts
from sdpa_book.ledger.record import RECORD, load_record
from sdpa_book.ledger.verdict import Finding, Verdict, decide, finding, fits
from sdpa_lib._checks import unknown_name

__all__ = [
    "CHECKS",
    "COLUMNS",
    "RECORD",
    "Claim",
    "Count",
    "Entry",
    "Finding",
    "Ledger",
    "Source",
    "Verdict",
    "check_claim",
    "check_claims",
    "count",
    "decide",
    "finding",
    "fits",
    "load_claims",
    "load_record",
    "load_sources",
]


def check_claim(claim: Claim) -> Entry:
    """Run a claim's check and decide.

    Raises:
        ValueError: no check of that name, or arguments that it doesn't take; and what
            :func:`decide` raises.

    Example:
        >>> entry = check_claim(load_claims()[0])
        >>> entry.claim.id, entry.verdict.value
        ('S0-01', 'not testable here')
    """
    if claim.not_testable:
        return Entry(claim, None, decide(claim, None), claim.not_testable)
    finding = _run(claim, claim.given)
    if claim.without:
        finding = replace(finding, without=_run(claim, {**claim.given, **claim.without}))
    return Entry(claim, finding, decide(claim, finding), _why(claim, finding))


def _run(claim: Claim, given: Mapping[str, Any]) -> Finding:
    check = _function(claim)
    try:
        return check(**given)
    except (TypeError, KeyError) as error:
        raise ValueError(
            f"{claim.id}: {claim.check} does not take given = {dict(given)}: {error}"
        ) from error


def _function(claim: Claim) -> Callable[..., Finding]:
    if claim.check not in CHECKS:
        raise ValueError(f"{claim.id}: {unknown_name('check', claim.check, CHECKS)}")
    return CHECKS[claim.check]


def _why(claim: Claim, finding: Finding) -> str:
    """The claim's sentence with what was found filled in, per cents as the book writes them."""
    facts = {"ours": ", ".join(figure_texts(claim, finding)), **finding.facts}
    if finding.without is not None:
        other = replace(finding.without, error=0.0)
        facts |= {f"without_{name}": fact for name, fact in other.facts.items()}
        facts |= {"other": other.ours[0], "others": ", ".join(figure_texts(claim, other))}
    return re.sub(r"(?<=\d)%", " %", claim.why.format(**facts))


def check_claims(claims: Sequence[Claim] | None = None) -> Ledger:
    """The whole ledger; ``None`` checks every claim of the data file, in under a minute on two
    cores.

    Example:
        >>> check_claims(load_claims()[:2])
        S0-01  not testable here
        S0-03  holds            0.5110 ± 0.0013
    """
    chosen = load_claims() if claims is None else claims
    return Ledger([check_claim(claim) for claim in chosen], load_sources())


class Count(NamedTuple):
    """How much the ledger says, and how much is computed for it.

    Attributes:
        rows: of the table.
        claims: the rows, with those that are the entries of one table counted once.
        computations: runs of a check, no two of them of one check with the same arguments. Two
            sources that say the same thing share one, and a row that names an assumption has two.
    """

    rows: int
    claims: int
    computations: int


def count(claims: Sequence[Claim] | None = None) -> Count:
    """Count rows, claims and computations apart; ``None`` counts every claim of the data file.

    Example:
        >>> count(load_claims()[:2])
        Count(rows=2, claims=2, computations=1)
    """
    chosen = load_claims() if claims is None else claims
    entries = [(claim.source, claim.table) for claim in chosen if claim.table]
    runs = set()
    for claim in chosen:
        if not claim.not_testable:
            runs.add(_computation(claim, claim.given))
            runs.add(_computation(claim, {**claim.given, **claim.without}))
    return Count(len(chosen), len(chosen) - len(entries) + len(set(entries)), len(runs))


def _computation(claim: Claim, given: Mapping[str, Any]) -> str:
    """A check with all its arguments, those by default among them."""
    bound = signature(_function(claim)).bind(**given)
    bound.apply_defaults()
    return json.dumps([claim.check, bound.arguments], sort_keys=True)
