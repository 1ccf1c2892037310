"""The built site in a real browser: every page loads alone, is accessible, fits a phone, and works
from a folder.
"""

import html
import html.parser
import json
import re
import unicodedata
from base64 import b64decode
from io import BytesIO
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from conftest import AXE, ROOT, SITE, unfold
from fontTools.ttLib import TTFont

TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
CHAPTERS = [
    TOC["root"],
    *(chapter["file"] for part in TOC["parts"] for chapter in part["chapters"]),
]
PAGES = [*(f"{chapter}.html" for chapter in CHAPTERS), "search.html", "404.html"]
FIRST_VISIT = 150_000  # bytes

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
"""What people ask: search must find the section that answers it by name."""


class Links(html.parser.HTMLParser):
    """The ids of a page, and where it links to."""

    def __init__(self, page):
        super().__init__()
        self.ids, self.links = set(), []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.ids.add(values.get("id") or "")
        for name in ("href", "src"):
            if values.get(name):
                self.links.append(values[name])


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_page_loads_alone_and_is_accessible(tab, base, page, theme):
    opened, wrong = tab(base + page, theme=theme)
    opened.evaluate(
        "document.querySelectorAll('img[loading]').forEach(image => { image.loading = 'eager'; })"
    )
    opened.wait_for_load_state("load")
    assert wrong == []
    opened.evaluate(AXE)
    violations = opened.evaluate(
        "axe.run().then(result => result.violations.map(v => v.id + ': ' + "
        "v.nodes[0].html.slice(0, 200)))"
    )
    assert violations == []


@pytest.mark.parametrize("page", PAGES)
def test_a_phone_never_scrolls_sideways(tab, base, page):
    opened, _ = tab(base + page, width=360)
    assert opened.evaluate("document.documentElement.scrollWidth") <= 360


def test_every_link_within_the_site_leads_somewhere():
    pages = {page: Links(page) for page in SITE.rglob("*.html")}
    dead = []
    for page, found in pages.items():
        for link in found.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if page.name == "404.html":
                target = SITE / unquote(parts.path).lstrip("/")
            if not target.exists() or (
                parts.fragment
                and target in pages
                and unquote(parts.fragment) not in pages[target].ids
            ):
                dead.append(f"{page.relative_to(SITE)}: {link}")
    assert dead == []


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


def answer_to(question):
    """The chapter that has a section of this name."""
    words = set(re.findall(r"\w+", question.lower()))
    sections = {
        heading: path.stem
        for path in (ROOT / "book").glob("*.ipynb")
        for heading in re.findall(r"##+ People ask: ([^\"]+?)\\n", path.read_text(encoding="utf-8"))
    }
    (chapter,) = {
        stem
        for heading, stem in sections.items()
        if set(re.findall(r"\w+", heading.lower())) == words
    }
    return chapter


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("place", ["served", "folder"])
def test_search_finds_what_people_ask(tab, base, question, place):
    start = base if place == "served" else SITE.as_uri() + "/"
    opened, wrong = tab(f"{start}book/00_start_here.html")
    box = opened.locator(".bar input[type=search]")
    box.fill(question)
    box.press("Enter")
    first = opened.locator("#search-results a").first
    assert answer_to(question) in first.get_attribute("href")
    assert wrong == []


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


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_page_works_from_a_folder(tab, chapter):
    opened, wrong = tab((SITE / f"{chapter}.html").as_uri())
    assert wrong == []
    assert opened.locator("article h1").count() == 1


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

    def shown():
        tree = protocol.send("Accessibility.getFullAXTree")["nodes"]
        said = [node.get("name", {}).get("value", "") for node in tree]
        before = said[: said.index(" rows shown")]
        return int(next(text for text in reversed(before) if text.isdigit()))

    assert shown() == opened.locator(".ledger tbody tr").count()
    opened.get_by_label("wrong", exact=True).check()
    assert shown() == opened.locator(".ledger tbody tr.wrong").count()


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
    opened.wait_for_function("scrollY > 9000")
    assert not opened.locator("#chapters").is_visible()


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
    reference = (SITE / "book" / "reference.html").read_text(encoding="utf-8")
    assert "PosixPath" not in reference
    assert str(ROOT) not in reference


def test_on_a_phone_the_bar_names_the_chapter_and_leads_to_its_top(tab, base):
    opened, _ = tab(f"{base}book/04_softmax_saturation.html", width=360)
    titles = opened.locator(".bar .title:visible")
    opened.evaluate("scrollTo(0, 9000)")
    assert titles.all_text_contents() == ["4. What goes wrong when softmax saturates?"]
    titles.click()
    opened.wait_for_function("scrollY === 0")
    opened.set_viewport_size({"width": 1280, "height": 900})
    assert titles.all_text_contents() == ["Why divide by √dk?"]


def test_without_a_script_nothing_is_lost(browser, base):
    context = browser.new_context(java_script_enabled=False, viewport={"width": 360, "height": 800})
    page = context.new_page()
    page.goto(f"{base}book/04_softmax_saturation.html")
    assert page.locator("#chapters a").first.is_visible()
    assert page.locator("math").count() > 20
    page.locator("details.dropdown summary").first.click()
    assert page.locator("details.dropdown p").first.is_visible()
    context.close()


@pytest.mark.parametrize("page", PAGES)
def test_no_table_and_no_code_is_wider_than_the_text(tab, base, page):
    opened, _ = tab(f"{base}{page}")
    opened.set_viewport_size({"width": 1280, "height": 900})
    wide = opened.evaluate(
        "document.querySelectorAll('details').forEach(fold => { fold.open = true; });"
        "[...document.querySelectorAll('.sdpa-table-wrap, .table-wrap, .cell pre')]"
        ".filter(box => box.scrollWidth > box.clientWidth + 1)"
        ".map(box => box.textContent.trim().split('\\n')[0])"
    )
    assert wide == []


def test_folded_code_is_shown_together_and_the_choice_is_kept(tab, base):
    opened, _ = tab(f"{base}book/04_softmax_saturation.html")
    folds, switch = opened.locator("details.code"), opened.get_by_role("button", name="Show all")
    assert folds.count() >= 2
    assert opened.locator("details.code[open]").count() == 0
    for pressed, shown in (("true", folds.count()), ("false", 0)):
        switch.click()
        assert switch.get_attribute("aria-pressed") == pressed
        opened.reload()
        assert opened.locator("details.code[open]").count() == shown


@pytest.mark.parametrize("chapter", [name for name in CHAPTERS if re.search(r"/\d\d_", name)])
def test_a_chapter_hands_out_its_notebook(tab, base, chapter):
    opened, _ = tab(f"{base}{chapter}.html")
    with opened.expect_download() as download:
        opened.get_by_role("link", name="Download this notebook").click()
    handed_out, ours = (
        json.loads(path.read_text(encoding="utf-8"))
        for path in (Path(download.value.path()), ROOT / f"{chapter}.ipynb")
    )
    first, *rest = handed_out.pop("cells")
    assert "import sdpa_book" in "".join(first["source"])  # and what to do where it is missing
    assert rest == ours.pop("cells")
    assert handed_out == ours


@pytest.mark.parametrize("page", CHAPTERS)
def test_on_a_phone_what_a_cell_prints_is_not_cut_and_what_scrolls_says_so(tab, base, page):
    opened, _ = tab(f"{base}{page}.html", width=360)
    unfold(opened)
    cut = (
        "boxes => boxes.filter(box => box.checkVisibility()"
        " && box.scrollWidth > box.clientWidth + 1"
    )
    printed = opened.locator(".output pre").evaluate_all(f"{cut}).map(box => box.textContent)")
    assert printed == []
    silent = opened.locator("pre, .sdpa-table-wrap, .table-wrap").evaluate_all(
        f"{cut} && !box.classList.contains('scrolls')).map(box => box.textContent)"
    )
    assert silent == []


def test_the_contents_of_a_page_mark_where_the_reader_is(tab, base):
    opened, wrong = tab(f"{base}book/05_why_exactly_the_square_root.html")
    marked = opened.locator(".contents [aria-current]")
    assert marked.count() == 0
    for link in (1, 0, 2):
        entry = opened.locator(".contents a[href^='#']:not([href='#'])").nth(link)
        entry.click()
        opened.wait_for_function(
            "link => link.getAttribute('aria-current') === 'true'", arg=entry.element_handle()
        )
        assert marked.count() == 1
    opened.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    opened.wait_for_function("document.querySelector('.contents [aria-current]') === null")
    assert wrong == []


def test_in_a_subsection_its_section_is_marked(tab, base):
    opened, _ = tab(f"{base}book/08_the_same_mathematics_fast.html")
    subsection = opened.locator("#other-implementations")
    subsection.evaluate("section => section.scrollIntoView({ behavior: 'instant' })")
    marked = opened.locator(".contents [aria-current]:visible")
    marked.wait_for()
    assert marked.all_text_contents() == ["For those who use it"]
