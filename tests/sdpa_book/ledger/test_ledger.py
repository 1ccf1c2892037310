"""The ledger: rows, checks, verdicts and links belong together, and no verdict outlives its
figure.
"""

import html
import math
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import nbformat
import pytest
from outputs.notebooks import stored

from sdpa_book.ledger import (
    CHECKS,
    RECORD,
    Claim,
    Verdict,
    _computation,
    check_claims,
    count,
    decide,
    finding,
    load_claims,
    load_record,
    load_sources,
)
from sdpa_book.ledger.checks import by_name

ROOT = Path(__file__).parents[3]
BOOK = ROOT / "book"
ROWS = load_claims()
TESTED = [claim for claim in ROWS if not claim.not_testable]
ROW_LINK = re.compile(r"\[(S\d-\d+)\]\((?:\.\./)?ledger\.ipynb#(S\d-\d+)\)")


@pytest.fixture(scope="module")
def ledger():
    """The record. That it is what is computed, nbval tests: the ledger's notebook computes every
    row and compares.
    """
    return load_record()


@pytest.fixture(scope="module")
def entries(ledger):
    return {entry.claim.id: entry for entry in ledger.entries}


def chapter_text(stem):
    cells = nbformat.read(BOOK / f"{stem}.ipynb", as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def page(path):
    """As a claim names it: the path within the book, without its suffix."""
    return path.relative_to(BOOK).with_suffix("").as_posix()


def test_every_source_has_its_claims():
    assert len(ROWS) > 100
    assert {claim.source for claim in ROWS} == set(load_sources())
    bibliography = (BOOK / "references.bib").read_text(encoding="utf-8")
    for source in load_sources().values():
        assert f"{{{source.cite}," in bibliography


def test_every_claim_has_a_check_and_every_check_a_claim():
    assert {claim.check for claim in TESTED} == set(CHECKS)


def test_a_second_check_of_one_name_is_refused():
    first, second = ModuleType("first"), ModuleType("second")
    for module in (first, second):
        exec("def variance(): pass", vars(module))
    assert list(by_name(first)) == ["variance"]
    with pytest.raises(ValueError, match="variance in first and second"):
        by_name(first, second)


def test_ids_rise_and_nothing_is_said_twice():
    assert [claim.id for claim in ROWS] == sorted(claim.id for claim in ROWS)
    for key in load_sources():
        statements = [
            (_computation(claim, claim.given), claim.relation, claim.says)
            for claim in TESTED
            if claim.source == key and not claim.table
        ]
        assert len(statements) == len({*statements}), key


ROW = """
[S9]
title = "A source"
cite = "nobody"
[S9-01]
section = "1"
claim = "2 and −2 have the variance 4."
chapter = "00_start_here"
check = "implied_dimension"
given = { scores = [2, -2] }
measure = "the variance"
says = 4
why = "{ours}"
"""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("", "\n[S9-01]\nsection = 1\n"), "each id used once"),
        (("[S9-01]", "[S8-01]"), "S8-01"),
        (("[S9-01]", "[S9-one]"), "S9-one"),
        (("measure =", "mesure ="), "S9-01.*mesure.*Did you mean 'measure'"),
        (("says = 4", "says = nan"), "S9-01.*says.*nan"),
        (("says = 4", 'says = "4"'), "S9-01.*says.*str"),
        (("says = 4", "says = []"), "S9-01.*says"),
        (("says = 4", 'says = 4\nrelation = "~"'), "S9-01.*relation.*~"),
        (("says = 4", 'says = 4\nrelation = "<"\ntolerance = 1'), "S9-01.*tolerance"),
        (("says = 4", "says = 4\ntolerance = [1, 2]"), "S9-01.*tolerance.*got 2"),
        (("says = 4", "says = 4\ntolerance = -1"), "S9-01.*tolerance.*-1"),
        (("says = 4", "says = 4\ntolerance = 0.2"), "S9-01.*tolerance.*digit.*0.2"),
        (("says = 4", "says = 4.1\ntolerance = 0.5"), "S9-01.*tolerance.*digit.*0.5"),
        (("says = 4", "says = 4\nour_tolerance = true"), "S9-01.*our_tolerance"),
        (
            ("says = 4", "says = 4\ntolerance = 1\nin_words = true\nour_tolerance = true"),
            "S9-01.*our_tolerance",
        ),
        (("says = 4", 'says = 4\nnot_testable = "no"'), "S9-01.*not_testable"),
        (('check = "implied_dimension"', ""), "S9-01.*check"),
        (('claim = "2 and −2 have the variance 4."', "claim = 4"), "S9-01.*claim.*4"),
    ],
)
def test_a_row_that_is_wrong_is_refused_by_its_id(change, message):
    old, new = change
    text = ROW.replace(old, new, 1) if old else ROW + new
    assert text != ROW
    with pytest.raises((TypeError, ValueError), match=message):
        load_claims(text)


def test_an_unknown_check_or_argument_is_refused_by_the_row():
    (claim,) = load_claims(ROW)
    with pytest.raises(ValueError, match=r"S9-01.*devide.*Did you mean 'divide'"):
        check_claims([replace(claim, check="devide")])
    with pytest.raises(ValueError, match=r"S9-01.*implied_dimension.*'v'"):
        check_claims([replace(claim, given={"scores": [2], "v": [2]})])
    with pytest.raises(ValueError, match=r"S9-01.*implied_dimension.*'v'"):
        check_claims([replace(claim, holds_if="so", without={"v": [2]})])


def test_the_second_run_decides_the_assumption_and_its_figure_can_be_told():
    (claim,) = load_claims(
        ROW.replace('"{ours}"', '"{ours}, otherwise {other:g}, of {without_std:g}"')
    )
    entry = check_claims(
        [replace(claim, holds_if="they are", without={"scores": [3, -3]})]
    ).entries[0]
    assert (entry.verdict, entry.why) == (Verdict.HOLDS_IF, "4, otherwise 9, of 3")


CLAIM = Claim(id="S9-01", section="", claim="", chapter="", check="a_check", says=(1.0,))
WITHIN = replace(CLAIM, tolerance=(0.1,))
TWO = replace(CLAIM, says=(1.0, 1.0), tolerance=(0.1, 0.01))
ABOVE, BELOW = (replace(CLAIM, relation=relation) for relation in "><")


@pytest.mark.parametrize(
    ("claim", "ours", "error", "verdict"),
    [
        (CLAIM, 1.0 + 1e-10, 0, "holds"),  # rounding
        (CLAIM, 1.0 + 1e-8, 0, "wrong"),
        (WITHIN, 1.1, 0, "holds"),
        (WITHIN, 0.9 - 1e-6, 0, "rough"),
        (WITHIN, 1.5, 0, "rough"),
        (WITHIN, 1.5 + 1e-6, 0, "wrong"),
        (WITHIN, 1.07, 0.01, "holds"),  # the whole interval fits
        (WITHIN, 1.14, 0.01, "rough"),
        (WITHIN, 1.54, 0.01, "wrong"),
        (TWO, (1.05, 1.005), 0, "holds"),
        (TWO, (1.05, 1.04), 0, "rough"),
        (TWO, (1.05, 1.06), 0, "wrong"),
        (ABOVE, 1.0, 0, "wrong"),  # the threshold itself is not above it
        (ABOVE, 1.0 + 1e-12, 0, "holds"),
        (BELOW, 1.0, 0, "wrong"),
        (BELOW, 1.0 - 1e-12, 0, "holds"),
        (BELOW, 0.9, 0.03, "holds"),
        (replace(WITHIN, not_testable="history"), 1.0, 0, "not testable here"),
    ],
)
def test_the_rule_at_its_borders(claim, ours, error, verdict):
    assert decide(claim, finding(ours, error)) == verdict


@pytest.mark.parametrize(
    ("claim", "finding", "message"),
    [
        (WITHIN, finding(1.09, 0.01), "undecided"),
        (WITHIN, finding(1.11, 0.01), "undecided"),
        (ABOVE, finding(1.01, 0.01), "undecided"),
        (WITHIN, finding(math.nan), "NaN"),
        (WITHIN, finding([1.0, 2.0]), "1 figures"),
        (WITHIN, None, "needs a finding"),
        (replace(WITHIN, holds_if="so"), finding(1.0), "holds_if needs without"),
        (
            replace(WITHIN, holds_if="so"),
            replace(finding(1.0), without=finding(1.01)),
            "holds without its assumption",
        ),
    ],
)
def test_what_the_rule_cannot_decide_is_refused(claim, finding, message):
    with pytest.raises(ValueError, match=f"S9-01.*{message}"):
        decide(claim, finding)


def test_an_assumption_is_needed_only_by_what_holds():
    claim = replace(WITHIN, holds_if="so")
    without = finding(2.0)
    assert decide(claim, replace(finding(1.0), without=without)) is Verdict.HOLDS_IF
    assert decide(claim, replace(finding(1.4), without=without)) is Verdict.ROUGH


def test_chapters_and_ledger_point_at_each_other(entries):
    for claim in ROWS:
        assert (BOOK / f"{claim.chapter}.ipynb").exists(), claim.id
    links = {page(path): ROW_LINK.findall(chapter_text(page(path))) for path in stored(BOOK)}
    for stem, found_in in links.items():
        for text, target in found_in:
            assert text == target, (stem, text)
            assert text in entries, (stem, text)
    contradicted = {
        name: e for name, e in entries.items() if e.verdict in (Verdict.WRONG, Verdict.ROUGH)
    }
    for name, entry in contradicted.items():
        assert name in dict(links[entry.claim.chapter]), (
            f"chapter {entry.claim.chapter} doesn't refer to {name}"
        )
    for entry in entries.values():
        for name in re.findall(r"S\d-\d+", entry.why):
            assert name in entries, entry.claim.id


def test_per_cents_have_a_space_as_in_the_prose(entries):
    assert not [entry.claim.id for entry in entries.values() if re.search(r"\d%", entry.why)]


def test_a_record_of_other_claims_is_refused():
    text = RECORD.read_text(encoding="utf-8")
    with pytest.raises(ValueError, match=r"S1-04. .*make notebooks"):
        load_record("\n".join(line for line in text.splitlines() if not line.startswith("S1-04,")))


def test_a_notebook_shows_every_row(ledger, entries):
    table = ledger._repr_html_()
    for name, entry in entries.items():
        assert f'<td class="text">{name}</td>' in table
        assert html.escape(entry.claim.claim) in table
        assert html.escape(entry.ours) in table


def test_the_summary_counts_every_row(ledger):
    columns = ledger.summary().columns
    assert columns["rows"][-1] == len(ROWS) == sum(columns["rows"][:-1])


def test_a_table_is_one_claim_and_a_computation_counts_once():
    by_id = {claim.id: claim for claim in ROWS}
    entries = [by_id[f"S0-{n}"] for n in range(47, 52)]
    assert count(entries) == (5, 1, 5)
    same = [by_id["S0-04"], by_id["S1-62"], by_id["S3-12"]]
    assert count(same) == (3, 3, 1)
    spelt_out = replace(by_id["S0-50"], given={"d_k": 64, "power": 0.0}, table="")
    assert count([by_id["S0-50"], spelt_out]) == (2, 2, 1)
    assert count([by_id["S1-63"]]) == (1, 1, 2)  # with its assumption and without
    assert count([by_id["S0-01"]]) == (1, 1, 0)


def test_a_tolerance_says_whose_it_is(entries):
    by_id = {claim.id: claim for claim in ROWS}
    assert {
        name: by_id[name].decided_by
        for name in ("S0-01", "S0-03", "S1-40", "S0-37", "S0-57", "S0-07")
    } == {
        "S0-01": "",  # not testable
        "S0-03": "ours",  # a threshold for words
        "S1-40": "exact",
        "S0-37": "digits",
        "S0-57": "ours",  # "about 1"
        "S0-07": "ours",  # "stable"
    }
    for entry in entries.values():
        shown_as_ours = ", ours)" in entry.says
        assert shown_as_ours == (entry.claim.decided_by == "ours" and any(entry.claim.tolerance)), (
            entry.claim.id
        )
