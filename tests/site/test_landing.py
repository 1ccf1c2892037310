"""A link to a section leads to its heading, below the bar, whatever loads above it on the way."""

import re

import pytest
from bs4 import BeautifulSoup

from sdpa_book.explorables import EXPLORABLES
from tests.site.browser import SITE

CHAPTERS = sorted(
    path.relative_to(SITE / "book").with_suffix("").as_posix()
    for path in (SITE / "book").rglob("[0-9a-z]*_*.html")
    if "<article" in path.read_text(encoding="utf-8")  # an old address has none
    if path.parent.name != "reference"  # the menu lists no sections of a module
)
BELOW_THE_BAR = 68  # pixels: the bar's height and the root element's font size

# The scroll position, the page's height and what is near the window have stayed as they are for
# some frames, and every figure that came near has loaded.
SETTLED = """() => new Promise((settled) => {
  let before = "", same = 0;
  const look = () => {
    const near = (element) => {
      const { top, bottom } = element.getBoundingClientRect();
      return bottom > -600 && top < innerHeight + 600;
    };
    const figures = [...document.querySelectorAll(".explorable")].filter(near);
    const loaded = figures.every((figure) => figure.querySelector(".explorable-app"));
    const now = `${scrollY} ${document.documentElement.scrollHeight}`;
    same = loaded && now === before ? same + 1 : 0;
    before = now;
    if (same < 12) requestAnimationFrame(look);
    else settled();
  };
  look();
})"""

# How far the heading of the section is from where it should be; a page ends with its last section.
OFF = """([anchor, wanted]) => {
  const heading = document.getElementById(anchor).querySelector("h1, h2, h3");
  const { top } = heading.getBoundingClientRect();
  const end = document.documentElement.scrollHeight - innerHeight - scrollY;
  return end < 2 && top > wanted && top < innerHeight ? 0 : Math.round(top - wanted);
}"""


def sections(chapter):
    """The last three of a chapter and the one in the middle, which a reader may be sent to."""
    page = BeautifulSoup((SITE / f"book/{chapter}.html").read_text(encoding="utf-8"), "html.parser")
    anchors = [heading.parent["id"] for heading in page.select("article section > h2")]
    return [anchors[len(anchors) // 2], *anchors[-3:]]


def off(page, anchor):
    page.evaluate(SETTLED)
    return page.evaluate(OFF, [anchor, BELOW_THE_BAR])


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_link_to_a_section_lands_at_its_heading(tab, base, chapter, width):
    url, missed = f"{base}book/{chapter}.html", {}
    for anchor in sections(chapter):
        opened, _ = tab(f"{url}#{anchor}", width=width)
        missed[f"loaded at #{anchor}"] = off(opened, anchor)
        if width < 960 and chapter.startswith("00"):
            continue  # the menu lists the sections of the chapters below the start page
        opened, _ = tab(url, width=width)
        if width < 960:
            opened.locator(".menu").click()
        opened.locator("nav.contents, #chapters, .contents").locator(
            f"a[href='#{anchor}']:visible"
        ).click()
        missed[f"clicked #{anchor}"] = off(opened, anchor)
    assert {how: distance for how, distance in missed.items() if abs(distance) > 2} == {}


@pytest.mark.smoke
def test_a_result_of_the_search_and_the_way_back_land_right(tab, base):
    opened, _ = tab(f"{base}search.html?q=One+matrix+product+makes+all+comparisons")
    opened.locator("#search-results a").first.click()
    opened.wait_for_url("**/01_the_formula_and_its_shapes.html#*")
    anchor = opened.url.partition("#")[2]
    assert abs(off(opened, anchor)) <= 2
    opened.locator(".contents a[href='#exercises']").click()
    assert abs(off(opened, "exercises")) <= 2
    opened.go_back()
    assert abs(off(opened, anchor)) <= 2
    opened.go_forward()
    assert abs(off(opened, "exercises")) <= 2


FIGURES = {
    name: chapter
    for chapter in CHAPTERS
    for name in re.findall(
        r'id="explorable-(\w+)"', (SITE / f"book/{chapter}.html").read_text(encoding="utf-8")
    )
}


@pytest.mark.parametrize("width", [390, 1280])
def test_a_figure_has_its_height_before_it_loads(tab, base, width):
    """But for a line of text, which another machine's font may break elsewhere."""
    heights = {}
    for name, chapter in FIGURES.items():
        opened, _ = tab("about:blank", width=width)
        opened.route("**/explorables.min.js", lambda _: None)  # it never comes
        for part in (".explorable-static", ".explorable-app"):
            opened.goto(f"{base}book/{chapter}.html", wait_until="domcontentloaded")
            opened.locator(f"#explorable-{name}").scroll_into_view_if_needed()
            place = opened.locator(f"#explorable-{name} > {part}")
            place.wait_for()
            opened.evaluate(SETTLED.replace(".explorable-app", part))
            heights.setdefault(name, []).append(round(place.bounding_box()["height"]))
            opened.unroute_all()
    assert heights.keys() == {*EXPLORABLES}
    assert {name: (a, b) for name, (a, b) in heights.items() if abs(a - b) > 25} == {}
