"""Sphinx extension: the book's index.

A notebook holds no directive, so that the entries of its sections stand in the metadata of the cell
that has the heading, as ``{"index": {"The heading": ["softmax; saturation"]}}``, by the rules of
Sphinx's ``index`` directive, which other pages use; an entry without a kind is a ``single`` one.
Each term of a list of definitions and each symbol of a table of symbols is an entry by itself, and
gets an id, so that a link lands on it. What the reference documents is left out: that page is in
the order of the alphabet anyway.

The page of the index says of each entry in which chapters it stands.
"""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

from cells.chapter_numbers import number_of
from cells.node_text import defines_a_symbol, text

INDEX = re.compile(r"(?<![\w&.])([A-Za-zκσ])_([A-Za-z]\w*)")
KINDS = ("single:", "pair:", "see:", "seealso:")

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_transform(AddEntries)
    app.connect("html-page-context", show)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class AddEntries(SphinxTransform):
    default_priority = 690  # before a title has its number

    def apply(self, **_kwargs: Any) -> None:
        objects = self.document.findall(addnodes.desc_signature)
        documented = {name for signature in objects for name in signature["ids"]}
        for index in list(self.document.findall(addnodes.index)):
            targets = [target for _, _, target, *_ in index["entries"]]
            if documented.issuperset(targets) or targets[0].startswith("module-"):
                index.parent.remove(index)
        for item in list(self.document.findall(nodes.definition_list_item)):
            self.name(item.next_node(nodes.term), "term", [spoken(item.next_node(nodes.term))])
        for row in self.document.findall(nodes.row):
            if defines_a_symbol(row):
                symbols = spoken(row.next_node(nodes.entry))
                self.name(row, "symbol", symbols.split(", "))
        if self.env.doc2path(self.env.docname).endswith(".ipynb"):
            self.of_notebook()

    def of_notebook(self) -> None:
        """The entries of a notebook's cells, in the sections that have the headings."""
        file = Path(self.env.doc2path(self.env.docname))
        notebook = json.loads(file.read_text(encoding="utf-8"))
        titles = {plain(title.astext()): title for title in self.document.findall(nodes.title)}
        for cell in notebook["cells"]:
            for heading, entries in cell["metadata"].get("index", {}).items():
                title = titles.get(plain(heading))
                if title is None:
                    logger.warning("no heading %r, which has entries of the index", heading)
                else:
                    parts = [parsed(entry, title.parent["ids"][0]) for entry in entries]
                    title.parent.insert(1, addnodes.index(entries=parts))

    def name(self, node: nodes.Element, kind: str, names: list[str]) -> None:
        """Give a term or a symbol an id, and an entry of the index, in which it is the main one."""
        target = nodes.make_id(f"{kind}-{names[0]}")
        while target in self.document.ids:
            target += "-2"
        node["ids"].append(target)
        self.document.ids[target] = node
        entries = [parsed(name, target, main="main") for name in names]
        place = node.next_node(nodes.paragraph) if kind == "symbol" else node
        place.append(addnodes.index(entries=entries, named=True))


def parsed(entry: str, target: str, main: str = "") -> tuple[str, str, str, str, None]:
    """An entry as Sphinx has it.

    Example:
        >>> parsed("softmax; saturation", "top")
        ('single', 'softmax; saturation', 'top', '', None)
        >>> parsed("see: logit; score", "top")[:2]
        ('see', 'logit; score')
    """
    kind = next((kind for kind in KINDS if entry.startswith(kind)), "")
    return (kind.rstrip(":") or "single", entry.removeprefix(kind).strip(), target, main, None)


def spoken(node: nodes.Element) -> str:
    """A term in one line, formulas as one would type them, without what defines it: its symbol, or
    what stands behind an equals sign. Within a sentence it has no capital.
    """
    bold = node.next_node(nodes.strong)
    name = bold.astext() if bold else re.split(r"\s?=", text(*node.children))[0].strip()
    return name[0].lower() + name[1:] if name[1:2].islower() else name


def plain(heading: str) -> str:
    """A heading by which its source and its text are the same."""
    return re.sub(r"[^\w]|_", "", heading).lower()


def show(
    _app: Sphinx, page: str, _template: str, context: dict[str, Any], _tree: nodes.document | None
) -> None:
    if page == "genindex":
        context["chapter_of"] = chapter_of
        context["typeset"] = typeset


def chapter_of(link: str) -> str:
    """What a reader calls the page to which a link of the index leads.

    Example:
        >>> chapter_of("book/04_softmax.html#top"), chapter_of("book/notes/b_depth.html#top")
        ('4', 'notes B')
        >>> chapter_of("book/notation.html#term-logit"), chapter_of("book/people_ask.html#mla")
        ('notation', 'people ask')
    """
    page = link.partition(".html")[0]
    number = number_of(page)
    if number is None:
        return page.rpartition("/")[2].replace("_", " ")
    return number.replace("N", "notes ") if number != "0" else "start"


def typeset(name: str) -> str:
    """An entry as HTML, the symbols in it with their indices.

    Example:
        >>> typeset("d_k; and nn.Linear & more")
        '<i>d</i><sub>k</sub>; and nn.Linear &amp; more'
    """
    return INDEX.sub(r"<i>\1</i><sub>\2</sub>", escape(name))
