"""Sphinx extension: a table that is wider than the page scrolls inside itself.

A browser would make a column of text as narrow as its longest word before it lets a table scroll.
So the cells of a column say how long its texts are, and the style sheet gives them a width.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_node(nodes.table, override=True, html=(visit_table, depart_table))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


SENTENCE, PHRASE = 60, 24
"""How many characters a column's longest cell has, at least."""


def visit_table(translator: HTML5Translator, node: nodes.table) -> None:
    rows = [
        [cell for cell in row if isinstance(cell, nodes.entry)] for row in node.findall(nodes.row)
    ]
    for column in zip(*rows, strict=False):
        longest = max(len(cell.astext()) for cell in column)
        kind = "sentence" if longest >= SENTENCE else "phrase" if longest >= PHRASE else None
        for cell in column if kind else ():
            cell["classes"].append(kind)
    translator.body.append('<div class="table-wrap">')
    HTML5Translator.visit_table(translator, node)


def depart_table(translator: HTML5Translator, node: nodes.table) -> None:
    HTML5Translator.depart_table(translator, node)
    translator.body.append("</div>\n")
