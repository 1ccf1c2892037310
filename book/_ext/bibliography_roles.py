"""Sphinx extension: a bibliography carries no roles where they are not allowed.

docutils makes it a ``list`` whose entries are ``doc-biblioentry``: a role that ARIA has since
withdrawn, and no list item, so that screen readers announce a list without items.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_node(nodes.citation, override=True, html=(visit_citation, depart_citation))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def visit_citation(translator: HTML5Translator, node: nodes.citation) -> None:
    translator.body.append(translator.starttag(node, "div", CLASS="citation"))


def depart_citation(translator: HTML5Translator, _node: nodes.citation) -> None:
    translator.body.append("</div>\n")
