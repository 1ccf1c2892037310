"""What a link leads to, in a card: by mouse, by keyboard and by touch."""

import pytest

from tests.site.browser import AXE, SITE

CHAPTER = "book/05_what_saturation_does_to_learning"


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("page", "selector", "word"),
    [
        (CHAPTER, "a.term >> nth=0", "softmax"),
        (CHAPTER, "article a[href*='bibliography.html#']", "arXiv"),
        (CHAPTER, "article math[data-symbol=term-divisor]", "divided"),
        ("book/notes/01_the_formula_and_its_shapes", "article a[href*='ledger.html#S']", "Verdict"),
    ],
)
@pytest.mark.parametrize("from_folder", [True, False])
def test_a_card_shows_under_the_pointer_covers_nothing_and_goes(
    tab, base, page, selector, word, from_folder
):
    address = (SITE / f"{page}.html").as_uri() if from_folder else f"{base}{page}.html"
    opened, wrong = tab(address)
    assert opened.locator("#card").count() == 0  # the script is not there yet
    link, card = opened.locator(selector).first, opened.locator("#card")
    link.hover()
    card.wait_for()
    assert word in card.inner_text()
    of_link, of_card = link.bounding_box(), card.bounding_box()
    assert (
        of_link["y"] + of_link["height"] <= of_card["y"]
        or of_card["y"] + of_card["height"] <= of_link["y"]
    )
    card.hover()  # on the way to a link in it
    opened.wait_for_timeout(400)
    assert card.is_visible()
    opened.mouse.move(2, 400)
    card.wait_for(state="hidden")
    assert wrong == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_keyboard_shows_a_card_and_hides_it(tab, base, theme):
    opened, wrong = tab(f"{base}{CHAPTER}.html", theme=theme)
    link, card = opened.locator("a.term").first, opened.locator("#card")
    opened.keyboard.press("Tab")
    link.focus()
    card.wait_for()
    assert card.get_attribute("role") == "tooltip"
    assert link.get_attribute("aria-describedby") == "card"
    opened.evaluate(AXE)
    audit = "axe.run().then(result => result.violations.map(v => v.id))"
    assert opened.evaluate(audit) == []
    opened.keyboard.press("Escape")
    assert card.is_hidden()
    assert link.get_attribute("aria-describedby") is None
    assert wrong == []


@pytest.mark.smoke
@pytest.mark.parametrize("delay", [0, 600])
def test_a_first_tap_shows_a_card_and_a_second_one_follows(tab, base, delay):
    opened, _ = tab(f"{base}{CHAPTER}.html", width=390, has_touch=True)

    def late(route):
        opened.wait_for_timeout(delay)
        route.continue_()

    opened.route("**/cards.js", late)
    link, card = opened.locator("a.term").first, opened.locator("#card")
    link.tap()
    card.wait_for()
    assert opened.url.endswith(f"{CHAPTER}.html")
    assert card.get_attribute("role") == "dialog"
    assert opened.evaluate("document.documentElement.scrollWidth") <= 390
    card.get_by_role("link", name="Go there").tap()
    opened.wait_for_url("**/notation.html#term-*")
    opened.go_back()
    link.tap()
    card.wait_for()
    link.tap()
    opened.wait_for_url("**/notation.html#term-*")


def test_a_figure_of_the_same_page_is_in_its_card(tab, base):
    page = "book/09_the_real_test.html"
    opened, wrong = tab(base + page)
    figure = opened.locator("figure.numbered").first.get_attribute("id")

    def with_figure(route):
        script = (SITE / "cards.js").read_text(encoding="utf-8")
        card = f'{{"cards":{{"{page}#{figure}":{{"text":"It rises."}},'
        route.fulfill(body=script.replace('{"cards":{', card), content_type="text/javascript")

    opened.route("**/cards.js", with_figure)
    opened.evaluate(
        """figure => {
          const link = document.createElement("a");
          link.className = "reference internal named";
          link.href = `#${figure}`;
          link.textContent = "A figure";
          document.querySelector("article p").append(link);
        }""",
        figure,
    )
    opened.get_by_role("link", name="A figure").hover()
    opened.locator("#card img").wait_for()
    assert opened.locator("#card").inner_text() == "It rises."
    assert opened.locator("#card img").bounding_box()["width"] > 200
    assert wrong == []


def test_no_card_is_printed(tab, base):
    opened, _ = tab(f"{base}{CHAPTER}.html")
    opened.locator("a.term").first.hover()
    opened.locator("#card").wait_for()
    opened.emulate_media(media="print")
    assert opened.locator("#card").is_hidden()
