"""A Predict box is answered on the page, by pointer or key, and then says where the answer is."""

import pytest

OPTIONS = "book/02_dot_products_grow.html"
FIELD = "book/13_what_to_remember.html"
WHERE = "What each assumption buys"


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


def test_a_box_without_options_takes_a_guess_in_words(tab, base):
    opened, wrong = tab(base + FIELD)
    field, where = opened.get_by_label("Your guess"), opened.locator(".predict .where")
    opened.get_by_role("button", name="I have a guess").click()
    assert WHERE not in where.inner_text()
    field.fill("D A B C E F")
    field.press("Enter")
    assert WHERE in where.inner_text()
    opened.reload()
    assert field.input_value() == "D A B C E F"
    assert "You wrote: “D A B C E F”." in where.inner_text()
    assert WHERE in where.inner_text()
    assert wrong == []


def test_a_guess_needs_no_storage(tab, base):
    opened, _ = tab("about:blank")
    opened.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new Error('none'); } })"
    )
    opened.goto(base + FIELD)
    opened.get_by_label("Your guess").fill("A and D")
    opened.keyboard.press("Enter")
    assert WHERE in opened.locator(".predict .where").inner_text()


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
