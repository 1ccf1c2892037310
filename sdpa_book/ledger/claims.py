"""The claims as data: ``claims.toml``, read and checked for what a row must hold."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from sdpa_lib._checks import check_number, unknown_name

CLAIMS = files("sdpa_book.ledger") / "claims.toml"

RELATIONS = {"=": "", "<": "less than ", ">": "more than "}
"""How a source's figure is to compare with ours, and how the page says so."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One row of the data file: what a source says, and how it is decided.

    Attributes:
        id: the source's key and a number, such as ``"S1-07"``. It never changes, and is never used
            again.
        section: where in the source.
        claim: the claim, in our own words.
        chapter: the stem of the chapter that teaches it.
        check: the name of a function in :mod:`sdpa_book.ledger.checks`; empty where the claim
            can't be tested here.
        given: that function's arguments.
        without: those that are others without the assumption; the check runs a second time with
            them. Its first figure is ``{other}`` in ``why``, all of them ``{others}``, and its
            facts have the prefix ``without_``.
        measure: what the two figures are. For a claim without a figure it says how its words are
            read, and ``in_words`` is true.
        in_words: the source prints no figure, but words or a formula; ``says`` is the figure or the
            threshold at which we take them to hold.
        says: the source's figures, one or several.
        relation: ``"="``, ``"<"`` or ``">"``: the computed figure is to be equal to, below or above
            ``says``.
        tolerance: for ``"="``, how far apart the two may be: half a unit of the last digit that the
            source prints, or what we have chosen. One number, or one for each figure.
        our_tolerance: the source prints a figure, and the tolerance is ours all the same, because
            it says "about", or because ours is measured.
        table: a name for the table of which the row is one entry; empty for other rows. A table is
            one claim, however many entries it has.
        holds_if: the assumption that the claim needs and the source states nowhere.
        why: one sentence, in which ``{ours}`` and the names of the finding's facts are filled in.
        not_testable: why the claim can't be tested here. Such a row has neither check nor figures.
        digits: significant digits in which our figure is shown.
    """

    id: str
    section: str
    claim: str
    chapter: str
    check: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)
    without: Mapping[str, Any] = field(default_factory=dict)
    measure: str = ""
    in_words: bool = False
    says: tuple[float, ...] = ()
    relation: str = "="
    tolerance: tuple[float, ...] = (0.0,)
    our_tolerance: bool = False
    table: str = ""
    holds_if: str = ""
    why: str = ""
    not_testable: str = ""
    digits: int = 3

    @property
    def source(self) -> str:
        """The key of the source, ``"S1"``."""
        return self.id.partition("-")[0]

    @property
    def decided_by(self) -> str:
        """What our figure is held against: ``"exact"``, the source's ``"digits"``, a tolerance or a
        threshold of ``"ours"``; empty where nothing is.
        """
        if self.not_testable:
            return ""
        if self.relation != "=":
            return "ours" if self.in_words else "exact"
        if not any(self.tolerance):
            return "exact"
        return "ours" if self.in_words or self.our_tolerance else "digits"


@dataclass(frozen=True)
class Source:
    """One of the documents: its key, its title, and its key in the bibliography."""

    key: str
    title: str
    cite: str


def load_sources(text: str | None = None) -> dict[str, Source]:
    """The sources by key. Argument as in :func:`load_claims`.

    Example:
        >>> list(load_sources())
        ['S0', 'S1', 'S2', 'S3', 'S4']
    """
    return {key: Source(key, **row) for key, row in _tables(text).items() if "-" not in key}


def load_claims(text: str | None = None) -> list[Claim]:
    """Every claim of the data file, in its order.

    Args:
        text: a data file's text; ``None`` reads the one that comes with the library.

    Raises:
        ValueError, TypeError: an id that is used twice or malformed, or a row that is not as above;
            the message names the id.

    Example:
        >>> claims = load_claims()
        >>> claims[0].id, claims[0].source
        ('S0-01', 'S0')
    """
    tables = _tables(text)
    sources = [key for key in tables if "-" not in key]
    return [_claim(key, row, sources) for key, row in tables.items() if "-" in key]


def _tables(text: str | None) -> dict[str, dict[str, Any]]:
    try:
        return tomllib.loads(CLAIMS.read_text(encoding="utf-8") if text is None else text)
    except tomllib.TOMLDecodeError as error:  # among them a table, that is an id, written twice
        raise ValueError(f"claims must be valid TOML, each id used once: {error}") from None


def _claim(key: str, row: dict[str, Any], sources: Sequence[str]) -> Claim:
    source, _, number = key.partition("-")
    if source not in sources or not number.isdigit():
        raise ValueError(
            f"id {key} must be a source's key, {', '.join(sources)}, a hyphen and a number"
        )
    known = [name for name in Claim.__dataclass_fields__ if name != "id"]
    for name in row:
        if name not in known:
            raise ValueError(f"{key}: {unknown_name('key', name, known)}")
    for name in ("section", "claim", "chapter"):
        if not isinstance(row.get(name), str) or not row[name]:
            raise ValueError(f"{key}: {name} must be a text, got {row.get(name)!r}")
    decided = [name for name in ("check", "measure", "says", "why") if name in row]
    if "not_testable" in row:
        if decided:
            raise ValueError(f"{key}: not_testable excludes {', '.join(decided)}")
        return Claim(id=key, **row)
    if len(decided) < 4:
        raise ValueError(
            f"{key} must have check, measure, says and why, or not_testable; got "
            f"{', '.join(decided) or 'none of them'}"
        )
    says = _numbers(f"{key}: says", row["says"])
    tolerance = _numbers(f"{key}: tolerance", row.get("tolerance", 0.0), minimum=0.0)
    if len(tolerance) not in (1, len(says)):
        raise ValueError(
            f"{key}: tolerance must be one number or {len(says)}, one for each figure, got "
            f"{len(tolerance)}"
        )
    relation = row.get("relation", "=")
    if relation not in RELATIONS:
        raise ValueError(f"{key}: {unknown_name('relation', relation, RELATIONS)}")
    if relation != "=" and "tolerance" in row:
        raise ValueError(f"{key}: tolerance goes with relation '=', got relation {relation!r}")
    fields: dict[str, Any] = row | {"says": says, "tolerance": tolerance}
    claim = Claim(id=key, **fields)
    if claim.our_tolerance and (claim.in_words or not any(tolerance)):
        raise ValueError(
            f"{key}: our_tolerance goes with a printed figure and a tolerance; without a figure "
            "every tolerance is ours"
        )
    if claim.decided_by == "digits" and not _of_digits(says, tolerance):
        raise ValueError(
            f"{key}: tolerance must be half a unit of the last digit that the source prints, or "
            f"our_tolerance be true; got {tolerance} for {says}"
        )
    return claim


def _of_digits(says: Sequence[float], tolerance: Sequence[float]) -> bool:
    """Whether each tolerance is half a power of ten of which its figure is a multiple."""
    pairs = zip(says, tolerance if len(tolerance) > 1 else [*tolerance] * len(says), strict=True)
    for figure, half in pairs:
        power, multiple = math.log10(2 * half), figure / (2 * half)
        if abs(power - round(power)) > 1e-9 or abs(multiple - round(multiple)) > 1e-6:
            return False
    return True


def _numbers(name: str, value: object, *, minimum: float = -math.inf) -> tuple[float, ...]:
    """One finite number or a list of them, as a tuple."""
    values = value if isinstance(value, list) else [value]
    if not values:
        raise ValueError(f"{name} must be a number or a list of them, got an empty list")
    return tuple(check_number(name, one, minimum=minimum) for one in values)
