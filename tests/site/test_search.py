"""The search, as somebody uses it who has the site or a folder with it."""

import json
import re
from collections import defaultdict

import pytest
from conftest import AXE, ROOT, SITE
from notebooks import stored

QUESTIONS = [
    "Is d_k the number of tokens?",
    "Why the square root, and not d_k itself? Is it only empirical?",
    "Why do some codes multiply q and k by d_k^(-1/4) each?",
    "With several heads, is it the head's dimension or the model's?",
    "Why do some papers use 1/d?",
    "What is the scale of the output, after @V?",
    "Which d is it?",
    "T5 has no scaling; how can that work?",
    "If scores are 100 times larger, does the division undo it?",
    "What goes wrong in training if the division is forgotten?",
]
"""What people ask: the search must find the section, or the fold, that answers it by name."""


def words(question):
    return frozenset(re.findall(r"\w+", question.lower()))


ANSWERED = defaultdict(set)
"""The pages that answer a question by name, by its words."""
for notebook in stored(ROOT / "book"):
    page = notebook.relative_to(ROOT).with_suffix(".html").as_posix()
    for asked in re.findall(r"People ask: ([^\"<]+)", notebook.read_text(encoding="utf-8")):
        ANSWERED[words(asked.removesuffix("\\n"))].add(page)


@pytest.fixture
def search(tab, base):
    """A function that opens the search page, and gives what looks for a question there."""

    def open_search(place="served", **settings):
        page, wrong = tab(
            f"{base if place == 'served' else SITE.as_uri() + '/'}search.html", **settings
        )

        def ask(question):
            page.locator(".search-page input").fill(question)
            page.wait_for_function(
                "asked => document.querySelector('#search-results').dataset.question === asked",
                arg=question,
            )
            assert wrong == []
            return page.locator("#search-results a").evaluate_all(
                "links => links.map(link => link.getAttribute('href'))"
            )

        return page, ask

    return open_search


@pytest.mark.parametrize("place", ["served", "folder"])
def test_a_section_is_found_by_its_heading(search, place):
    """Of every fifth section, the notes' apart, whose heading no other has, all but one in twenty:
    some have no word of their own.
    """
    script = (SITE / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(script.removeprefix("window.SEARCH_INDEX = ").removesuffix(";\n"))
    headings = [entry["heading"] for entry in index["entries"]]
    explaining = [
        entry
        for entry in index["entries"]
        if entry["weight"] == 1 and headings.count(entry["heading"]) == 1
    ]
    _, ask = search(place)
    asked = explaining[:: 5 if place == "served" else 50]
    missed = [e["heading"] for e in asked if e["url"] not in ask(e["heading"])[:3]]
    assert len(explaining) > 150
    assert len(missed) <= len(asked) / 20, missed


@pytest.mark.smoke
def test_a_slip_makes_no_difference(search):
    _, ask = search()
    for slip in ("kurtosi", "kurtsis", "kurtossis", "kurtasis"):
        assert ask(slip) == ask("kurtosis"), slip


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_people_ask_finds_the_section_of_that_name(search, question):
    _, ask = search()
    assert {ask(question)[0].partition("#")[0]} == ANSWERED[words(question)]


def test_synonyms_lead_to_the_same_section(search):
    _, ask = search()
    assert ask("bf16")[0] == ask("bfloat16")[0]


def test_a_claim_and_an_object_are_found_by_name(search):
    _, ask = search()
    assert ask("S3-23")[0] == "book/ledger.html#S3-23"
    for name in ("decoding.RunningDivisor", "attention.scaled_dot_product_attention"):
        assert ask(name.split(".")[1])[0] == f"book/reference.html#sdpa_lib.{name}"


def test_what_is_looked_up_comes_last(search):
    _, ask = search()
    found = ask("Bernhard")
    assert len(found) > 2
    assert not any(page in found[0] for page in ("reference", "bibliography", "ledger"))


@pytest.mark.smoke
def test_a_result_shows_its_chapter_and_the_words(search):
    page, ask = search()
    ask("kurtosis")
    result = page.locator("#search-results li").first
    assert (
        result.locator("a").inner_text().count(" \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} ")
        == 1
    )
    assert "kurtosis" in result.locator("mark").first.inner_text().lower()
    ask("zzzzzzzzzz")
    assert "Nothing in the book matches" in page.locator("#search-count").inner_text()


@pytest.mark.smoke
def test_the_index_is_loaded_when_somebody_asks(tab, base):
    page, _ = tab(f"{base}search.html")
    assert page.evaluate("window.SEARCH_INDEX === undefined")
    page.goto(f"{base}search.html?q=kurtosis")
    page.wait_for_selector("#search-results a")
    assert page.locator(".search-page input").input_value() == "kurtosis"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_results_are_accessible_and_fit(search, theme, width):
    page, ask = search(width=width, theme=theme)
    assert len(ask("scaled dot product attention")) == 20
    page.evaluate(AXE)
    violations = page.evaluate(
        "axe.run().then(result => result.violations.map(v => v.id + ': ' + v.nodes[0].html))"
    )
    assert violations == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.smoke
def test_results_are_reached_by_the_keyboard(search):
    page, ask = search()
    first, *_ = ask("convex hull")
    page.keyboard.press("Tab")  # the button
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{first}")


def test_results_set_indices_and_exponents(search):
    page, ask = search()
    ask("variance")
    results = page.locator("#search-results")
    indices = results.locator("sub").all_text_contents()
    assert "k" in indices
    assert "2" in results.locator("sup").all_text_contents()
    assert not re.search(r"\b\w_", results.inner_text())  # std_q is a name in code
    assert "^2" not in results.inner_text()
