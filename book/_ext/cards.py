"""Sphinx extension: what a link leads to is shown in a card, when the reader points at the link.

A card tells of a paper, a term, a figure, a table, a row of the ledger, or of a page or a section
of another page. So that more of them have one, the first occurrence of each term of Notation on a
page becomes a link to it, and so does a figure or a table that the prose names by its number.
A formula that is exactly a symbol of Notation has a card as well, but for the letters that a page
needs for something of its own (``OWN``).

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
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

from chapter_numbers import number_of
from folds import Fold
from mathml import mathml
from node_text import defines_a_symbol

PAGE = "notation"
SCRIPT = Path(__file__).with_name("cards.js")
OWN = {
    "03_the_variance_derivation": "cX",
    "06_why_exactly_the_square_root": "X",
    "09_the_real_test": "n",
    "10_trained_heads": "c",
    "notes/11_scalings_in_the_wild": "H",
    "notes/b_through_many_layers": "V",
    "notes/d_which_power_for_which_optimiser": "h",
    "studies/b_through_many_layers": "LV",
}
"""Letters that mean something else on a page than in Notation."""
ALSO = {"effective keys": "effective number of keys", "perplexity": "perplexity of a row"}
"""What pages call a term for short."""

NUMBER = r"N?(?:\d{1,2}|[A-Z])\.\d+"
NAMED = re.compile(
    rf"\b(Figure|Table)s?[ \u00a0]{NUMBER}(?:(?:, and |, | and | or | to ){NUMBER})*(?!\.?\d)"
)
ONE = re.compile(rf"(?:(?:Figure|Table)s?[ \u00a0])?({NUMBER})")
NOT_IN = (
    nodes.FixedTextElement,
    nodes.Inline,
    nodes.title,
    nodes.caption,
    nodes.raw,
    nodes.table,
    nodes.math_block,
    addnodes.desc,
    Fold,
)
"""Where no word becomes a link; nor within what is inline, but for words that are set apart."""
APART = (nodes.emphasis, nodes.strong)

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_post_transform(LinkNamed)
    app.connect("builder-inited", begin)
    app.connect("html-page-context", collect, priority=800)  # after those who set the page
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": False}  # it collects, page by page


def is_glossary(page: str) -> bool:
    return page.rpartition("/")[2] == PAGE


def name_of(term: nodes.Element) -> str:
    """A term within a sentence: of one with capitals in it, as it stands."""
    bold = term.next_node(nodes.strong)
    said = bold.astext() if bold else next(symbols_in(term), "")
    return said if re.search(r".[A-Z]", said) else said.lower()


def symbols_in(node: nodes.Element) -> Iterator[str]:
    """The symbols that a table or a term introduces, in LaTeX: of several in one formula each, and
    of an equation its left side.
    """
    for formula in node.findall(nodes.math):
        whole = formula.astext()
        yield from re.split(r", | = ", whole)[: 1 if " = " in whole else None]


def meaning(node: nodes.Element) -> Iterator[str]:
    """The symbol with which a definition begins, as in "H = ...", or is one."""
    first = node.next_node(nodes.paragraph)[0]
    if isinstance(first, nodes.inline):  # kept together with the comma behind it
        first = next((part for part in first.children if part.astext()), first)
    if isinstance(first, nodes.math):
        yield first.astext().partition(" = ")[0]


def addresses(document: nodes.document) -> tuple[dict[str, str], dict[str, str]]:
    """By term, and by symbol as MathML, the address of its entry."""
    terms, symbols = {}, {}
    for item in document.findall(nodes.definition_list_item):
        term, definition = item[0], item[-1]
        (address, *_) = term["ids"]  # type: ignore[index]
        if term.next_node(nodes.strong):
            terms[name_of(term)] = address  # type: ignore[arg-type]
        for symbol in (*symbols_in(term), *meaning(definition)):  # type: ignore[arg-type]
            symbols[symbol] = address
    for row in document.findall(nodes.row):
        if defines_a_symbol(row):
            (address, *_) = row["ids"]
            for symbol in symbols_in(row[0]):  # type: ignore[arg-type]
                symbols |= {symbol: address, symbol.replace("_j", "_i"): address}
    return terms, {mathml(symbol, "inline", document): at for symbol, at in symbols.items()}


def glossary(app: Sphinx) -> tuple[str, dict[str, str], dict[str, str]]:
    """The page of Notation, its terms and its symbols, with their addresses."""
    if app.sdpa_glossary is None:  # type: ignore[attr-defined]
        page = next(filter(is_glossary, sorted(app.env.found_docs)), "")
        found = addresses(app.env.get_doctree(page)) if page else ({}, {})
        app.sdpa_glossary = page, *found  # type: ignore[attr-defined]
    known: tuple[str, dict[str, str], dict[str, str]] = app.sdpa_glossary  # type: ignore[attr-defined]
    return known


class LinkNamed(SphinxPostTransform):
    """Links for the first occurrence of each term, and for figures and tables by their numbers."""

    default_priority = 600  # after folds and Predict boxes are made
    formats = ("html",)

    def run(self, **_kwargs: Any) -> None:
        page, terms, _ = glossary(self.app)
        self.wanted = {}
        if number_of(self.env.docname) is not None:
            self.wanted = {name: f"{page}#{at}" for name, at in terms.items()}
            self.wanted |= {
                short: self.wanted[name] for short, name in ALSO.items() if name in terms
            }
        for text in list(self.document.findall(nodes.Text)):
            if stands_in_prose(text):
                for part in self.replaced(NAMED, text, self.numbered):
                    if isinstance(part, nodes.Text):
                        self.link_terms(part)

    def replaced(self, pattern: re.Pattern[str], text: nodes.Text, made: Any) -> list[nodes.Node]:
        """Put what ``made`` makes of each match into its place."""
        whole, end, parts = text.astext(), 0, []
        for found in pattern.finditer(whole):
            parts += [nodes.Text(whole[end : found.start()]), *made(found)]
            end = found.end()
        if not parts:
            return [text]
        parts.append(nodes.Text(whole[end:]))
        parts = [part for part in parts if part.astext()]
        text.parent.replace(text, parts)
        return parts

    def numbered(self, found: re.Match[str]) -> Iterator[nodes.Node]:
        pages = {number_of(page): page for page in self.env.found_docs}
        end = found.start()
        for one in ONE.finditer(found.string, found.start(), found.end()):
            if between := found.string[end : one.start()]:
                yield nodes.Text(between)
            chapter = one[1].partition(".")[0]
            address = f"{found[1]}-{one[1].replace('.', '-')}".lower()
            if chapter in pages:
                yield self.link(one[0], f"{pages[chapter]}#{address}", "named")
            else:
                logger.warning(
                    "there is no page for the %s that is named here: %s",
                    found[1].lower(),
                    one[0],
                    location=self.env.docname,
                )
                yield nodes.Text(one[0])
            end = one.end()

    def link_terms(self, text: nodes.Text) -> None:
        if not self.wanted:
            return
        names = "|".join(map(re.escape, sorted(self.wanted, key=len, reverse=True)))
        found = re.search(rf"(?<![\w-])({names})(?![\w-])", text.astext(), re.I)
        if found is None:
            return
        name = next(name for name in self.wanted if name.lower() == found[1].lower())
        at = self.wanted[name]
        once = re.compile(re.escape(text.astext()[: found.end()]))
        before = text.astext()[: found.start()]

        def made(_found: re.Match[str]) -> list[nodes.Node]:
            return [nodes.Text(before), self.link(found[1], at, "term")]

        parts = self.replaced(once, text, made)
        self.wanted = {name: other for name, other in self.wanted.items() if other != at}
        self.link_terms(parts[-1])  # type: ignore[arg-type]

    def link(self, text: str, to: str, kind: str) -> nodes.reference:
        page, _, address = to.partition("#")
        here = page == self.env.docname
        uri = "" if here else self.app.builder.get_relative_uri(self.env.docname, page)
        return nodes.reference(
            "", text, internal=True, refuri=f"{uri}#{address}", classes=["internal", kind]
        )


def stands_in_prose(text: nodes.Text) -> bool:
    """Whether a word there may become a link: in a paragraph that is always shown, in no box whose
    options are buttons.
    """
    node: Any = text
    in_paragraph = False
    while node := node.parent:
        classes = getattr(node, "attributes", {}).get("classes", ())
        if isinstance(node, NOT_IN) and not isinstance(node, APART):
            return False
        if "predict" in classes or "nb_element" in getattr(node, "attributes", {}):
            return False
        in_paragraph = in_paragraph or isinstance(node, nodes.paragraph)
    return in_paragraph


# What the cards hold

MATH = re.compile(r"<math\b[^>]*>.*?</math>", re.S)
HEADLINK = re.compile(r'<a class="headerlink".*?</a>', re.S)
TAG = re.compile(r"<(/?)([a-z]+[1-6]?)\b([^>]*)>")
KEPT = re.compile(r"(i|b|em|strong|sub|sup|code|m[a-z]+|math)$")
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


def begin(app: Sphinx) -> None:
    app.sdpa_glossary = None  # type: ignore[attr-defined]
    app.sdpa_cards, app.sdpa_links = {}, {}  # type: ignore[attr-defined]


def collect(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Mark the symbols of a page; remember what it has cards for, and where its links lead."""
    if doctree is None or not isinstance(app.builder, StandaloneHTMLBuilder):
        return
    context["body"] = marked(context["body"], page, glossary(app)[2])
    body, url = context["body"], app.builder.get_target_uri(page)
    found: dict[str, Card] = app.sdpa_cards  # type: ignore[attr-defined]
    found[url] = {"title": plain(context["title"]), "text": context.get("page_description", "")}
    found.update({f"{url}#{at}": card for at, card in cards(body, posixpath.dirname(url))})
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

    def mark(found: re.Match[str]) -> str:
        formula = found[0]
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
        said = SENTENCE.match(plain(first[1])) if first else None
        yield section[1], {"title": plain(section[2]), "text": said[0] if said else ""}
    for at, inside in FIGURE.findall(body):
        told, image = CAPTION.search(inside), IMAGE.search(inside)
        picture = pictured(image[0], folder) if image else {}
        yield at, {"text": plain(told[1] if told else ""), **picture}
    for at, told in TABLE.findall(body):
        yield at, {"text": plain(told)}
    for cited in CITED.findall(body):
        for key in re.findall(r'<span id="([^"]+)">', cited):
            told = PARAGRAPH.search(cited)
            yield key, {"text": plain(told[1], links=True) if told else ""}
    for at, inside in ROW.findall(body):
        claim, verdict = (
            PARAGRAPH.search(inside),
            re.search(r".*(<strong>.*?</strong>)", inside, re.S),
        )
        if claim and verdict:
            yield at, {"text": f"{plain(claim[1])} Verdict: {plain(verdict[1])}"}
    for at, term, told in DEFINED.findall(body):
        if at.startswith("term-"):
            yield at, {"title": plain(term), "text": " ".join(map(plain, PARAGRAPH.findall(told)))}
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

    def kept(tag: re.Match[str]) -> str:
        end, name, attributes = tag.groups()
        if links and name == "a":
            to = re.search(r'href="(https?:[^"]+)"', attributes)
            return "</a>" if end else f'<a href="{to[1]}">' if to else "<a>"
        if name == "math":
            return f"<{end}math>"
        if not KEPT.match(name):
            return ""
        return tag[0] if WITH_ATTRIBUTES.match(name) else f"<{end}{name}>"

    return " ".join(TAG.sub(kept, HEADLINK.sub("", html)).split())


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
