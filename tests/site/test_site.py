"""The built site in a real browser: every page loads alone, is accessible, fits a phone, and works
from a folder.
"""

import html
import html.parser
import json
import re
import unicodedata
from base64 import b64decode
from collections import Counter
from io import BytesIO
from urllib.parse import unquote, urlsplit

import pytest
from editions import pdf
from fontTools.ttLib import TTFont
from outputs.notebooks import stored

from tests.site.browser import AXE, DRAWN, ROOT, SITE, unfold

CHAPTERS = [page for page in pdf.chapters() if page != pdf.INDEX]
PAGES = [*(f"{chapter}.html" for chapter in CHAPTERS), "genindex.html", "search.html", "404.html"]
FIRST_VISIT = 150_000  # bytes
# The beginnings of those of some boxes that are seen and hold more than they show.
CUT = """.filter(box => box.checkVisibility() && box.clientWidth
  && box.scrollWidth > box.clientWidth + 1).map(box => box.textContent.trim().slice(0, 40))"""
# The beginnings of those whose class changes within a fifth of a second.
RESTLESS = """() => new Promise((done) => {
  const restless = [];
  const watch = new MutationObserver((changes) => {
    restless.push(...changes.map(({ target }) => target.textContent.trim().slice(0, 40)));
  });
  watch.observe(document.body, { subtree: true, attributes: true, attributeFilter: ["class"] });
  setTimeout(() => done(restless), 200);
})"""


class Links(html.parser.HTMLParser):
    """The ids of a page, and where it links to."""

    def __init__(self, page):
        super().__init__()
        self.ids, self.links = [], []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if values.get("id"):
            self.ids.append(values["id"])
        for name in ("href", "src"):
            if values.get(name):
                self.links.append(values[name])


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("theme", [pytest.param("light", marks=pytest.mark.smoke), "dark"])
def test_a_page_loads_alone_is_accessible_and_holds_its_tables_and_code(tab, base, page, theme):
    opened, wrong = tab(base + page, theme=theme)
    opened.evaluate(
        "document.querySelectorAll('img[loading]').forEach(image => { image.loading = 'eager'; })"
    )
    opened.wait_for_load_state("load")
    assert wrong == []
    opened.evaluate(AXE)
    # What passes needs no description, and what does not only its HTML: a quarter less time.
    violations = opened.evaluate(
        "axe.run({resultTypes: ['violations'], selectors: false}).then(result => "
        "result.violations.map(v => v.id + ': ' + v.nodes[0].html.slice(0, 200)))"
    )
    assert violations == []
    unfold(opened)
    wide = opened.locator(".sdpa-table-wrap, .table-wrap, .cell pre")
    assert wide.evaluate_all(f"boxes => boxes{CUT}") == []


@pytest.mark.smoke
@pytest.mark.parametrize("page", PAGES)
def test_a_page_fits_a_phone(tab, base, page):
    """It never scrolls sideways; what a cell prints, but for tables, and long formulas break; what
    is wider than the phone all the same says that it scrolls; and then nothing moves by itself.
    """
    opened, _ = tab(base + page, width=360)
    assert opened.evaluate("document.documentElement.scrollWidth") <= 360
    if page == "404.html":
        return
    unfold(opened)
    opened.evaluate("document.fonts.ready.then(() => null)")
    opened.evaluate(DRAWN)
    for whole in (".cell:not(.tag_wide-print) .output pre", "p, li"):
        assert opened.locator(whole).evaluate_all(f"boxes => boxes{CUT}") == []
    scrolling = "pre, .sdpa-table-wrap, .table-wrap, div.math"
    silent = f"boxes => boxes.filter(box => !box.classList.contains('scrolls')){CUT}"
    assert opened.locator(scrolling).evaluate_all(silent) == []
    assert opened.evaluate(RESTLESS) == []


@pytest.mark.parametrize(
    "page", ["slips", "notation", "08_alternative_scalings", "11_scalings_in_the_wild"]
)
def test_on_a_phone_a_table_is_cards_or_keeps_its_first_column(tab, base, page):
    opened, _ = tab(f"{base}book/{page}.html", width=360)
    unfold(opened)
    opened.evaluate(DRAWN)
    for box in opened.locator(".cards").all():
        assert box.evaluate("box => box.scrollWidth <= box.clientWidth")
        heads = box.locator("thead th").all_text_contents()
        cells = box.locator("tbody tr").first.locator("td").all()
        assert len(cells) == len(heads) > 2
        # one below the other, each with the head of its column, which the browser shows before it
        tops = [cell.bounding_box()["y"] for cell in cells if cell.is_visible()]
        assert tops == sorted(set(tops))
        shown = "cell => getComputedStyle(cell, '::before').content"
        assert all(cell.get_attribute("data-head") in cell.evaluate(shown) for cell in cells[1:])
    for box in opened.locator(".scrolls:is(.table-wrap, .sdpa-table-wrap)").all():
        box.evaluate("box => { box.scrollLeft = box.scrollWidth; }")
        edge = box.bounding_box()
        for cell in box.locator("tr > :first-child").all():
            place = cell.bounding_box()
            assert place["x"] == pytest.approx(edge["x"], abs=1)
            assert place["width"] < edge["width"] / 2


@pytest.mark.parametrize("page", PAGES)
def test_a_page_with_letters_twice_as_large_or_written_from_the_right_fits_a_phone(tab, base, page):
    opened, _ = tab(base + page, width=412)
    for change in ("style.fontSize = '200%'", "dir = 'rtl'"):
        opened.evaluate(f"document.documentElement.{change}")
        # What scrolls in itself is found after the layout.
        opened.wait_for_function("document.documentElement.scrollWidth <= 412", timeout=5000)
        opened.evaluate("document.documentElement.style.fontSize = ''")


@pytest.mark.smoke
def test_every_link_within_the_site_leads_somewhere():
    pages = {page: Links(page) for page in SITE.rglob("*.html")}
    dead = []
    for page, parser in pages.items():
        for link in parser.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if page.name == "404.html":
                target = SITE / unquote(parts.path).lstrip("/")
            if not target.exists() or (
                parts.fragment
                and target in pages
                and unquote(parts.fragment).removeprefix("/") not in pages[target].ids  # of slides
            ):
                dead.append(f"{page.relative_to(SITE)}: {link}")
    assert dead == []


@pytest.mark.smoke
def test_every_page_names_its_icon():
    """Else a browser asks the server for one that is not there."""
    pages = SITE.rglob("*.html")
    assert [page for page in pages if '<link rel="icon"' not in page.read_text("utf-8")] == []


@pytest.mark.smoke
def test_no_two_parts_of_a_page_have_one_id():
    pages = {page: Counter(Links(page).ids) for page in SITE.rglob("*.html")}
    assert [(page.name, one) for page, ids in pages.items() for one in ids if ids[one] > 1] == []


@pytest.mark.smoke
def test_nothing_is_loaded_from_another_host():
    foreign = re.compile(
        r"""(?:src|href)=["'](?:https?:)?//[^"']+["']|url\(["']?(?:https?:)?//|@import|\bfetch\(|importScripts"""
    )
    for page in SITE.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        head = text.partition("</head>")[0].replace('<link rel="canonical"', "")
        assert not foreign.search(head), page
    for style in SITE.rglob("*.css"):
        assert not foreign.search(style.read_text(encoding="utf-8")), style


def test_the_font_has_every_character_of_the_formulas():
    style = (SITE / "_static/formula_font.css").read_text(encoding="utf-8")
    font = TTFont(BytesIO(b64decode(re.search(r"base64,([^\"]+)", style)[1])))
    # a single letter in <mi> is shown by the character that is italic in itself
    slanted = map(chr, [*range(0x1D434, 0x1D468), *range(0x1D6E2, 0x1D715)])
    italic = {unicodedata.normalize("NFKC", c): c for c in slanted} | {"h": "\N{PLANCK CONSTANT}"}
    used = {"√"}
    for page in SITE.rglob("*.html"):
        for formula in re.findall(r"<math.*?</math>", page.read_text(encoding="utf-8"), re.DOTALL):
            used |= set(html.unescape(re.sub(r"<[^>]+>", "", formula)))
            letters = map(html.unescape, re.findall(r"<mi>([^<]+)</mi>", formula))
            used |= {italic[letter] for letter in letters if letter in italic}
    assert {c for c in used if not c.isspace()} - set(map(chr, font.getBestCmap())) == set()


@pytest.mark.smoke
@pytest.mark.parametrize(
    "name", ["book/00_start_here", "book/notes/02_dot_products_grow", "search"]
)
def test_a_page_works_from_a_folder(tab, name):
    opened, wrong = tab((SITE / f"{name}.html").as_uri())
    assert wrong == []
    assert opened.locator("article h1").count() == 1


@pytest.mark.smoke
def test_a_chapter_hands_out_its_notebook():
    for path in stored(ROOT / "book"):
        place = path.relative_to(ROOT)
        page = (SITE / place.with_suffix(".html")).read_text(encoding="utf-8")
        assert f'_sources/{place.as_posix()}" download' in page
        handed_out, ours = (
            json.loads(file.read_text(encoding="utf-8"))
            for file in (SITE / "_sources" / place, path)
        )
        first, *rest = handed_out.pop("cells")
        assert "import sdpa_book" in "".join(first["source"])  # and what to do where it is missing
        assert rest == ours.pop("cells")
        assert handed_out == ours


def transferred(page):
    """Bytes of all that a page loads, each file's as it comes."""
    sizes = []
    page.on(
        "requestfinished",
        lambda request: sizes.append(
            sum(request.sizes()[k] for k in ("responseBodySize", "responseHeadersSize"))
        ),
    )
    return sizes


def test_a_first_visit_is_light(browser, base):
    weights = {}
    for first in CHAPTERS:
        context = browser.new_context(viewport={"width": 412, "height": 823})
        page = context.new_page()
        sizes = transferred(page)
        page.goto(f"{base}{first}.html", wait_until="networkidle")
        weights[first] = sum(sizes)
        context.close()
    assert {page: size for page, size in weights.items() if size > FIRST_VISIT} == {}


@pytest.mark.smoke
def test_the_theme_is_kept(tab, base):
    opened, _ = tab(f"{base}book/00_start_here.html")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = opened.evaluate(ground)
    opened.get_by_role("button", name="Theme").click()
    dark = opened.evaluate(ground)
    assert dark != light
    opened.goto(f"{base}book/notation.html")
    assert opened.evaluate(ground) == dark


def test_the_head_of_the_ledger_stays_in_sight_and_covers_no_row(tab, base):
    opened, _ = tab(f"{base}book/ledger.html")
    head = opened.locator(".ledger thead th").first
    row = opened.locator(".ledger tbody tr").first

    def top(locator):
        return locator.bounding_box()["y"]

    row.scroll_into_view_if_needed()
    assert top(head) + head.bounding_box()["height"] <= top(row) + 1
    opened.locator(".ledger tbody tr").nth(100).scroll_into_view_if_needed()
    assert top(row) < 0 <= top(head) < 100


def test_the_ledger_counts_the_rows_that_are_shown(tab, base):
    opened, _ = tab(f"{base}book/ledger.html")
    protocol = opened.context.new_cdp_session(opened)

    def row_count():
        tree = protocol.send("Accessibility.getFullAXTree")["nodes"]
        names = [node.get("name", {}).get("value", "") for node in tree]
        before = names[: names.index(" rows shown")]
        return int(next(text for text in reversed(before) if text.isdigit()))

    assert row_count() == opened.locator(".ledger tbody tr").count()
    opened.get_by_label("wrong", exact=True).check()
    assert row_count() == opened.locator(".ledger tbody tr.wrong").count()


@pytest.mark.smoke
def test_the_chapters_open_and_close_on_a_phone(tab, base):
    opened, _ = tab(f"{base}book/00_start_here.html", width=360)
    chapters = opened.locator("#chapters")
    assert not chapters.is_visible()
    opened.locator(".menu").press("Enter")
    assert chapters.is_visible()
    opened.keyboard.press("Escape")
    assert not chapters.is_visible()
    opened.locator(".menu").click()
    opened.mouse.click(350, 500)  # beside them
    assert not chapters.is_visible()
    opened.locator(".menu").click()
    chapters.get_by_role("link", name="Notation").click()
    opened.wait_for_url("**/notation.html")


def test_on_a_phone_the_sections_stand_below_their_chapter(tab, base):
    opened, _ = tab(f"{base}book/04_softmax_saturation.html", width=360)
    sections = opened.locator("#chapters li.current > ul a").all_text_contents()
    headings = [text.rstrip("¶") for text in opened.locator("h2").all_text_contents()]
    assert sections == headings
    opened.locator(".menu").click()
    opened.locator("#chapters li.current > ul a").last.click()
    assert not opened.locator("#chapters").is_visible()


@pytest.mark.smoke
def test_on_a_phone_the_search_opens_over_the_bar(tab, base):
    opened, _ = tab(f"{base}book/04_softmax_saturation.html", width=360)
    box = opened.locator(".bar input")
    assert box.bounding_box()["width"] < 50
    box.click()
    assert box.bounding_box()["width"] > 330
    box.fill("variance")
    box.press("Enter")
    opened.locator("#search-results a").first.wait_for()


@pytest.mark.parametrize("chosen", ["dark", None])
def test_on_paper_the_dark_theme_is_light(tab, base, chosen):
    opened, _ = tab(f"{base}book/04_softmax_saturation.html", theme="dark")
    if chosen:
        opened.evaluate("chosen => (document.documentElement.dataset.theme = chosen)", chosen)
    colours = """() => ["main", ".highlight .k", ".highlight .m", "figcaption"]
        .map((selector) => getComputedStyle(document.querySelector(selector)).color)"""
    opened.emulate_media(media="print", color_scheme="dark")
    dark = opened.evaluate(colours)
    opened.evaluate("() => (document.documentElement.dataset.theme = 'light')")
    opened.emulate_media(media="print", color_scheme="light")
    assert dark == opened.evaluate(colours)


def test_the_reference_has_no_paths_of_the_machine_that_built_it():
    for page in (SITE / "book" / "reference").glob("*.html"):
        reference = page.read_text(encoding="utf-8")
        assert "PosixPath" not in reference
        assert str(ROOT) not in reference


@pytest.mark.parametrize("scripted", [True, False])
@pytest.mark.parametrize(
    ("anchor", "page"),
    [
        ("sdpa_lib.attention.scaled_dot_product_attention", "attention"),
        ("sdpa_lib.sampling.Distribution.excess_kurtosis", "sampling"),
        ("module-sdpa_lib.watching", "watching"),
        ("sdpa_book.studies.crossing.plan.Part.starts", "crossing"),
    ],
)
def test_a_link_into_the_reference_of_one_page_leads_on(tab, base, anchor, page, scripted):
    """By itself with a script; without one it lands on what leads on."""
    opened, wrong = tab(f"{base}book/reference.html#{anchor}", java_script_enabled=scripted)
    if scripted:
        opened.wait_for_url(f"**/reference/{page}.html#{anchor}")
        assert opened.locator(f"[id='{anchor}']").count() == 1
    else:
        links = opened.locator("li:has(:target) a")
        assert f"reference/{page}.html" in links.first.get_attribute("href")
        assert 0 <= opened.locator(":target").bounding_box()["y"] < 900
    assert wrong == []


def test_each_module_of_the_library_has_a_page_in_the_reference():
    modules = {path.stem for path in (ROOT / "sdpa_lib").glob("[!_]*.py")}
    pages = {path.stem for path in (SITE / "book" / "reference").glob("*.html")}
    assert modules - pages == set()


def test_the_link_of_a_heading_copies_its_address(tab, base):
    opened, wrong = tab(
        f"{base}book/04_softmax_saturation.html", permissions=["clipboard-read", "clipboard-write"]
    )
    link = opened.locator("h2 .headerlink").first
    link.click()
    opened.get_by_text("Copied", exact=True).wait_for()
    address = opened.evaluate("navigator.clipboard.readText()")
    assert address == opened.url == link.evaluate("link => link.href")
    assert "#" in address
    assert wrong == []


def test_on_a_phone_the_bar_names_the_chapter_and_leads_to_its_top(tab, base):
    opened, _ = tab(f"{base}book/04_softmax_saturation.html", width=360)
    titles, of_the_book = opened.locator(".bar .title:visible"), opened.locator(".bar .title")
    opened.evaluate("scrollTo(0, 9000)")
    assert titles.all_text_contents() == [opened.locator("h1").inner_text().rstrip("¶")]
    titles.click()
    opened.wait_for_function("scrollY === 0")
    opened.set_viewport_size({"width": 1280, "height": 900})
    assert titles.all_text_contents() == of_the_book.all_text_contents()[:1]


@pytest.mark.smoke
def test_without_a_script_nothing_is_lost(browser, base):
    context = browser.new_context(java_script_enabled=False, viewport={"width": 360, "height": 800})
    page = context.new_page()
    page.goto(f"{base}book/04_softmax_saturation.html")
    assert page.locator("#chapters a").first.is_visible()
    assert page.locator("math").count() > 20
    page.locator("details.dropdown summary").first.click()
    assert page.locator("details.dropdown p").first.is_visible()
    context.close()


def test_folded_code_is_shown_together_and_the_choice_is_kept(tab, base):
    opened, _ = tab(f"{base}book/04_softmax_saturation.html")
    folds, switch = opened.locator("details.code"), opened.get_by_role("button", name="Show all")
    assert folds.count() >= 2
    assert opened.locator("details.code[open]").count() == 0
    for pressed, n_open in (("true", folds.count()), ("false", 0)):
        switch.click()
        assert switch.get_attribute("aria-pressed") == pressed
        opened.reload()
        assert opened.locator("details.code[open]").count() == n_open


@pytest.mark.smoke
def test_the_contents_of_a_page_mark_where_the_reader_is(tab, base):
    opened, wrong = tab(f"{base}book/02_dot_products_grow.html")
    marked = opened.locator(".contents [aria-current]")
    assert marked.count() == 0
    for link in (1, 0, 2):
        entry = opened.locator(".contents a[href^='#']:not([href='#'])").nth(link)
        entry.click()
        opened.wait_for_function(
            "link => link.getAttribute('aria-current') === 'true'", arg=entry.element_handle()
        )
        assert marked.count() == 1
    opened.evaluate("scrollTo(0, 0)")
    opened.wait_for_function("document.querySelector('.contents [aria-current]') === null")
    assert wrong == []
