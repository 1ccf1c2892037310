"""Sphinx extension: what the site's search looks in, a script of sections.

It stands in for Sphinx's own index, which knows pages only. A reader looks for the place where a
thing is said, so each section is an entry, and so is each fold that answers what people ask, each
term of a glossary, each symbol of a table of symbols, each row of the ledger and each object of the
reference. A script, and not JSON,
because a page in a folder may load a script and nothing else. Words that mean the same stand in
``search_synonyms.txt``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder

from folds import Fold
from mathml import mathml

SYNONYMS = Path(__file__).with_name("search_synonyms.txt")
CODE = (nodes.literal_block, nodes.doctest_block)
ENTRIES = (nodes.section, nodes.definition_list_item, addnodes.desc)
TAG = re.compile(r"<(style|script|svg)\b.*?</\1>|<td[^>]*>[^A-Za-z<]*</td>|<[^>]+>", re.S)
"""What a reader of HTML does not see, with cells that hold a number, which nobody searches for."""
LAST = ("book/ledger", "book/reference", "book/bibliography")
"""Pages to be looked up in, which hold every word and explain few of them."""
NOTES = "book/notes/"
"""Where the pages are that prove what a chapter explains: the chapter comes first."""
ASKED = "People ask"
"""How the name of a section, or of a fold, begins that answers a question."""
REPEATS = re.compile(
    "Exercise|What to remember|What you will be told|(Break it|The sources|Added|Changed|Fixed)$"
)
"""Headings under which a page comes back to what another section explains."""

Entry = dict[str, str | float]


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", begin)
    app.connect("html-page-context", collect)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": False}  # it collects, page by page


def begin(app: Sphinx) -> None:
    app.sdpa_search_entries = []  # type: ignore[attr-defined]
    if isinstance(app.builder, StandaloneHTMLBuilder):
        app.builder.search = False


def collect(
    app: Sphinx, page: str, _template: str, _context: dict[str, Any], doctree: nodes.document | None
) -> None:
    if doctree is not None:
        found = app.sdpa_search_entries  # type: ignore[attr-defined]
        url = app.builder.get_target_uri(page)
        found.extend(entries(doctree, page, url))


def write(app: Sphinx, exception: Exception | None) -> None:
    if exception is not None or not isinstance(app.builder, StandaloneHTMLBuilder):
        return
    found = {"entries": app.sdpa_search_entries, "synonyms": synonyms()}  # type: ignore[attr-defined]
    data = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    (Path(app.outdir) / "searchindex.js").write_text(
        f"window.SEARCH_INDEX = {data};\n", encoding="utf-8"
    )


def synonyms() -> list[list[str]]:
    """Each line of the file is a group of words that mean the same."""
    lines = SYNONYMS.read_text(encoding="utf-8").splitlines()
    return [
        [word.strip() for word in line.split(",")]
        for line in lines
        if line and not line.startswith("#")
    ]


def entries(document: nodes.document, page: str, url: str) -> Iterator[Entry]:
    """What can be found of a page: its sections, and what has a name within them."""
    weight, first = weight_of(page), document.next_node(nodes.title)
    of_page = text(*first.children) if first is not None else ""

    def entry(anchor: str, heading: str, *content: nodes.Node) -> Entry:
        return {
            "url": f"{url}#{anchor}",
            "page": of_page,
            "heading": heading,
            "text": " ".join(text(*content).split()),
            "cited": " ".join(cited(*content)),
            "weight": weight / 4 if REPEATS.match(heading) else weight,
        }

    for section in document.findall(nodes.section):
        title, *content = section.children
        heading = text(*title.children)
        anchor = section["ids"][0]
        yield entry(anchor, heading, *content)
        for fold in section.findall(Fold):
            name, *answer = fold.children
            if closest_section(fold) is section and name.astext().startswith(ASKED):
                yield entry(anchor, text(*name.children), *answer)
        for item in section.findall(nodes.definition_list_item):
            if closest_section(item) is section:
                term, *definition = item.children
                yield entry(anchor, text(*term.children), *definition)
        for row in section.findall(nodes.row):
            if defines_a_symbol(row) and closest_section(row) is section:
                symbol, *meaning = row.children
                yield entry(anchor, text(*symbol.children).strip(), *meaning)
    for row in document.findall(nodes.row):
        if row["ids"]:
            yield entry(row["ids"][0], row["ids"][0], *row.children)
    for signature in document.findall(addnodes.desc_signature):
        if signature["ids"]:
            yield entry(signature["ids"][0], signature["ids"][0], *signature.parent.children[1:])


def weight_of(page: str) -> float:
    """How much a section of a page counts in the order of what is found."""
    if page in LAST:
        return 0.025
    return 0.5 if page.startswith(NOTES) else 1.0


def defines_a_symbol(row: nodes.row) -> bool:
    head = row.parent.parent.next_node(nodes.thead)
    return head not in (None, row.parent) and head.next_node(nodes.entry).astext() == "Symbol"


def closest_section(node: nodes.Node) -> nodes.Node:
    while not isinstance(node, nodes.section):
        node = node.parent
    return node


def text(*content: nodes.Node) -> str:
    """What a reader sees, formulas as one would type them. Code is left out, and what has an entry
    of its own.
    """
    parts = []
    for node in content:
        if isinstance(node, nodes.Text):
            parts.append(node.astext())
        elif isinstance(node, nodes.math | nodes.math_block):
            parts.append(typed(ElementTree.fromstring(mathml(node.astext(), "inline", node))))
        elif isinstance(node, nodes.raw) and not left_out(node):
            parts.append(TAG.sub(" ", node.astext()))
        elif not left_out(node):
            space = "" if isinstance(node, nodes.Inline) else " "
            parts.append(space + text(*node.children) + space)
    return "".join(parts)


def cited(*content: nodes.Node) -> Iterator[str]:
    """The papers that a reader sees cited, each with its authors and its title, which somebody may
    remember better than what this book says of it.
    """
    for node in content:
        if isinstance(node, nodes.reference) and "bibliography.html#" in node.get("refuri", ""):
            yield node.get("reftitle", "")
        elif not left_out(node):
            yield from cited(*node.children)


def left_out(node: nodes.Node) -> bool:
    return (
        isinstance(node, (*CODE, *ENTRIES, nodes.title))
        or "answering" in getattr(node, "attributes", {}).get("classes", ())
        or (isinstance(node, nodes.row) and (bool(node["ids"]) or defines_a_symbol(node)))
        or (isinstance(node, Fold) and "code" in node["classes"])
    )


def typed(formula: ElementTree.Element) -> str:
    """A formula of MathML in one line.

    Example:
        >>> typed(ElementTree.fromstring("<msqrt><msub><mi>d</mi><mi>k</mi></msub></msqrt>"))
        '√d_k'
    """
    parts = [typed(child) for child in formula]
    tag = formula.tag.rpartition("}")[2]
    if tag == "mrow":  # an index or an exponent ends before the letter that follows it
        parts = [f"{part}\u200b" if "_" in part or "^" in part else part for part in parts]
        return re.sub("\u200b(?!\\w)", "", "".join(parts))
    if tag == "mfrac":
        return f"{bracketed(parts[0])}/{bracketed(parts[1])}"
    if tag == "msqrt":
        return f"√{bracketed(''.join(parts))}"
    if tag in ("msub", "munder"):
        return f"{parts[0]}_{parts[1]}"
    if tag == "mover":  # a bar or a hat
        return parts[0]
    if tag == "msup":
        return f"{parts[0]}^{bracketed(parts[1])}"
    if tag in ("msubsup", "munderover"):
        return f"{parts[0]}_{parts[1]}^{bracketed(parts[2])}"
    if tag in ("mspace", "mtr"):
        return " " + "".join(parts)
    return (formula.text or "").strip() + "".join(parts)


def bracketed(part: str) -> str:
    return part if re.fullmatch(r"√?[\w.]+", part) else f"({part})"
