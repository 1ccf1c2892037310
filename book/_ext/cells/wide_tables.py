"""Sphinx extension: a table that is wider than the page scrolls inside itself.

A browser would make a column of text as narrow as its longest word before it lets a table scroll.
So the cells of a column say how long its texts are, and the style sheet gives them a width. On a
phone the first column stays where it is while the others scroll; but a table that is mostly text
would hide what it says there. It becomes cards, one per row, in which each cell is named by the
head of its column.
"""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from cells.node_text import text


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_node(nodes.table, override=True, html=(visit_table, depart_table))
    app.add_node(nodes.entry, override=True, html=(visit_entry, HTML5Translator.depart_entry))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


SENTENCE, PHRASE = 60, 24
"""How many characters a column's longest cell has, at least."""


def visit_table(translator: HTML5Translator, node: nodes.table) -> None:
    rows = [
        [cell for cell in row if isinstance(cell, nodes.entry)] for row in node.findall(nodes.row)
    ]
    kinds = []
    for column in zip(*rows, strict=False):
        longest = max(len(cell.astext()) for cell in column)
        kind = "sentence" if longest >= SENTENCE else "phrase" if longest >= PHRASE else None
        kinds.append(kind)
        for cell in column if kind else ():
            cell["classes"].append(kind)
    has_own_cards = "ledger" in node.parent.get("classes", ())
    if is_mostly_text(kinds) and not has_own_cards:
        heads = [label(" ".join(text(*cell.children).split())) for cell in rows[0]]
        for row in rows[1:]:
            for head, cell in zip(heads, row, strict=False):
                cell["head"] = head
        translator.body.append('<div class="table-wrap cards">')
    else:
        translator.body.append('<div class="table-wrap">')
    HTML5Translator.visit_table(translator, node)


def label(head: str) -> str:
    return head if head.endswith("?") else f"{head}:"


def is_mostly_text(kinds: list[str | None]) -> bool:
    """Whether of at least three columns two behind the first are phrases, or one is sentences."""
    behind = kinds[1:]
    return len(behind) > 1 and ("sentence" in behind or behind.count("phrase") > 1)


def visit_entry(translator: HTML5Translator, node: nodes.entry) -> None:
    place = len(translator.body)
    HTML5Translator.visit_entry(translator, node)
    if "head" in node:
        tag = translator.body[place]
        name, _, rest = tag.partition(" ") if " " in tag else (tag[:3], "", tag[3:])
        translator.body[place] = f'{name} data-head="{escape(node["head"])}" {rest}'


def depart_table(translator: HTML5Translator, node: nodes.table) -> None:
    HTML5Translator.depart_table(translator, node)
    translator.body.append("</div>\n")
