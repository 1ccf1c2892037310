"""Sphinx extension: the first occurrence of each term of Notation on a page becomes a link to it,
and so does a figure or a table that the prose names by its number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

from cells.chapter_numbers import number_of
from cells.folds import Fold
from cells.mathml import mathml
from cells.node_text import defines_a_symbol

PAGE = "notation"
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
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def begin(app: Sphinx) -> None:
    app.sdpa_glossary = None  # type: ignore[attr-defined]


def is_glossary(page: str) -> bool:
    return page.rpartition("/")[2] == PAGE


def name_of(term: nodes.Element) -> str:
    """A term within a sentence: of one with capitals in it, as it stands."""
    bold = term.next_node(nodes.strong)
    name = bold.astext() if bold else next(symbols_in(term), "")
    return name if re.search(r".[A-Z]", name) else name.lower()


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
        terms, symbols = addresses(app.env.get_doctree(page)) if page else ({}, {})
        app.sdpa_glossary = page, terms, symbols  # type: ignore[attr-defined]
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

    def replaced(
        self,
        pattern: re.Pattern[str],
        text: nodes.Text,
        replacement: Callable[[re.Match[str]], Iterable[nodes.Node]],
    ) -> list[nodes.Node]:
        """Put the ``replacement`` of each match into its place."""
        parts: list[nodes.Node] = []
        whole, end = text.astext(), 0
        for match in pattern.finditer(whole):
            parts += [nodes.Text(whole[end : match.start()]), *replacement(match)]
            end = match.end()
        if not parts:
            return [text]
        parts.append(nodes.Text(whole[end:]))
        parts = [part for part in parts if part.astext()]
        text.parent.replace(text, parts)
        return parts

    def numbered(self, named: re.Match[str]) -> Iterator[nodes.Node]:
        pages = {number_of(page): page for page in self.env.found_docs}
        end = named.start()
        for one in ONE.finditer(named.string, named.start(), named.end()):
            if between := named.string[end : one.start()]:
                yield nodes.Text(between)
            chapter = one[1].partition(".")[0]
            address = f"{named[1]}-{one[1].replace('.', '-')}".lower()
            if chapter in pages:
                yield self.link(one[0], f"{pages[chapter]}#{address}", "named")
            else:
                logger.warning(
                    "there is no page for the %s that is named here: %s",
                    named[1].lower(),
                    one[0],
                    location=self.env.docname,
                )
                yield nodes.Text(one[0])
            end = one.end()

    def link_terms(self, text: nodes.Text) -> None:
        if not self.wanted:
            return
        names = "|".join(map(re.escape, sorted(self.wanted, key=len, reverse=True)))
        term = re.search(rf"(?<![\w-])({names})(?![\w-])", text.astext(), re.I)
        if term is None:
            return
        name = next(name for name in self.wanted if name.lower() == term[1].lower())
        at = self.wanted[name]
        once = re.compile(re.escape(text.astext()[: term.end()]))
        before = text.astext()[: term.start()]

        def with_link(_match: re.Match[str]) -> list[nodes.Node]:
            return [nodes.Text(before), self.link(term[1], at, "term")]

        parts = self.replaced(once, text, with_link)
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
