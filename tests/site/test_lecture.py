"""The lecture: slides from a folder, on the screen and on paper."""

import pytest

from tests.site.browser import AXE, SITE

LECTURE = (SITE / "lecture" / "index.html").as_uri()

# With those in reserve, which reveal.js does not count among its slides.
SLIDES = "[...document.querySelectorAll('.slides section:not(.stack)')]"

# What reaches below a slide's 720 px or beyond its 1280, where every step has been taken.
OUTSIDE = """() => {
  const outside = [];
  for (const next of SLIDES) {
    const { h, v } = Reveal.getIndices(next);
    Reveal.slide(h, v);
    while (Reveal.availableFragments().next) Reveal.nextFragment();
    const slide = Reveal.getCurrentSlide();
    const all = slide.getBoundingClientRect();
    for (const part of slide.children) {
      const box = part.getBoundingClientRect();
      const scale = all.height / 720;
      if (box.height && (box.bottom > all.bottom + scale || box.right > all.right + scale))
        outside.push(`${slide.id}: ${part.tagName} ${part.className}`);
    }
  }
  return outside;
}""".replace("SLIDES", SLIDES)


# What the last row can't read of a figure to move: letters below 20 px of a slide's 720.
SMALL = """() => {
  const frame = Reveal.getCurrentSlide().querySelector("iframe.movable");
  const zoom = parseFloat(getComputedStyle(frame).getPropertyValue("--zoom"));
  const text = (node) => node.nodeType === 3 && node.data.trim();
  const own = (part) => [...part.childNodes].some(text);
  return [...frame.contentDocument.querySelectorAll(".explorable-app :not(sub, sup)")]
    .filter((part) => own(part) && part.checkVisibility())
    .filter((part) => zoom * parseFloat(getComputedStyle(part).fontSize) < 20)
    .map((part) => part.textContent);
}"""


def elsewhere(wrong):
    """What went wrong; to the fixture the site is foreign but for the lecture's folder."""
    return [one for one in wrong if not one.startswith(f"foreign: {SITE.as_uri()}")]


@pytest.mark.smoke
def test_the_lecture_works_from_a_folder_and_every_slide_holds_what_it_shows(tab):
    page, wrong = tab(LECTURE)
    assert page.evaluate(f"{SLIDES}.length") > page.evaluate("Reveal.getTotalSlides()") > 20
    page.evaluate("document.fonts.ready")
    assert page.evaluate(OUTSIDE) == []
    page.evaluate("Reveal.slide(1, 1)")
    figure = page.frame_locator("section.present iframe.movable")
    figure.locator("[data-explorable] input").first.click()
    assert figure.get_by_role("link").count() == 0
    passed = page.evaluate("Reveal.getSlidePastCount()")
    for key, more in (("PageDown", 1), ("PageUp", 0)):  # after a press, too, it's the presenter's
        page.keyboard.press(key)
        page.wait_for_function(f"Reveal.getSlidePastCount() === {passed + more}")
    assert elsewhere(wrong) == []


def test_without_a_script_a_sentence_leads_to_the_book(tab):
    page, wrong = tab(LECTURE, java_script_enabled=False)
    page.get_by_role("link", name="The book").click()
    assert page.url.startswith(SITE.as_uri())
    assert "lecture" not in page.url
    assert elsewhere(wrong) == []


def test_a_slide_in_reserve_is_shown_by_its_name_and_leads_back(tab):
    page, wrong = tab(LECTURE)
    at = "Reveal.getCurrentSlide().id === {!r}"
    for key in ("g", *"questions", "Enter"):
        page.keyboard.press(key)
    page.wait_for_function(at.format("questions"))
    page.get_by_role("link", name="What models divide by").click()
    page.wait_for_function(at.format("what-models-divide-by"))
    page.locator("#what-models-divide-by").get_by_role("link", name="in reserve").click()
    page.wait_for_function(at.format("questions"))
    assert elsewhere(wrong) == []


def test_a_figure_stays_as_it_was_left(tab):
    page, wrong = tab(LECTURE)
    page.evaluate("Reveal.slide(1, 1)")
    figure = page.frame_locator("section.present iframe.movable")
    figure.locator("input[type=range]").first.fill("3")
    page.evaluate("Reveal.slide(4, 4)")
    page.wait_for_timeout(500)  # reveal.js would have emptied the frame
    page.evaluate("Reveal.slide(1, 1)")
    figure.locator("input[type=range]").first.wait_for()
    assert figure.locator("input[type=range]").first.input_value() == "3"
    assert elsewhere(wrong) == []


def test_letters_of_figures_to_move_can_be_read_from_the_last_row(tab, base):
    page, _ = tab(f"{base}lecture/index.html")
    moved = page.evaluate(f"{SLIDES}.flatMap((s, i) => s.querySelector('iframe') ? i : [])")
    assert len(moved) >= 3
    for place in moved:
        page.evaluate(f"i => Reveal.slide(...Object.values(Reveal.getIndices({SLIDES}[i])))", place)
        page.wait_for_function(
            "() => Reveal.getCurrentSlide().querySelector('iframe').contentDocument"
            "?.querySelector('.in-slide svg text')"
        )
        assert page.evaluate(SMALL) == [], place


def test_the_slides_are_accessible(tab):
    page, _ = tab(LECTURE)
    page.wait_for_function("Reveal.isReady()")
    page.evaluate(AXE)
    audit = "axe.run().then(result => result.violations.map(v => v.id + ': ' + v.nodes[0].html))"
    assert page.evaluate(audit) == []


@pytest.mark.parametrize("name", ["start", "walk", "curve", "learning"])
def test_a_slider_stays_in_its_place_when_the_sentence_changes(tab, base, name):
    page, _ = tab(f"{base}explore/{name}.html?theme=light&slide")
    page.set_viewport_size({"width": 1280, "height": 600})
    slider = page.locator("input[type=range]")
    slider.wait_for()
    page.wait_for_timeout(600)
    places = set()
    for _ in range(int(slider.get_attribute("max")) + 1):
        places.add(tuple(slider.bounding_box().values()))
        slider.press("ArrowRight")
        page.wait_for_timeout(300)
    assert len(places) == 1


def test_on_paper_a_slide_is_a_page_and_a_figure_to_move_is_a_picture(tab):
    page, wrong = tab(f"{LECTURE}?print-pdf")
    page.wait_for_selector(".pdf-page")
    slides = page.locator(".slides section:not(.stack)").count()
    assert page.locator(".pdf-page").count() == slides > 30
    marked = "e => getComputedStyle(e, '::after').content"
    assert "✓" in page.locator("li.right").first.evaluate(marked)
    assert page.locator(".cover:visible").count() == 0
    assert page.locator("iframe.movable:visible").count() == 0
    assert page.locator(".movable + .picture:visible").count() > 3
    assert elsewhere(wrong) == []


def test_the_presenter_sees_the_picture_of_a_figure_to_move(tab):
    page, wrong = tab(f"{LECTURE}?receiver")
    page.evaluate("Reveal.slide(1, 1)")
    page.locator("section.present .movable + .picture").wait_for()
    assert page.locator("section.present iframe.movable:visible").count() == 0
    assert elsewhere(wrong) == []
