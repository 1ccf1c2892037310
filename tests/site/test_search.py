"""The search, as somebody uses it who has the site or a folder with it."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from conftest import AXE, ROOT, SITE

QUESTIONS = tomllib.loads(
    (Path(__file__).parent / "search_questions.toml").read_text(encoding="utf-8")
)
KEYWORDS = tomllib.loads(
    (ROOT / "book" / "_ext" / "search_keywords.toml").read_text(encoding="utf-8")
)
AT_MOST = 2  # of these questions may have another section at the top


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


@pytest.fixture(scope="module")
def entries():
    script = (SITE / "searchindex.js").read_text(encoding="utf-8")
    return json.loads(script.removeprefix("window.SEARCH_INDEX = ").removesuffix(";\n"))["entries"]


def test_the_right_sections_are_there(entries):
    there = {entry["url"] for entry in entries}
    assert {address(place) for places in QUESTIONS.values() for place in places} - there == set()


def test_sections_have_keywords(entries):
    """All that explain something: a heading without text, an exercise or a change needs none."""
    there = {entry["url"] for entry in entries}
    explaining = {
        entry["url"]
        for entry in entries
        if entry["weight"] == 1 and len(entry["text"]) > 150 and "/about.html" not in entry["url"]
    }
    having = {address(f"{page}#{section}") for page, lines in KEYWORDS.items() for section in lines}
    assert having - there == set()
    assert explaining - having == set()


def test_a_keyword_belongs_to_one_section():
    keywords = [
        keyword
        for lines in KEYWORDS.values()
        for line in lines.values()
        for keyword in line.lower().split(", ")
    ]
    assert [keyword for keyword in set(keywords) if keywords.count(keyword) > 1] == []


def test_a_section_is_found_by_a_keyword_that_it_does_not_use(search, entries):
    question, place = "restaurant analogy", "01_the_formula_and_its_shapes#a-query-asks-a-key"
    assert not any("restaurant" in entry["text"].lower() for entry in entries)
    _, ask = search()
    assert ask(question)[0].startswith(address(place))


def test_keywords_find_a_section_together(search):
    """Each has a part of the question, and none has all of it."""
    page, section = "07_alternative_scalings", "the-mean-length-undoes-a-factor-on-the-keys"
    keywords = KEYWORDS[page][section].split(", ")
    assert not any("average" in keyword and "causal" in keyword for keyword in keywords)
    _, ask = search()
    question = "divide scores by the average norm of the keys with a causal mask"
    assert ask(question)[0] == address(f"{page}#{section}")


def test_a_heading_comes_before_a_keyword(search):
    _, ask = search()
    assert ask("Memory")[0] == address("08_the_same_mathematics_fast#memory")
    assert ask("The learning rate")[0] == address("12_the_real_test#the-learning-rate")


@pytest.mark.parametrize(("place", "step"), [("served", 1), ("folder", 10)])
def test_the_right_section_comes_first(search, place, step):
    _, ask = search(place)
    asked = dict(list(QUESTIONS.items())[::step])
    first = {question: ask(question)[:1] for question in asked}
    wrong = {
        question: first[question]
        for question, places in asked.items()
        if not set(first[question]) & set(map(address, places))
    }
    assert len(wrong) <= AT_MOST, wrong


@pytest.mark.parametrize(
    ("word", "slip"),
    [
        *(("kurtosis", slip) for slip in ("kurtosi", "kurtsis", "kurtossis", "kurtasis")),
        *(("saturation", slip) for slip in ("saturaton", "satruation")),  # before its ending goes
    ],
)
def test_a_slip_makes_no_difference(search, word, slip):
    _, ask = search()
    assert ask(slip)[0] == ask(word)[0]


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


def test_results_are_reached_by_the_keyboard(search):
    page, ask = search()
    first, *_ = ask("convex hull")
    page.keyboard.press("Tab")  # the button
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{first}")


def address(place):
    page, anchor = place.split("#")
    return f"book/{page}.html#{anchor}"


def test_results_set_indices_and_exponents(search):
    page, ask = search()
    ask("variance")
    results = page.locator("#search-results")
    assert "So the variance is dk" in results.inner_text()
    indices = results.locator("sub").all_text_contents()
    assert {"k", "X"} <= set(indices)
    assert "2" in results.locator("sup").all_text_contents()
    assert not re.search(r"\b\w_", results.inner_text())  # std_q is a name in code
    assert "^2" not in results.inner_text()
