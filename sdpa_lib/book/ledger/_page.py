"""The ledger as a page, a summary and a file."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from sdpa_lib.book.ledger._claims import RELATIONS, Claim, Source
from sdpa_lib.book.ledger._verdict import Finding, Verdict
from sdpa_lib.book.measured import Measured, significant
from sdpa_lib.book.tables import Table

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
    """One row of the ledger: a claim, what its check found (``None`` where it can't be tested), and
    the verdict.
    """

    claim: Claim
    finding: Finding | None
    verdict: Verdict

    @property
    def says(self) -> str:
        """The source's figures as shown, with the tolerance; for a claim in words, the
        threshold.
        """
        figures = ", ".join(_plain(x) for x in self.claim.says)
        tolerances = ", ".join(_plain(x) for x in self.claim.tolerance)
        within = f" (±\N{NO-BREAK SPACE}{tolerances})" if any(self.claim.tolerance) else ""
        return f"{RELATIONS[self.claim.relation]}{figures}{within}"

    @property
    def ours(self) -> str:
        """Our figures as shown, with the standard error where there is one."""
        if self.finding is None:
            return ""
        if self.finding.error:
            return ", ".join(_measured(x, self.finding.error) for x in self.finding.ours)
        return ", ".join(_shown(x, self.claim.digits) for x in self.finding.ours)

    @property
    def why(self) -> str:
        """The sentence of the row, its names filled in with what was found."""
        if self.finding is None:
            return self.claim.not_testable
        facts = dict(self.finding.facts)
        if self.finding.without is not None:
            other = self.finding.without
            facts |= {f"without_{name}": fact for name, fact in other.facts.items()}
            facts |= {
                "other": other.ours[0],
                "others": ", ".join(_shown(x, self.claim.digits) for x in other.ours),
            }
        return self.claim.why.format(ours=self.ours, **facts)


class Ledger:
    """All entries, shown as a table that can be filtered; as text, one line an entry.

    Args:
        entries: what :func:`~sdpa_lib.book.ledger.check_claims` gave.
        sources: the documents by key.
    """

    def __init__(self, entries: Sequence[Entry], sources: Mapping[str, Source]) -> None:
        self.entries = list(entries)
        self.sources = dict(sources)

    def summary(self) -> Table:
        """How many claims of each source have which verdict."""
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
            | {"claims": totals}
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
                    "; ".join(f"{x:.4g}" if finding.error else f"{x:.5g}" for x in finding.ours)
                    if finding
                    else "",
                    f"{finding.error:.2g}" if finding and finding.error else "",
                    *(entry.verdict.value, claim.holds_if, entry.why, claim.chapter),
                )
            )
        return text.getvalue()

    def __repr__(self) -> str:
        return "\n".join(f"{e.claim.id}  {e.verdict.value:17}{e.ours}" for e in self.entries)

    def _repr_html_(self) -> str:
        rows = "\n".join(self._row(entry) for entry in self.entries)
        head = "".join(
            f'<th scope="col">{name}</th>'
            for name in ("Claim", "The source", "Computed", "Verdict")
        )
        sources = _choices("source", "Source", {key: key for key in self.sources})
        verdicts = _choices("verdict", "Verdict", {v.name.lower(): v.value for v in Verdict})
        return (
            f'<form class="ledger">{sources}{verdicts}<table><thead><tr>{head}</tr></thead>\n'
            f'<tbody>{rows}</tbody></table><p class="ledger-count"></p></form>'
        )

    def _row(self, entry: Entry) -> str:
        claim = entry.claim
        says, measure = escape(entry.says), escape(claim.measure)
        if entry.finding is None:
            source = ""
        elif claim.in_words:
            source = f"<small>no figure; read as {measure}: {says}</small>"
        else:
            source = f"{says}<small>{measure}</small>"
        why = re.sub(r"\bS\d-\d+\b", r'<a href="#\g<0>">\g<0></a>', escape(entry.why))  # other rows
        section = escape(
            f"section {claim.section}" if claim.section[0].isdigit() else claim.section
        )
        assumption = f" {escape(claim.holds_if)}" if entry.verdict is Verdict.HOLDS_IF else ""
        return (
            f'<tr id="{claim.id}" data-source="{claim.source}" '
            f'data-verdict="{entry.verdict.name.lower()}">'
            f'<th scope="row"><a href="#{claim.id}">{claim.id}</a> '
            f"{escape(claim.claim)}<small>{section}</small></th>"
            f'<td data-label="The source">{source}</td>'
            f'<td data-label="Computed">{escape(entry.ours)}</td>'
            f'<td data-label="Verdict"><b>{entry.verdict.value}</b>{assumption}'
            f"<small>{why} <a "
            f'href="{claim.chapter}.ipynb">{_chapter(claim.chapter)}</a></small></td></tr>'
        )


def _choices(name: str, legend: str, values: Mapping[str, str]) -> str:
    """A group of radio buttons; the style sheet hides the rows that the checked ones exclude."""
    choices = "".join(
        f'<label><input type="radio" name="ledger-{name}" '
        f'value="{value}"{" checked" if value == "all" else ""}> {label}</label>'
        for value, label in ({"all": "all"} | dict(values)).items()
    )
    return f"<fieldset><legend>{legend}</legend>{choices}</fieldset>"


def _chapter(stem: str) -> str:
    return f"chapter {int(stem[:2])}"


def _plain(x: float) -> str:
    """A source's figure as people write it."""
    return f"{x:.7g}" if x == 0 or 1e-8 <= abs(x) < 1e7 else significant(x, 2)


def _measured(x: float, error: float) -> str:
    """A figure and its standard error; in powers of ten where decimals would be a row of zeros."""
    if error >= 1e-5:
        return str(Measured(x, error))
    return f"{significant(x, 2)} ± {significant(error, 2)}"


def _shown(x: float, digits: int) -> str:
    whole = x == 0 or (abs(x) > 0.5 and abs(x - round(x)) < 1e-12)
    return str(round(x)) if whole and abs(x) < 1e6 else significant(x, digits)
