"""Sphinx extension: what a link leads to is shown in a card, when the reader points at the link.

A card tells of a paper, a term, a figure, a table, a row of the ledger, or of a page or a section
of another page; ``named_links`` makes more of them links. A formula that is exactly a symbol of
Notation has a card as well, but for the letters that a page needs for something of its own
(``OWN``).

The cards stand in ``cards.js``, with the script that shows them, ``cards.js`` beside this module: a
page loads it when a reader first points at something that has a card.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.util import logging

from cells.chapter_numbers import number_of
from website.named_links import glossary

SCRIPT = Path(__file__).with_name("cards.js")
OWN = {
    "03_the_variance_derivation": "cX",
    "06_why_exactly_the_square_root": "X",
    "09_the_real_test": "n",
    "10_trained_heads": "c",
    "notes/11_scalings_in_the_wild": "H",
    "notes/b_through_many_layers": "V",
    "notes/d_which_power_for_which_optimiser": "h",
    "articles/b_through_many_layers": "LV",
}
"""Letters that mean something else on a page than in Notation."""

MATH = re.compile(r"<math\b[^>]*>.*?</math>", re.S)
HEADLINK = re.compile(r'<a class="headerlink".*?</a>', re.S)
TAG = re.compile(r"<(/?)([a-z]+[1-6]?)\b([^>]*)>")
INLINE = re.compile(r"(i|b|em|strong|sub|sup|code|m[a-z]+|math)$")
WITH_ATTRIBUTES = re.compile(r"m[a-z]+$")
FIGURE = re.compile(
    r'<figure class="(?:numbered" |explorable"[^>]*><span )id="(figure-[^"]+)">(.*?)</figure>',
    re.S,
)
CAPTION = re.compile(r"<figcaption>(.*?)</figcaption>", re.S)
IMAGE = re.compile(r"<img\b[^>]*>")
TABLE = re.compile(r'<table\b[^>]* id="(table-[^"]+)"[^>]*>\s*<caption>(.*?)</caption>', re.S)
SECTION = re.compile(
    r'<section\b[^>]* id="([^"]+)">\s*(?:<span id="[^"]*"></span>\s*)*<h[1-4]>(.*?)</h[1-4]>'
)
PARAGRAPH = re.compile(r"<p>(.*?)</p>", re.S)
SENTENCE = re.compile(r"(?:[^.?!<]|<[^>]*>|[.?!](?![\s<”)]|$))*[.?!]?[”)]?", re.S)
CITED = re.compile(r'<div class="citation" id="[^"]*">(.*?)</div>', re.S)
ROW = re.compile(r'<tr class="S[^"]*" id="(S[^"]+)">(.*?)</tr>', re.S)
LINK = re.compile(r'<a class="[^"]*\binternal\b[^"]*" href="([^"]*)"')
DEFINED = re.compile(r'<dt id="([^"]+)">(.*?)</dt>\s*<dd>(.*?)</dd>', re.S)
SYMBOL = re.compile(r'<tr class="[^"]*" id="(symbol-[^"]+)">(.*?)</tr>', re.S)
CELL = re.compile(r"<t[dh][^>]*>(.*?)</t[dh]>", re.S)

ON_PAGE = re.compile(r"(figure|table|term|symbol)-")
"""What has a card on its own page, too."""

Card = dict[str, str]

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    app.setup_extension("website.named_links")  # which knows the terms and symbols of Notation
    app.connect("builder-inited", begin)
    app.connect("html-page-context", collect, priority=800)  # after those who set the page
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": False}  # it collects, page by page


def begin(app: Sphinx) -> None:
    app.sdpa_cards, app.sdpa_links = {}, {}  # type: ignore[attr-defined]


def collect(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Mark the symbols of a page; remember what it has cards for, and where its links lead."""
    if doctree is None or not isinstance(app.builder, StandaloneHTMLBuilder):
        return
    context["body"] = marked(context["body"], page, glossary(app)[2])
    body, url = context["body"], app.builder.get_target_uri(page)
    known: dict[str, Card] = app.sdpa_cards  # type: ignore[attr-defined]
    known[url] = {"title": plain(context["title"]), "text": context.get("page_description", "")}
    known.update({f"{url}#{at}": card for at, card in cards(body, posixpath.dirname(url))})
    links: dict[str, str] = app.sdpa_links  # type: ignore[attr-defined]
    for link in LINK.findall(body):
        path, _, address = link.partition("#")
        to = posixpath.normpath(posixpath.join(posixpath.dirname(url), path)) if path else url
        if to == url and not ON_PAGE.match(address):
            continue
        links.setdefault(f"{to}#{address}" if address else to, page)


def marked(body: str, page: str, symbols: dict[str, str]) -> str:
    """The formulas that are a symbol, with the address of its entry."""
    if number_of(page) is None:
        return body
    own = OWN.get(page.removeprefix("book/"), "")

    def mark(match: re.Match[str]) -> str:
        formula = match[0]
        at = symbols.get(formula)
        if at is None or re.sub("<[^>]+>", "", formula) in tuple(own):
            return formula
        return formula.replace("<math ", f'<math data-symbol="{at}" ', 1)

    return MATH.sub(mark, body)


def cards(body: str, folder: str) -> Iterator[tuple[str, Card]]:
    """What a page has cards for, by its address on the page."""
    sections = list(SECTION.finditer(body))
    for section, following in zip(sections, [*sections[1:], None], strict=True):
        behind = body[section.end() : following.start() if following else None]
        first = PARAGRAPH.search(behind)
        sentence = SENTENCE.match(plain(first[1])) if first else None
        yield section[1], {"title": plain(section[2]), "text": sentence[0] if sentence else ""}
    for at, inside in FIGURE.findall(body):
        caption, image = CAPTION.search(inside), IMAGE.search(inside)
        picture = pictured(image[0], folder) if image else {}
        yield at, {"text": plain(caption[1] if caption else ""), **picture}
    for at, title in TABLE.findall(body):
        yield at, {"text": plain(title)}
    for cited in CITED.findall(body):
        for key in re.findall(r'<span id="([^"]+)">', cited):
            entry = PARAGRAPH.search(cited)
            yield key, {"text": plain(entry[1], links=True) if entry else ""}
    for at, inside in ROW.findall(body):
        claim, verdict = (
            PARAGRAPH.search(inside),
            re.search(r".*(<strong>.*?</strong>)", inside, re.S),
        )
        if claim and verdict:
            yield at, {"text": f"{plain(claim[1])} Verdict: {plain(verdict[1])}"}
    for at, term, definition in DEFINED.findall(body):
        if at.startswith("term-"):
            paragraphs = map(plain, PARAGRAPH.findall(definition))
            yield at, {"title": plain(term), "text": " ".join(paragraphs)}
    for at, inside in SYMBOL.findall(body):
        symbol, meant, *_ = CELL.findall(inside)
        yield at, {"title": plain(symbol), "text": plain(meant)}


def pictured(image: str, folder: str) -> Card:
    """The picture of a figure, its path from the root of the site."""
    has = dict(re.findall(r'(\w+)="([^"]*)"', image))
    path = posixpath.normpath(posixpath.join(folder, unquote(has["src"])))
    size = f'width="{has["width"]}" height="{has["height"]}"' if "height" in has else ""
    kind = 'class="diagram" ' if "diagram" in has.get("class", "") else ""
    return {"picture": f"<img {kind}{size} alt>", "src": path}


def plain(html: str, *, links: bool = False) -> str:
    """HTML of a line without what only its page needs."""

    def reduced(tag: re.Match[str]) -> str:
        end, name, attributes = tag.groups()
        if links and name == "a":
            to = re.search(r'href="(https?:[^"]+)"', attributes)
            return "</a>" if end else f'<a href="{to[1]}">' if to else "<a>"
        if name == "math":
            return f"<{end}math>"
        if not INLINE.match(name):
            return ""
        return tag[0] if WITH_ATTRIBUTES.match(name) else f"<{end}{name}>"

    return " ".join(TAG.sub(reduced, HEADLINK.sub("", html)).split())


def write(app: Sphinx, exception: Exception | None) -> None:
    if exception is not None or not isinstance(app.builder, StandaloneHTMLBuilder):
        return
    known, links = app.sdpa_cards, app.sdpa_links  # type: ignore[attr-defined]
    for to, page in links.items():
        if to not in known and re.search(r"#(figure|table)-[^#]+$", to):
            logger.warning("nothing has the number that is named here: %s", to, location=page)
    page, _, symbols = glossary(app)
    notation = app.builder.get_target_uri(page) if page else ""
    entries = {f"{notation}#{at}" for at in symbols.values()}
    used = {to: known[to] for to in sorted({*links, *entries}) if to in known and known[to]["text"]}
    data = json.dumps(
        {"cards": used, "notation": notation},
        ensure_ascii=False,
        separators=(",", ":"),
    )
    script = SCRIPT.read_text(encoding="utf-8").replace("DATA", data.replace("</", "<\\/"), 1)
    (Path(app.outdir) / "cards.js").write_text(script, encoding="utf-8")
