"""Sphinx extension: a table that is wider than the page scrolls inside itself."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_node(nodes.table, override=True, html=(visit_table, depart_table))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def visit_table(translator: HTML5Translator, node: nodes.table) -> None:
    translator.body.append('<div class="table-wrap">')
    HTML5Translator.visit_table(translator, node)


def depart_table(translator: HTML5Translator, node: nodes.table) -> None:
    HTML5Translator.depart_table(translator, node)
    translator.body.append("</div>\n")
