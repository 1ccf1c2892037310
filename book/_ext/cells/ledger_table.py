"""Sphinx extension: ``{ledger-table}`` stands for the ledger, as the package's record has it.

Each row is a target. A chapter links to it as [S1-04](ledger.ipynb#S1-04), which a notebook editor
follows, too. Rows link to each other and to chapters, and Sphinx warns of every link that is dead.
Radio buttons choose rows by source and verdict: the style sheet compares their values with the
classes of rows, so that no script is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from docutils import nodes
from sdpa_book.ledger import RECORD, Entry, Verdict, load_record
from sdpa_book.writing.names import display_name
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from cells.chapter_numbers import number_of
from cells.table_names import typeset
from cells.unbroken import unbroken

ROW = re.compile(r"\b(S\d-\d+)\b")
PER_CENT = re.compile(r"(?<=\d)%")
SET = re.compile(r"<(i|sub|sup)>(.*?)</\1>")
KINDS = {"i": nodes.emphasis, "sub": nodes.subscript, "sup": nodes.superscript}
HEADINGS = {"Claim": 27, "The source": 22, "Computed": 16, "Verdict": 35}
"""And how wide each column is, in per cent."""
ORDER = (Verdict.WRONG, Verdict.ROUGH, Verdict.HOLDS_IF, Verdict.HOLDS, Verdict.NOT_TESTABLE)
"""The rows' order, for readers who look first for what does not simply hold."""


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("ledger-table", LedgerTable)
    app.connect("doctree-read", name_rows)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class LedgerTable(SphinxDirective):
    """The whole ledger. Its content is for editors that don't know the directive."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(RECORD))
        ledger = load_record()
        sources = {key: key for key in ledger.sources}
        verdicts = {verdict.name.lower(): verdict.value for verdict in Verdict}
        filters = choices("source", sources) + choices("verdict", verdicts)
        entries = sorted(ledger.entries, key=lambda entry: ORDER.index(entry.verdict))
        body = nodes.tbody("", *(self.row(entry) for entry in entries))
        head = nodes.thead("", nodes.row("", *(cell([nodes.Text(name)]) for name in HEADINGS)))
        columns = [nodes.colspec(colwidth=width) for width in HEADINGS.values()]
        columns[0]["stub"] = 1
        table = nodes.table("", nodes.tgroup("", *columns, head, body, cols=len(HEADINGS)))
        count = nodes.paragraph(classes=["ledger-count"])
        raw = nodes.raw("", filters, format="html")
        return [nodes.container("", raw, table, count, classes=["ledger"])]

    def row(self, entry: Entry) -> nodes.row:
        claim = entry.claim
        row = nodes.row(
            ids=[claim.id],
            names=[nodes.fully_normalize_name(claim.id)],
            classes=[claim.source, entry.verdict.name.lower()],
        )
        self.state.document.note_explicit_target(row)
        section = f"section {claim.section}" if claim.section[0].isdigit() else claim.section
        says, measure = entry.says, claim.measure
        if entry.finding is None:
            source = cell([])
        elif claim.in_words:
            source = cell([], written(f"no figure; read as: {measure}. Expected: {says}"))
        else:
            source = cell(written(says), written(measure))
        assumption = f" {claim.holds_if}" if entry.verdict is Verdict.HOLDS_IF else ""
        row += [
            cell([self.link(claim.id), *written(f" {claim.claim}")], written(section)),
            source,
            cell(written(entry.ours)),
            cell(
                [nodes.strong("", entry.verdict.value), *written(assumption)],
                [*self.linked(entry.why), nodes.Text(" "), self.chapter(claim.chapter)],
            ),
        ]
        return row

    def linked(self, text: str) -> Iterable[nodes.Node]:
        """A text in which the ids of rows are links to them."""
        for part in ROW.split(text):
            if ROW.fullmatch(part):
                yield self.link(part)
            else:
                yield from written(part)

    def link(self, name: str) -> nodes.reference:
        """To a row; docutils warns if there is none of this name."""
        link = nodes.reference("", name, refname=nodes.fully_normalize_name(name))
        self.state.document.note_refname(link)
        return link

    def chapter(self, page: str) -> addnodes.pending_xref:
        """To a chapter, an article or notes; Sphinx warns if there is none of this name."""
        number = number_of(f"/{page}") or ""
        kind = "notes" if number.startswith("N") else "article" if number.isalpha() else "chapter"
        name = "the start" if number == "0" else f"{kind}\u00a0{number.removeprefix('N')}"
        return addnodes.pending_xref(
            "",
            nodes.inline("", name),
            refdomain="std",
            reftype="doc",
            reftarget=page,
            refdoc=self.env.docname,
            refexplicit=True,
            refwarn=True,
        )


def written(text: str) -> list[nodes.Node]:
    """A text with indices, exponents and minus signs, as in the tables of the chapters, and numbers
    that do not part. Columns are narrow: a line may end before a ±.
    """
    text = text.replace("sqrt(d_k)", display_name("sqrt_d_k"))
    text = unbroken(typeset(PER_CENT.sub(" %", text))).replace("\u00a0±", " ±")
    parts = SET.split(text)
    pieces: list[nodes.Node] = [nodes.Text(parts[0])] if parts[0] else []
    for kind, inner, after in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        pieces += [KINDS[kind]("", inner), nodes.Text(after)]
    return pieces


def cell(text: list[nodes.Node], note: list[nodes.Node] | None = None) -> nodes.entry:
    """A cell of a text and, below it, a note in small print."""
    paragraphs = [nodes.paragraph("", "", *text)] if text else []
    if note:
        paragraphs.append(nodes.paragraph("", "", *note, classes=["note"]))
    return nodes.entry("", *paragraphs)


def choices(name: str, labels: Mapping[str, str]) -> str:
    """A group of radio buttons, the first of which chooses all."""
    buttons = "".join(
        f'<label><input type="radio" name="ledger-{name}" value="{value}"'
        f"{' checked' if value == 'all' else ''}> {escape(label)}</label>"
        for value, label in {"all": "all", **labels}.items()
    )
    return f"<fieldset><legend>{name.capitalize()}</legend>{buttons}</fieldset>"


def name_rows(app: Sphinx, doctree: nodes.document) -> None:
    """MyST resolves a link into another document by this list, which has only headings."""
    slugs = app.env.metadata[app.env.docname].setdefault("myst_slugs", {})
    for row in doctree.findall(nodes.row):
        slugs.update({name: (0, name, name) for name in row["ids"]})
