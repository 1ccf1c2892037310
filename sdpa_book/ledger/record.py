"""The ledger as it was last computed, from the file that is its record."""

from __future__ import annotations

import csv
from importlib.resources import files

from sdpa_book.ledger.claims import load_claims, load_sources
from sdpa_book.ledger.page import Entry, Ledger
from sdpa_book.ledger.verdict import Finding, Verdict

RECORD = files("sdpa_book.ledger") / "claims.csv"
"""What ``python -m sdpa_book.ledger`` wrote."""


def load_record(text: str | None = None) -> Ledger:
    """The ledger with the figures, verdicts and sentences of the record; nothing is computed.

    Args:
        text: a record's text; ``None`` reads the one that comes with the library.

    Raises:
        ValueError: the record's rows are not those of the claims.

    Example:
        >>> load_record().entries[1].verdict.value
        'holds'
    """
    lines = (RECORD.read_text(encoding="utf-8") if text is None else text).splitlines()
    rows = {row["id"]: row for row in csv.DictReader(lines)}
    claims = load_claims()
    if [*rows] != [claim.id for claim in claims]:
        different = sorted({*rows} ^ {claim.id for claim in claims})
        raise ValueError(
            "the record must have the rows of the claims, in their order; only in one of the two: "
            f"{', '.join(different) or 'none'}. Write it anew: make notebooks"
        )
    entries = []
    for claim in claims:
        row, finding = rows[claim.id], None
        if row["computed"]:
            ours = tuple(float(x) for x in row["computed"].split("; "))
            finding = Finding(ours, float(row["standard_error"] or 0))
        entries.append(Entry(claim, finding, Verdict(row["verdict"]), row["why"]))
    return Ledger(entries, load_sources())
