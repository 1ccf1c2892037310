"""The ledger as a table, a summary and a file."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sdpa_book.ledger.claims import RELATIONS, Claim, Source
from sdpa_book.ledger.verdict import Finding, Verdict
from sdpa_book.writing.measured import Measured, significant
from sdpa_book.writing.tables import Table

COLUMNS = (
    "id",
    "source",
    "section",
    "claim",
    "measure",
    "figure_in_source",
    "relation",
    "source_says",
    "tolerance",
    "decided_by",
    "computed",
    "standard_error",
    "verdict",
    "holds_if",
    "why",
    "chapter",
)
"""The columns of the CSV file."""


@dataclass(frozen=True)
class Entry:
    """One row of the ledger.

    Attributes:
        claim: what a source says.
        finding: what its check found; ``None`` where it can't be tested.
        verdict: what follows.
        why: the sentence of the row, its names filled in with what was found.
    """

    claim: Claim
    finding: Finding | None
    verdict: Verdict
    why: str

    @property
    def says(self) -> str:
        """The source's figures as shown, with the tolerance and whether it is ours; for a claim in
        words, the threshold.
        """
        figures = ", ".join(_plain(x) for x in self.claim.says)
        tolerances = ", ".join(_plain(x) for x in self.claim.tolerance)
        ours = ", ours" if self.claim.decided_by == "ours" else ""
        within = f" (±\N{NO-BREAK SPACE}{tolerances}{ours})" if any(self.claim.tolerance) else ""
        return f"{RELATIONS[self.claim.relation]}{figures}{within}"

    @property
    def ours(self) -> str:
        """Our figures as shown, with the standard error where there is one."""
        if self.finding is None:
            return ""
        return ", ".join(figure_texts(self.claim, self.finding))


class Ledger:
    """All entries, shown as a table; as text, one line an entry.

    Args:
        entries: what :func:`~sdpa_book.ledger.check_claims` gave.
        sources: the documents by key.
    """

    def __init__(self, entries: Sequence[Entry], sources: Mapping[str, Source]) -> None:
        self.entries = list(entries)
        self.sources = dict(sources)

    def summary(self) -> Table:
        """How many rows of each source have which verdict."""
        counts = Counter((entry.claim.source, entry.verdict) for entry in self.entries)
        keys = [*self.sources]
        columns = {
            v.value.removesuffix(" here"): [
                *(counts[key, v] for key in keys),
                sum(counts[key, v] for key in keys),
            ]
            for v in Verdict
        }
        totals = [sum(column[i] for column in columns.values()) for i in range(len(keys) + 1)]
        return Table(
            {"source": [*(f"{key} {source.title}" for key, source in self.sources.items()), "all"]}
            | columns
            | {"rows": totals}
        )

    def csv(self) -> str:
        """The ledger as comma-separated values, with the headings ``COLUMNS``."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        for entry in self.entries:
            claim, finding = entry.claim, entry.finding
            tested = finding is not None
            writer.writerow(
                (
                    *(claim.id, claim.source, claim.section, claim.claim, claim.measure),
                    ("no" if claim.in_words else "yes") if tested else "",
                    claim.relation if tested else "",
                    "; ".join(f"{x:.10g}" for x in claim.says),
                    "; ".join(f"{x:g}" for x in claim.tolerance)
                    if tested and claim.relation == "="
                    else "",
                    claim.decided_by,
                    *_stored(claim, finding),
                    *(entry.verdict.value, claim.holds_if, entry.why, claim.chapter),
                )
            )
        return text.getvalue()

    def __repr__(self) -> str:
        return "\n".join(f"{e.claim.id}  {e.verdict.value:17}{e.ours}" for e in self.entries)

    def _repr_html_(self) -> str:
        rows = [(e.claim.id, e.says, e.ours, e.verdict.value, e.claim.claim) for e in self.entries]
        headings = ("id", "the source", "computed", "verdict", "claim")
        return Table.from_rows(headings, rows)._repr_html_()


def figure_texts(claim: Claim, finding: Finding) -> list[str]:
    """Our figures as shown, with the standard error where there is one; those shown in powers of
    ten have no more than three digits.
    """
    if finding.error:
        return [_measured(x, finding.error) for x in finding.ours]
    return [
        _exact(x, claim.digits if abs(x) >= 1e-4 else min(claim.digits, 3)) for x in finding.ours
    ]


def _stored(claim: Claim, finding: Finding | None) -> tuple[str, str]:
    """The file's columns ``computed`` and ``standard_error``, from which the figures can be shown
    as they were: measured ones to the error's second digit, the others to five digits or more.
    """
    if finding is None:
        return "", ""
    if not finding.error:
        return "; ".join(_exact(x, max(5, claim.digits)) for x in finding.ours), ""
    measured = (_measured(x, finding.error).split(" ± ") for x in finding.ours)
    figures, errors = zip(*measured, strict=True)
    return "; ".join(figures), errors[0]


def _plain(x: float) -> str:
    """A source's figure as people write it."""
    return f"{x:.7g}" if x == 0 or 1e-8 <= abs(x) < 1e7 else significant(x, 2)


def _measured(x: float, error: float) -> str:
    """A figure and its standard error; in powers of ten where decimals would be a row of zeros."""
    if error >= 1e-5:
        return str(Measured(x, error))
    return f"{significant(x, 2)} ± {significant(error, 2)}"


def _exact(x: float, digits: int) -> str:
    whole = x == 0 or (abs(x) > 0.5 and abs(x - round(x)) < 1e-12)
    return str(round(x)) if whole and abs(x) < 1e6 else significant(x, digits)
