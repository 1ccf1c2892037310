"""A Predict box is answered on the page, by pointer or key, and then says where the answer is."""

from urllib.parse import quote

import pytest
from bs4 import BeautifulSoup

from tests.site.browser import SITE

OPTIONS = "book/02_dot_products_grow.html"


@pytest.mark.smoke
def test_a_guess_is_answered_by_where_the_answer_stands_and_is_kept(tab, base):
    opened, wrong = tab(base + OPTIONS)
    box, where = opened.locator(".predict"), opened.locator(".predict .where")
    questions = box.locator(".options")
    assert questions.count() == 2
    guesses = [question.locator("button").first.inner_text() for question in questions.all()]
    questions.nth(0).locator("button").first.click()
    assert where.locator("a").count() == 0
    questions.nth(1).locator("button").first.focus()
    opened.keyboard.press("Enter")
    for _ in range(2):
        assert opened.locator(where.locator("a").get_attribute("href")).count() == 1
        assert box.locator("[aria-pressed=true]").all_inner_texts() == guesses
        opened.reload()
    where.get_by_role("button", name="Guess again").click()
    opened.reload()
    assert box.locator("[aria-pressed=true]").count() == 0
    assert where.locator("a").count() == 0
    assert wrong == []


def test_a_box_says_what_is_right_when_all_of_it_is_guessed(tab, base):
    opened, wrong = tab(base + OPTIONS)
    verdicts = opened.locator(".predict .verdict")
    opened.get_by_role("button", name="64", exact=True).click()
    assert verdicts.all_inner_texts() == ["", ""]
    opened.get_by_role("button", name="by more standard deviations").click()
    for _ in range(2):
        expected = ["✗ Not quite: the answer is “8”.", "✓ Right."]
        assert verdicts.all_inner_texts() == expected
        opened.reload()
    opened.get_by_role("button", name="Guess again").click()
    assert verdicts.all_inner_texts() == ["", ""]
    assert wrong == []


def test_a_guess_kept_from_other_options_is_forgotten(tab, base):
    opened, wrong = tab(base + OPTIONS)
    page = OPTIONS.split("/")[-1]
    opened.evaluate(f"""localStorage.setItem("guess {page} 1", '["7", "by fewer"]')""")
    opened.reload()
    assert opened.locator(".predict [aria-pressed=true]").count() == 0
    assert opened.locator(".predict .where a").count() == 0
    assert wrong == []


def test_after_a_guess_by_key_the_next_key_follows_the_link(tab, base):
    opened, _ = tab(base + OPTIONS)
    for question in opened.locator(".predict .options").all():
        question.locator("button").first.focus()
        opened.keyboard.press("Enter")
    opened.keyboard.press("Enter")
    assert opened.evaluate("location.hash") == "#a-key-that-matches-grows-faster"


def test_a_guess_needs_no_storage(tab, base):
    opened, _ = tab("about:blank")
    opened.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new Error('none'); } })"
    )
    opened.goto(base + OPTIONS)
    guess_all(opened)
    assert opened.locator(".predict .where a").count() == 1


def test_without_a_script_and_on_paper_a_box_is_as_it_was_written(tab, base):
    plain, _ = tab(base + OPTIONS, java_script_enabled=False)
    scripted, _ = tab(base + OPTIONS)
    for question in scripted.locator(".predict .options").all():
        question.locator("button").last.click()
    scripted.evaluate("dispatchEvent(new Event('beforeprint'))")
    scripted.emulate_media(media="print")
    read = [page.locator(".predict").inner_text().split() for page in (plain, scripted)]
    assert read[0] == read[1]
    assert plain.locator(".predict button").count() == 0


# The room between the box and what stands behind the answer.
BETWEEN = """document.querySelector(".the-answer + p").getBoundingClientRect().top
    - document.querySelector(".predict").getBoundingClientRect().bottom"""


def answer_of(opened):
    return opened.locator(".the-answer")


def guess_all(opened):
    for question in opened.locator(".predict .options").all():
        question.locator("button").first.click()


@pytest.mark.smoke
def test_the_answer_is_folded_until_there_is_a_guess(tab, base):
    opened, wrong = tab(base + OPTIONS)
    answer, box = answer_of(opened), opened.locator(".predict")
    skip = box.get_by_role("button", name="Skip the guess")
    assert not answer.is_visible()
    assert answer.bounding_box()["height"] == 0
    questions = box.locator(".options")
    questions.nth(0).locator("button").first.click()
    assert skip.get_attribute("aria-expanded") == "false"
    assert opened.locator(f"#{skip.get_attribute('aria-controls')}.the-answer").count() == 1
    before = box.bounding_box()["y"]
    questions.nth(1).locator("button").first.click()
    for _ in range(2):
        assert answer.is_visible()
        assert "The short answer is open below." in box.locator(".where[aria-live]").inner_text()
        assert skip.count() == 0
        assert box.bounding_box()["y"] == before
        opened.reload()
        before = box.bounding_box()["y"]
    box.get_by_role("button", name="Guess again").click()
    assert not answer.is_visible()
    assert wrong == []


@pytest.mark.parametrize("guessed", [False, True])
def test_nothing_moves_when_the_script_comes(tab, base, guessed):
    """The answer is folded, or open, before; as it is after."""
    opened, wrong = tab(base + OPTIONS)
    if guessed:
        guess_all(opened)
    waiting = []
    opened.route("**/site.js", lambda route: waiting.append(route))
    opened.reload(wait_until="commit")
    opened.locator("footer").wait_for()
    assert answer_of(opened).is_visible() == guessed
    before = opened.evaluate(BETWEEN)
    while not waiting:
        opened.wait_for_timeout(20)
    waiting[0].continue_()
    opened.locator(".predict button").first.wait_for()
    assert answer_of(opened).is_visible() == guessed
    assert opened.evaluate(BETWEEN) == pytest.approx(before, abs=1)
    assert wrong == []


@pytest.mark.smoke
def test_a_guess_may_be_skipped_and_the_answer_folded_again(tab, base):
    opened, wrong = tab(base + OPTIONS)
    opened.get_by_role("button", name="Skip the guess").focus()
    for is_open in (True, False):
        opened.keyboard.press("Enter")
        assert answer_of(opened).is_visible() == is_open
        focused = opened.locator(":focus")
        assert focused.inner_text() == ("Fold the answer" if is_open else "Skip the guess")
        assert focused.get_attribute("aria-expanded") == str(is_open).lower()
    opened.keyboard.press("Enter")
    guess_all(opened)
    opened.get_by_role("button", name="Guess again").click()
    assert not answer_of(opened).is_visible()
    assert wrong == []


@pytest.mark.parametrize("known", ["true", "false"], ids=["until-found", "hidden"])
def test_a_link_to_something_in_a_folded_answer_opens_it(tab, base, known):
    """Also in a browser to which "until-found" says no more than hidden."""
    opened, wrong = tab(base + OPTIONS)
    if known == "false":
        opened.add_init_script(
            """const set = Element.prototype.setAttribute;
            Element.prototype.setAttribute = function (name, value) {
                set.call(this, name, value === "until-found" ? "" : value); }"""
        )
    for comes in ("later", "with the address"):
        opened.goto("about:blank")
        opened.goto(base + OPTIONS + ("#answer-1" if comes == "with the address" else ""))
        place = answer_of(opened).locator("p").first
        if comes == "later":
            assert not place.is_visible()
            opened.evaluate("document.querySelector('.the-answer p').id = 'within'")
            opened.evaluate("location.hash = '#within'")
        else:
            opened.evaluate("history.replaceState(null, '', '#answer-1')")
            opened.reload()
        place.wait_for(state="visible")
        assert 0 <= place.bounding_box()["y"] < 400
        skip = opened.get_by_role("button", name="Fold the answer")
        assert skip.get_attribute("aria-expanded") == "true"
    assert wrong == []


def test_the_browsers_own_search_opens_a_folded_answer(tab, base):
    opened, _ = tab(base + OPTIONS)
    words = " ".join(answer_of(opened).text_content().split()[-6:])
    opened.goto("about:blank")
    opened.goto(f"{base}{OPTIONS}#:~:text={quote(words)}")
    answer_of(opened).locator("p").first.wait_for(state="visible")
    assert opened.get_by_role("button", name="Fold the answer").count() == 1


def test_the_answer_is_open_without_a_script_and_on_paper(tab, base):
    plain, _ = tab(base + OPTIONS, java_script_enabled=False)
    assert answer_of(plain).is_visible()
    scripted, _ = tab(base + OPTIONS)
    assert not answer_of(scripted).is_visible()
    scripted.emulate_media(media="print")
    assert answer_of(scripted).bounding_box()["height"] > 20
    blocked, _ = tab("about:blank")
    blocked.route("**/site.js", lambda route: route.abort())
    blocked.goto(base + OPTIONS)
    assert answer_of(blocked).is_visible()


def test_every_answer_behind_a_box_is_folded():
    """As its chapter has it, and nothing else of the page."""
    for page in (SITE / "book").glob("[0-9]*.html"):
        read = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
        answers = [one for one in read.select("article p") if one.text.startswith("The answer.")]
        folded = read.select(".predict + .the-answer > p")
        assert folded == (answers if read.select(".predict") else []), page.name
