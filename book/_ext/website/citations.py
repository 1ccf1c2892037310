"""Sphinx extension: a citation is a link to the bibliography.

``[Nair (2025)](bibliography.md#nair2025)`` or ``[[Nair, 2025](bibliography.md#nair2025)]`` is read
by people who open a notebook as it is; here the link leads to the entry, and its text is compared
with the authors and the year of ``references.bib``.

The bibliography carries no roles where they are not allowed: docutils makes it a ``list`` whose
entries are ``doc-biblioentry``, a role that ARIA has since withdrawn, and no list item, so that
screen readers announce a list without items. pybtex sorts the names of teams, which stand in
braces, behind all others, and writes out the mathematics in titles.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from pybtex.database import Entry, Person
from pybtex.plugin import register_plugin
from pybtex.richtext import Text
from pybtex.style.formatting import alpha
from pybtex.style.sorting import author_year_title
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

from cells.ledger_table import written

WRITTEN_OUT = re.compile(r"sqrt\(d_k\)|\bl_p\b")
PAGE = "bibliography"

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    register_plugin("pybtex.style.formatting", "by_author", ByAuthor)
    app.connect("doctree-read", compare)
    app.add_post_transform(SetEntries)
    app.add_node(nodes.citation, override=True, html=(visit_citation, depart_citation))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class Names(author_year_title.SortingStyle):  # type: ignore[misc]
    """By author, a team's name among them as it is written."""

    def person_key(self, person: Person) -> str:
        return re.sub("[{}]", "", super().person_key(person))


class ByAuthor(alpha.Style):  # type: ignore[misc]
    default_sorting_style = Names


def authors(entry: Entry) -> str:
    """Those of a paper as a text names them: one, two, or the first et al."""
    names = [
        str(Text.from_latex(" ".join(person.prelast_names + person.last_names)))
        for person in entry.persons["author"]
    ]
    return " and ".join(names) if len(names) < 3 else f"{names[0]} et al."


def compare(app: Sphinx, doctree: nodes.document) -> None:
    """Warn of a citation that names others than its entry does, or leads to none; and let MyST,
    which resolves a link into another document by a list of its headings, find the entries.
    """
    entries = app.env.get_domain("cite").bibdata.data.entries  # type: ignore[attr-defined]
    if app.env.docname.rpartition("/")[2] == PAGE:
        slugs = app.env.metadata[app.env.docname].setdefault("myst_slugs", {})
        slugs.update({key: (0, key, key) for key in entries})
    for link in doctree.findall(addnodes.pending_xref):
        key, page = link.get("reftargetid"), link.get("reftarget", "").rpartition("/")[2]
        if page != PAGE or key is None:
            continue
        if key not in entries:
            logger.warning("nothing in references.bib is called %s", key, location=link)
            continue
        who, year = authors(entries[key]), entries[key].fields.get("year")
        expected = (f"{who} ({year})", f"{who}, {year}") if year else (who,)
        if link.astext().replace("\u00a0", " ") not in expected:
            logger.warning(
                "a citation of %s reads %s; this one reads: %s",
                key,
                " or ".join(expected),
                link.astext(),
                location=link,
            )


class SetEntries(SphinxPostTransform):
    """Gives entries their keys as addresses and citations what their entries say, and sets the
    mathematics that titles write out. A citation by role loses its address, to which nothing leads:
    each docstring of a page counts its own from 1.
    """

    default_priority = 10  # after the bibliography's entries are there

    def run(self, **_options: Any) -> None:
        domain: Any = self.env.get_domain("cite")
        keys = {citation.citation_id: citation.key for citation in domain.citations}
        texts = {one.key: one.tooltip_entry.text for one in domain.citations if one.tooltip_entry}
        for link in self.document.findall(nodes.reference):
            page, _, key = link.get("refuri", "").partition(f"{PAGE}.html#")
            if key in texts and not page.startswith("http"):
                link["reftitle"] = texts[key].render_as("plaintext")
        for cited in self.document.findall(nodes.inline):
            if "bibtex-citation" in cited["classes"]:
                cited["ids"] = []
        for citation in self.document.findall(nodes.citation):
            citation["ids"] += [keys[name] for name in citation["ids"] if name in keys]
            for text in list(citation.findall(nodes.Text)):
                if WRITTEN_OUT.search(text):
                    text.parent.replace(text, written(text.astext()))


def visit_citation(translator: HTML5Translator, node: nodes.citation) -> None:
    translator.body.append(translator.starttag(node, "div", CLASS="citation"))


def depart_citation(translator: HTML5Translator, _node: nodes.citation) -> None:
    translator.body.append("</div>\n")
