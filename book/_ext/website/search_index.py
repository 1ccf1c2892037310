"""Sphinx extension: what the site's search looks in, a script of sections.

It stands in for Sphinx's own index, which knows pages only. A reader looks for the place where a
thing is said, so each section is an entry, and so is each term of a glossary, each symbol of a
table of symbols, each row of the ledger, each paper of the bibliography and each object of the
reference. A section is known by its heading and by its entries of the book's index
(``book_index``).

The script sets one text, which the search's worker reads: a page in a folder may load a script and
nothing else, and a text costs the page nothing. It holds each word once, in the section where it is
said: a list of the sections of each word would be as long again, and the worker makes it in less
time than it takes to load. What proves or records is cut to how it begins. Words that mean the same
stand in ``search_synonyms.txt``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import shorten
from typing import Any, NamedTuple

from docutils import nodes
from pybtex.richtext import Text
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder

from cells.node_text import defines_a_symbol, text
from website.citations import authors

SYNONYMS = Path(__file__).with_name("search_synonyms.txt")
EXPLAINS, DEFINES, REPEATS, LOOKED_UP = 0, 0.5, 1, 2
"""How far a place is from the explanation of a thing: it is there; it is a term or a symbol that is
defined there, in so few words that each counts much; it is repeated or proved there; or it is a
record that is looked up by its name."""
RECORDS = ("book/ledger", "book/reference", "book/bibliography", "book/about")
PROOFS = "book/notes/"
LENGTH = {EXPLAINS: 100_000, DEFINES: 220, REPEATS: 80, LOOKED_UP: 60}
"""How many characters of a text are kept: all; a definition; how it begins; a sentence. A page has
all of it within 120 KB, compressed, with what finds it."""
INTERNAL = "sdpa_book."
"""How the names of objects begin that the search does not know, and of modules of which it knows no
more than the name."""
COMES_BACK = re.compile(
    "Exercise|What (to remember|you will be told|people ask)"
    "|(Break it|The sources|Added|Changed|Fixed)$"
)
"""Headings under which a page comes back to what another section explains, or lists what its own
sections do."""


class Entry(NamedTuple):
    page: int
    anchor: str
    heading: str  # nothing if it is the anchor
    terms: list[str]
    text: str
    distance: float


class Page(NamedTuple):
    url: str
    title: str


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", begin)
    app.connect("html-page-context", collect)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": False}  # it collects, page by page


def begin(app: Sphinx) -> None:
    app.sdpa_search = {"pages": [], "entries": []}  # type: ignore[attr-defined]
    app.sdpa_papers = papers(app)  # type: ignore[attr-defined]  # once: it reads every title's LaTeX
    if isinstance(app.builder, StandaloneHTMLBuilder):
        app.builder.search = False


def collect(
    app: Sphinx, page: str, _template: str, _context: dict[str, Any], doctree: nodes.document | None
) -> None:
    if doctree is not None:
        search, named = app.sdpa_search, app.sdpa_papers  # type: ignore[attr-defined]
        title = doctree.next_node(nodes.title)
        of_page = "" if title is None else text(*title.children)
        for entry in entries(doctree, page, len(search["pages"])):
            name = named.get(entry.anchor, entry.heading)
            search["entries"].append(entry._replace(heading="" if name == entry.anchor else name))
        search["pages"].append(Page(app.builder.get_target_uri(page), of_page))


def papers(app: Sphinx) -> dict[str, str]:
    """What a paper of the bibliography is called, by its key."""
    if "cite" not in app.env.domains:
        return {}
    known = app.env.get_domain("cite").bibdata.data.entries  # type: ignore[attr-defined]
    return {
        key: f"{authors(paper)}: {Text.from_latex(paper.fields['title'])}"
        for key, paper in known.items()
        if paper.persons
    }


def write(app: Sphinx, exception: Exception | None) -> None:
    if exception is not None or not isinstance(app.builder, StandaloneHTMLBuilder):
        return
    search = {**app.sdpa_search, "synonyms": synonyms()}  # type: ignore[attr-defined]
    data = json.dumps(search, ensure_ascii=False, separators=(",", ":"))
    (Path(app.outdir) / "searchindex.js").write_text(
        f"window.SEARCH_INDEX = {json.dumps(data, ensure_ascii=False)};\n", encoding="utf-8"
    )


def synonyms() -> list[list[str]]:
    """Each line of the file is a group of words that mean the same."""
    lines = SYNONYMS.read_text(encoding="utf-8").splitlines()
    return [
        [word.strip() for word in line.split(",")]
        for line in lines
        if line and not line.startswith("#")
    ]


def entries(document: nodes.document, page: str, number: int) -> Iterator[Entry]:
    """What can be found of a page: its sections, and what has a name within them."""

    def entry(
        anchor: str,
        heading: str,
        *content: nodes.Node,
        terms: Any = (),
        at_least: float = EXPLAINS,
    ) -> Entry:
        again = REPEATS if COMES_BACK.match(heading) else EXPLAINS
        far = max(distance(page), again, at_least)
        words = shorten(" ".join(text(*content).split()), LENGTH[far], placeholder="")
        if heading.startswith(INTERNAL):
            words = ""
        return Entry(number, anchor, heading.strip(), list(terms), words, far)

    for section in document.findall(nodes.section):
        title, *content = section.children
        heading = text(*title.children)
        anchor = section["ids"][0]
        yield entry(anchor, heading, *content, terms=terms_of(section))
        for item in section.findall(nodes.definition_list_item):
            if closest_section(item) is section:
                term, *definition = item.children
                defined = text(*term.children)
                yield entry(target(term) or anchor, defined, *definition, at_least=DEFINES)
        for row in section.findall(nodes.row):
            if defines_a_symbol(row) and closest_section(row) is section:
                symbol, *meaning = row.children
                defined = text(*symbol.children)
                yield entry(target(row) or anchor, defined, *meaning, at_least=DEFINES)
    for row in document.findall(nodes.row):
        if row["ids"] and not defines_a_symbol(row):
            yield entry(row["ids"][0], row["ids"][0], *row.children)
    for signature in document.findall(addnodes.desc_signature):
        if signature["ids"] and not signature["ids"][0].startswith(INTERNAL):
            yield entry(signature["ids"][0], signature["ids"][0], *signature.parent.children[1:])
    for paper in document.findall(nodes.citation):
        yield entry(paper["ids"][-1], paper["ids"][-1])


def target(node: Any) -> str:
    """The id by which a link lands on a node."""
    return str(next(iter(node["ids"]), ""))


def terms_of(section: nodes.section) -> list[str]:
    """The entries of the book's index in a section: of a reference from one word to another, the
    word that is looked up.
    """
    terms = []
    for index in section.findall(addnodes.index):
        if closest_section(index) is section and "named" not in index:
            for kind, value, *_ in index["entries"]:
                parts = [part.strip() for part in value.split(";")]
                terms.append(parts[0] if kind.startswith("see") else " ".join(parts))
    return terms


def distance(page: str) -> float:
    """How far the sections of a page are from explaining a thing."""
    if any(page == record or page.startswith(f"{record}/") for record in RECORDS):
        return LOOKED_UP
    return REPEATS if page.startswith(PROOFS) else EXPLAINS


def closest_section(node: nodes.Node) -> nodes.Node:
    while not isinstance(node, nodes.section):
        node = node.parent
    return node
