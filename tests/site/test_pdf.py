"""The book on paper: the print style of a page, and the PDF of the whole book."""

import re
import shutil
import unicodedata
from collections import Counter
from io import BytesIO
from pathlib import Path

import pytest
import yaml
from bs4 import BeautifulSoup
from editions import pdf
from pypdf import PdfReader

from tests.site.browser import ROOT, SITE

CHAPTERS = pdf.chapters()
GROWTH = "book/02_dot_products_grow.html"
MOST_PAGES = 12
PAPER = 673  # the width of the text on A4, in CSS pixels


def printed(page):
    return PdfReader(BytesIO(page.pdf(format="A4")))


def text_of(pages):
    """Their text in one line, where fi is two letters."""
    text = " ".join(page.extract_text() for page in pages)
    return unicodedata.normalize("NFKC", " ".join(text.split()))


def plain(title):
    """The letters of formulas as those of text."""
    return unicodedata.normalize("NFKC", title)


@pytest.fixture(scope="module")
def book(browser, tmp_path_factory):
    file = tmp_path_factory.mktemp("pdf") / pdf.NAME
    pdf.make_pdf(SITE, file, browser)
    return PdfReader(file)


def bookmarks(reader, entries=None, depth=0):
    """Depth, title and number of the page, from 1, of each bookmark."""
    for entry in reader.outline if entries is None else entries:
        if isinstance(entry, list):
            yield from bookmarks(reader, entry, depth + 1)
        else:
            yield depth, plain(entry.title), reader.get_destination_page_number(entry) + 1


def title_of(chapter):
    page = BeautifulSoup((SITE / f"{chapter}.html").read_text(encoding="utf-8"), "html.parser")
    page.h1.find(class_="headerlink").decompose()
    return plain(page.h1.get_text())


def test_a_chapter_takes_few_pages_and_has_its_solutions_at_the_end(tab, base):
    opened, wrong = tab(base + GROWTH)
    reader = printed(opened)
    assert len(reader.pages) <= MOST_PAGES
    text = text_of(reader.pages)
    solution = text.index("the standard deviation of head 1 grows fourfold")
    assert text.index("What to remember") < text.index("Solutions Exercise 1") < solution
    assert "On this page" not in text
    assert wrong == []


def test_after_printing_solutions_are_where_they_were(tab, base):
    opened, _ = tab(base + GROWTH)
    opened.locator(".explorable-app").first.wait_for()  # comes later than the page
    article = "document.querySelector('article').outerHTML"
    before = opened.evaluate(article)
    opened.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert opened.evaluate(article) != before
    assert opened.locator(".solutions details").count() > 1
    opened.evaluate("dispatchEvent(new Event('afterprint'))")
    assert opened.evaluate(article) == before


def test_folded_code_is_printed_if_it_is_shown(tab, base):
    opened, _ = tab(base + GROWTH)
    code = opened.locator("details.code pre").first.text_content().split("\n")[0]
    assert code not in text_of(printed(opened).pages)
    opened.get_by_role("button", name="Show all").click()
    assert code in text_of(printed(opened).pages)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_nothing_on_paper_is_cut_off_or_scrolls(tab, base, chapter):
    opened, _ = tab(f"{base}{chapter}.html", width=PAPER)
    opened.emulate_media(media="print")
    overflowing = opened.evaluate(
        """width => [...document.querySelectorAll("article *")].filter(element => {
          const box = element.getBoundingClientRect(), style = getComputedStyle(element);
          return box.width && (box.right > width + 1
            || /auto|scroll/.test(style.overflowX + style.overflowY));
        }).map(element => element.outerHTML.slice(0, 200))""",
        PAPER,
    )
    assert overflowing == []


@pytest.mark.smoke
def test_an_explorable_is_printed_as_its_picture(tab, base):
    opened, _ = tab(base + GROWTH)
    opened.locator(".explorable").first.scroll_into_view_if_needed()
    opened.locator(".explorable-app").first.wait_for()
    opened.emulate_media(media="print")
    assert opened.locator(".explorable-static").first.is_visible()
    assert not opened.locator(".explorable-app").first.is_visible()


def test_the_pdf_has_a_cover(book):
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    cover = text_of(book.pages[:1])
    title, subtitle = citation["title"].split("? ")
    authors = [author["name"].replace("The ", "the ", 1) for author in citation["authors"]]
    for part in (f"{title}?", subtitle, f"Version {citation['version']}", *authors):
        assert part in cover
    assert book.metadata.title == citation["title"]
    assert book.metadata.author == ", ".join(author["name"] for author in citation["authors"])


def test_the_pdf_has_every_page_of_the_book_as_a_bookmark_that_leads_to_it(book):
    _, *chapters = [(title, page) for depth, title, page in bookmarks(book) if depth == 0]
    assert [title for title, _ in chapters] == [title_of(chapter) for chapter in CHAPTERS]
    for title, number in chapters:
        assert text_of(book.pages[number - 1 : number]).startswith(f"{number} {title}")


def test_the_contents_of_the_pdf_name_the_pages_of_the_bookmarks(book):
    _, *chapters = [(title, page) for depth, title, page in bookmarks(book) if depth == 0]
    contents = text_of(book.pages[1 : chapters[0][1] - 1]) + " "
    contents = contents.replace("studies. ", "studies.")  # where a line ends within a name
    assert [title for title, number in chapters if f"{title} {number} " not in contents] == []


def test_the_pdf_tells_a_screen_reader_what_is_what(book):
    root = book.trailer["/Root"]
    assert root["/Lang"] == "en"
    assert root["/MarkInfo"]["/Marked"]
    elements, kinds, alternatives = [root["/StructTreeRoot"]], Counter(), set()
    while elements:
        element = elements.pop().get_object()
        if not isinstance(element, dict):  # the number of a piece of a page
            continue
        kinds[element.get("/S")] += 1
        alternatives.add(element.get("/Alt"))
        parts = element.get("/K", [])
        elements += parts if isinstance(parts, list) else [parts]
    pages = [pdf.read(SITE / f"{chapter}.html").article for chapter in CHAPTERS]
    assert kinds["/H1"] == len(CHAPTERS) + 1  # and the contents
    for kind, tag in (("/Table", "table"), ("/TH", "th")):
        by_page = (page.select(f"{tag}:not(details.code {tag})") for page in pages)
        assert kinds[kind] == sum(map(len, by_page))
    pictures = {image["alt"] for page in pages for image in page.find_all("img")}
    assert len(pictures) > 50
    assert pictures <= alternatives


def test_the_sections_of_a_chapter_are_bookmarks_below_it(book):
    outline = list(bookmarks(book))
    start = next(i for i, (_, title, _) in enumerate(outline) if title == title_of(GROWTH[:-5]))
    end = next(i for i in range(start + 1, len(outline)) if outline[i][0] == 0)
    below = [title for depth, title, _ in outline[start:end] if depth == 1]
    assert below[-3:] == ["Exercises", "What to remember", "Solutions"]
    assert "A key that matches grows faster" in below
    titles = [title for _, title, _ in outline[start:end]]
    assert len(set(titles)) == len(titles)  # an exercise and its solution are one bookmark


def test_links_of_the_pdf_lead_within_it_or_to_the_web(book):
    names, inside = set(book.named_destinations), 0
    for page in book.pages:
        for annotation in page.get("/Annots", []):
            link = annotation.get_object()
            action = link.get("/A", {})
            if "/URI" in action:
                assert re.match(r"https?://", action["/URI"]), action["/URI"]
            else:
                inside += 1
                assert link.get("/Dest", action.get("/D")) in names
    assert inside > 1000


def test_the_site_offers_the_pdf_if_there_is_one(tmp_path):
    pages = [Path(GROWTH), Path("search.html")]
    for page in pages:
        (tmp_path / page).parent.mkdir(exist_ok=True)
        shutil.copy(SITE / page, tmp_path / page)
    (tmp_path / pdf.NAME).write_bytes(b"%PDF" * 1_000_000)
    pdf.offer(tmp_path)
    for page in pages:
        text = (tmp_path / page).read_text(encoding="utf-8")
        (link,) = BeautifulSoup(text, "html.parser").select("#chapters .pdf a[download]")
        assert (tmp_path / page).parent.joinpath(link["href"]).resolve() == tmp_path / pdf.NAME
        offered = BeautifulSoup((SITE / page).read_text(encoding="utf-8"), "html.parser")
        assert bool(offered.select("#chapters .pdf")) == (SITE / pdf.NAME).is_file()
