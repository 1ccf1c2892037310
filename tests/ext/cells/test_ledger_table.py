"""The ledger's table: every row, its links, and what chooses rows."""

import csv
import re
from dataclasses import replace
from pathlib import Path

import pytest
from cells import ledger_table

from sdpa_book.ledger import RECORD, Ledger, Verdict, load_claims, load_record, load_sources

STYLE = Path(__file__).parents[3] / "book/_theme/sdpa/static/site.css"
LEDGER = "# The ledger\n\n```{ledger-table}\nRows.\n```\n"
CHAPTERS = {claim.chapter: "# A chapter\n" for claim in load_claims()}


@pytest.fixture
def site(build):
    chapter = "# First\n\nSee [S1-04](ledger.md#S1-04) and {ref}`another <s0-03>`.\n"
    return build({"index": chapter, "ledger": LEDGER, **CHAPTERS}, "ledger_table")


def test_the_page_has_every_row_of_the_record_and_no_warning(site):
    rows = site.page("ledger").select(".ledger tbody tr")
    record = list(csv.DictReader(RECORD.read_text(encoding="utf-8").splitlines()))
    first = [verdict.value for verdict in ledger_table.ORDER]
    record.sort(key=lambda row: first.index(row["verdict"]))  # those that don't simply hold
    assert [row["id"] for row in rows] == [row["id"] for row in record]
    for row, stored in zip(rows, record, strict=True):
        verdict = Verdict(stored["verdict"])
        assert {stored["source"], verdict.name.lower()} <= set(row["class"])
        assert row.find("strong").text == verdict.value
        claim, *others = row.find_all(["th", "td"])
        assert claim.name == "th"
        assert [cell.name for cell in others] == ["td"] * 3
        assert claim.a["href"] == f"#{stored['id']}"
        assert row.select_one(f"a[href='{stored['chapter']}.html']") is not None
    assert site.warnings == ""


def test_a_row_shows_what_the_record_holds(site):
    entries = {entry.claim.id: entry for entry in load_record().entries}
    printed, in_words = entries["S1-04"], entries["S0-64"]
    parts = {
        "S1-04": (printed.says, printed.ours),
        "S0-64": (
            *(in_words.says, in_words.ours),
            *(in_words.claim.claim, in_words.claim.measure, in_words.claim.holds_if),
            in_words.claim.section,
        ),
    }
    page = site.page("ledger")
    for name, texts in parts.items():
        row = page.find(id=name).text.replace("\u00a0", " ").replace("1,000", "1000")
        for text in texts:
            assert text.replace("\u00a0", " ") in row, text


def test_chapters_link_to_rows(site):
    links = [link["href"] for link in site.page().select("p a.internal")]
    assert links == ["ledger.html#S1-04", "ledger.html#S0-03"]


def test_a_link_to_no_row_is_a_warning(build):
    pages = {"index": "# First\n\n[S1-99](ledger.md#S1-99)\n", "ledger": LEDGER, **CHAPTERS}
    assert "local id not found in doc 'ledger': 'S1-99'" in build(pages, "ledger_table").warnings


def ledger_with(why="So.", **changes):
    """The ledger of one row, S1-04, with other texts."""
    record = load_record()
    (entry,) = (entry for entry in record.entries if entry.claim.id == "S1-04")
    changed = replace(entry, claim=replace(entry.claim, **changes), why=why)
    return Ledger([changed], record.sources)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"chapter": "99_none"}, "unknown document: '99_none'"),
        ({"why": "As S4-99 has it."}, 'Unknown target name: "s4-99"'),
    ],
)
def test_a_row_that_links_to_nothing_is_a_warning(build, monkeypatch, changes, message):
    monkeypatch.setattr(ledger_table, "load_record", lambda: ledger_with(**changes))
    assert message in build({"index": LEDGER, **CHAPTERS}, "ledger_table").warnings


def test_markup_in_a_claim_is_shown_and_not_obeyed(build, monkeypatch):
    texts = {"claim": "<b>2</b> & *2*", "measure": "a < b"}
    monkeypatch.setattr(ledger_table, "load_record", lambda: ledger_with(**texts))
    row = build({"index": LEDGER, **CHAPTERS}, "ledger_table").page().find(id="S1-04")
    assert "<b>2</b> & *2*" in row.text
    assert "a < b" in row.text


def test_each_source_and_verdict_can_be_chosen_without_a_script(site):
    page, style = site.page("ledger"), STYLE.read_text(encoding="utf-8")
    groups = {
        "ledger-source": ["all", *load_sources()],
        "ledger-verdict": ["all", *(verdict.name.lower() for verdict in Verdict)],
    }
    for group, values in groups.items():
        buttons = page.find_all("input", attrs={"name": group})
        assert [button["value"] for button in buttons] == values
        for value in values[1:]:
            assert page.select_one(f".ledger tbody tr.{value}") is not None
            rule = f'.ledger:has([value="{value}"]:checked) tbody tr:not(.{value}, :target)'
            assert re.search(rf"^{re.escape(rule)}[,\s]", style, re.M), rule
