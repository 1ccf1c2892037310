"""Sphinx extension: a bibliography carries no roles where they are not allowed.

docutils makes it a ``list`` whose entries are ``doc-biblioentry``: a role that ARIA has since
withdrawn, and no list item, so that screen readers announce a list without items.

pybtex sorts the names of teams, which stand in braces, behind all others, and writes out the
mathematics in titles.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from pybtex.database import Person
from pybtex.plugin import register_plugin
from pybtex.style.formatting import alpha
from pybtex.style.sorting import author_year_title
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.writers.html5 import HTML5Translator

from ledger_table import written

WRITTEN_OUT = re.compile(r"sqrt\(d_k\)|\bl_p\b")


def setup(app: Sphinx) -> dict[str, Any]:
    register_plugin("pybtex.style.formatting", "by_author", ByAuthor)
    app.add_post_transform(SetTitles)
    app.add_node(nodes.citation, override=True, html=(visit_citation, depart_citation))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class Names(author_year_title.SortingStyle):  # type: ignore[misc]
    """By author, a team's name among them as it is written."""

    def person_key(self, person: Person) -> str:
        return re.sub("[{}]", "", super().person_key(person))


class ByAuthor(alpha.Style):  # type: ignore[misc]
    default_sorting_style = Names


class SetTitles(SphinxPostTransform):
    """Sets the mathematics that titles write out."""

    default_priority = 10  # after the bibliography's entries are there

    def run(self, **_options: Any) -> None:
        for citation in self.document.findall(nodes.citation):
            for text in list(citation.findall(nodes.Text)):
                if WRITTEN_OUT.search(text):
                    text.parent.replace(text, written(text.astext()))


def visit_citation(translator: HTML5Translator, node: nodes.citation) -> None:
    translator.body.append(translator.starttag(node, "div", CLASS="citation"))


def depart_citation(translator: HTML5Translator, _node: nodes.citation) -> None:
    translator.body.append("</div>\n")
