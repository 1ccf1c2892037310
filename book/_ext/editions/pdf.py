"""The whole book as one PDF, made of the built site: ``make pdf``.

All pages of the table of contents are put into one, and Chromium prints that: links lead within the
file. It is printed twice, since the contents and the index can say on which page a section begins
only when that is known. Bookmarks, and the tags by which a screen reader knows headings, tables,
and what a picture shows, are Chromium's. Tags make the file four times as large as it is without,
and packed, as they are in the end, by two fifths.
"""

from __future__ import annotations

import re
import shutil
import sys
from datetime import date
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import pikepdf
import yaml
from bs4 import BeautifulSoup, Tag
from bs4.element import PageElement
from playwright.sync_api import Browser, sync_playwright
from pypdf import PdfReader

ROOT = Path(__file__).parents[3]
SITE = ROOT / "_build" / "html"
INDEX = "genindex"
NAME = "why-divide-by-sqrt-d_k.pdf"
FLAGS = ["--no-sandbox", "--disable-background-networking", "--disable-gpu"]

STYLE = """
@page cover { @bottom-center { content: none } }
.cover { page: cover; padding-top: 70mm }
.cover .title { margin-bottom: 0.5rem; font-size: 3.4rem; font-weight: 700; line-height: 1.15 }
.cover .subtitle { margin-bottom: 14rem; font-size: 1.5rem }
.printed-contents { break-before: page }
.printed-contents > ul { columns: 2; column-gap: 10mm }
.printed-contents ul { margin: 0; padding: 0; list-style: none }
.printed-contents > ul > li { margin-bottom: 0.8rem }
.printed-contents > ul > li > a { font-weight: 650; break-after: avoid }
.printed-contents ul ul { padding-left: 1rem }
.printed-contents a {
  display: flex; gap: 0.6rem; justify-content: space-between;
  color: inherit; text-decoration: none; break-inside: avoid
}
article { break-before: page }
h1, h2, h3 { white-space: pre-wrap } /* or a bookmark loses the space at which its heading wraps */
"""

FILL_IN = """numbers => {
  for (const place of document.querySelectorAll(".printed-contents .number, .index .place"))
    place.textContent = numbers[place.closest("a").hash.slice(1)];
}"""


def main() -> int:
    if not (SITE / "index.html").is_file():
        print(f"There is no site in {SITE} to make a PDF of: make book", file=sys.stderr)
        return 1
    names = ("chromium", "chromium-browser", "google-chrome")
    chromium = next(filter(None, map(shutil.which, names)), None)
    if chromium is None:
        print(
            "The PDF needs Chromium: sudo apt-get install chromium, or any Chrome on the path",
            file=sys.stderr,
        )
        return 1
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        pages = make_pdf(SITE, SITE / NAME, browser)
        browser.close()
    offer(SITE)
    print(f"The book is printed, on {pages} pages: {SITE / NAME}")
    return 0


def make_pdf(site: Path, pdf: Path, browser: Browser) -> int:
    """Write the PDF of a site; the number of its pages."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    book = whole_book(site, citation)
    html = ROOT / "_build" / "pdf" / "book.html"
    html.parent.mkdir(exist_ok=True)
    html.write_text(str(book), encoding="utf-8")
    page = browser.new_page()
    page.goto(html.as_uri(), timeout=120_000)  # the whole book, on whatever machine
    page.evaluate("Promise.all([...document.images].map(image => image.decode()))")
    page.evaluate(FILL_IN, pages_of(PdfReader(BytesIO(page.pdf(format="A4")))))
    page.pdf(path=pdf, format="A4", tagged=True, outline=True)
    page.close()
    with pikepdf.open(pdf, allow_overwriting_input=True) as printed:
        printed.docinfo["/Author"] = ", ".join(author["name"] for author in citation["authors"])
        printed.Root.PageMode = pikepdf.Name.UseOutlines
        printed.save(object_stream_mode=pikepdf.ObjectStreamMode.generate)
        return len(printed.pages)


def whole_book(site: Path, citation: dict[str, Any]) -> BeautifulSoup:
    """One page of all that are in the table of contents, with a cover and contents before them.

    It is the first page of the site with another text, so that it has the site's style and script.
    """
    pages = {site / f"{name}.html": f"{name.replace('/', '.')}." for name in chapters()}
    first = next(iter(pages))
    book = read(first)
    for tag in book.find_all(["link", "script"]):
        for name in {"href", "src"} & tag.attrs.keys():
            tag[name] = urljoin(first.as_uri(), str(tag[name]))
    articles = [article(page, pages) for page in pages]
    main = one(book, "main")
    authors = one(main, "footer").text
    main.clear()
    main.extend([cover(citation, authors), contents(articles), *articles])
    one(book, "title").string = citation["title"]
    style = book.new_tag("style")
    style.string = STYLE
    one(book, "head").append(style)
    return book


def chapters() -> list[str]:
    """What the table of contents names, in its order, and the index."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    pages = [page for part in toc["parts"] for page in part["chapters"]]
    below = [[page, *page.get("sections", ())] for page in pages]
    return [toc["root"], *(one["file"] for group in below for one in group), INDEX]


def read(page: Path) -> BeautifulSoup:
    return BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")


def one(tag: Tag, name: str) -> Tag:
    element = tag.find(name)
    assert isinstance(element, Tag), f"there is no <{name}> where the theme writes one"
    return element


def article(page: Path, pages: dict[Path, str]) -> Tag:
    """The text of a page. Its ids get the prefix of the page, since others have the same."""
    text = one(read(page), "article")
    prefix = pages[page]
    for tag in text.find_all(True):
        for name in {"id", "for", "name"} & tag.attrs.keys():
            tag[name] = prefix + str(tag[name])
        if "src" in tag.attrs:
            tag["src"] = urljoin(page.as_uri(), str(tag["src"]))
        tag.attrs.pop("loading", None)  # on paper nobody scrolls to a picture
        parts = urlsplit(str(tag.get("href", "")))
        if "href" not in tag.attrs or parts.scheme:
            continue
        target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        if target in pages:
            tag["href"] = f"#{pages[target]}{unquote(parts.fragment)}"
        else:
            del tag["href"]  # a file of the site, which the PDF hasn't
    text["id"] = prefix
    return text


def cover(citation: dict[str, Any], authors: str) -> Tag:
    title, _, subtitle = citation["title"].partition("? ")
    today = date.today()
    return section(
        f"""<section class="cover">
        <p class="title">{escape(title)}?</p>
        <p class="subtitle">{escape(subtitle)}</p>
        <p>{escape(authors)}</p>
        <p>Version {citation["version"]}, printed on {today.day} {today:%B %Y}.</p>
        </section>"""
    )


def contents(articles: list[Tag]) -> Tag:
    """Pages and their sections, with room for the number of the page where each begins."""
    items = []
    for text in articles:
        headings = text.select("h2:not(.letter)")
        sections = "".join(f"<li>{entry(heading)}</li>" for heading in headings)
        items.append(f"<li>{entry(one(text, 'h1'))}<ul>{sections}</ul></li>")
    return section(
        f"""<section class="printed-contents" id="contents"><h1>Contents</h1>
        <ul>{"".join(items)}</ul></section>"""
    )


def section(html: str) -> Tag:
    return one(BeautifulSoup(html, "html.parser"), "section")


def entry(heading: Tag) -> str:
    """A line of the contents, which leads to its section, with three digits in the place of its
    number: lines break at the first printing where they do at the second.
    """
    title = "".join(map(str, title_of(heading)))
    return f'<a href="#{id_of(heading)}"><span>{title}</span><span class="number">000</span></a>'


def title_of(heading: Tag) -> list[PageElement]:
    """What a heading holds, less the link to itself."""
    return [
        part
        for part in heading.contents
        if not (isinstance(part, Tag) and "headerlink" in part.get_attribute_list("class"))
    ]


def id_of(heading: Tag) -> str:
    assert heading.parent is not None
    return str(heading.parent["id"])


def pages_of(reader: PdfReader) -> dict[str, int]:
    """What links lead to, by id: the number of the page, from 1."""
    pages = {}
    for name, place in reader.named_destinations.items():
        number = reader.get_destination_page_number(place)
        assert number is not None, f"{name} is on no page"
        pages[name.removeprefix("/")] = number + 1
    return pages


def offer(site: Path) -> None:
    """A link to the PDF on each page of the site, below the chapters."""
    size = (site / NAME).stat().st_size / 1e6
    link = rf'<p class="pdf"><a href="\1{NAME}" download>The book as one PDF</a>, {size:.0f} MB</p>'
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        page.write_text(re.sub(r"<!-- pdf: (\S+) -->", link, text), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
