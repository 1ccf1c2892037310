"""Sphinx extension of the lecture: its slides show what the chapters hold, and type none of it.

- ``{shown} 05 late`` is what a cell puts out: a figure, a table, a print, or a figure to move; of
  a text cell its table.
- ``{poll} 04`` is the chapter's Predict box, a step for each question and each answer.
- ``{box} 05 What we do not know`` is another box.
- The role ``{number}`` is a number that a cell has put out; ``stored.number`` says how it is named.
- ``{notes} 3`` is what the presenter says in three minutes. Each slide has some, and together they
  are ``lecture_minutes``.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx_revealjs.nodes import revealjs_section

import stored
from explorable import SHOWN
from figures import NARROW
from predictions import RIGHT
from table_names import table, typeset

FIGURES = "figures"
HANDS = (
    "Hands for each option, a minute with the neighbour, and hands again; the next step marks the "
    "right one: {}."
)

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("lecture_minutes", 90, "env")
    app.add_node(notes, revealjs=(visit_notes, depart_notes))
    for name, directive in {"shown": Shown, "poll": Poll, "box": Box, "notes": Notes}.items():
        app.add_directive(name, directive)
    app.add_role("number", number)
    app.connect("doctree-read", set_times)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class notes(nodes.General, nodes.Element):
    """What the presenter reads, and the audience does not."""


def visit_notes(translator: Any, _node: notes) -> None:
    translator.body.append('<aside class="notes">')


def depart_notes(translator: Any, _node: notes) -> None:
    translator.body.append("</aside>\n")


def raw(html: str) -> nodes.raw:
    return nodes.raw("", html, format="html")


class Slide(SphinxDirective):
    """A directive whose first argument is a chapter."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        try:
            chapter, _, rest = self.arguments[0].partition(" ")
            return [*self.show(chapter, rest), self.source(chapter)]
        except LookupError as error:
            raise self.error(str(error)) from error

    def show(self, chapter: str, rest: str) -> list[nodes.Node]:
        raise NotImplementedError

    def source(self, chapter: str) -> nodes.raw:
        name = f"chapter {int(chapter)}" if chapter.isdigit() else f"study {chapter.upper()}"
        name = name if chapter != "00" else "the first page"
        return raw(f'<p class="from"><a href="{stored.address(chapter)}">{name}</a></p>')

    def parsed(self, markdown: str) -> list[nodes.Node]:
        around = nodes.Element()
        self.state.nested_parse(StringList(markdown.splitlines()), 0, around)
        return around.children


class Shown(Slide):
    def show(self, chapter: str, rest: str) -> list[nodes.Node]:
        cell = stored.cell(chapter, rest)
        if cell.cell_type == "markdown":
            rows = re.search(r"(?:^\|.*\n?)+", cell.source, re.M)
            if rows is None:
                raise LookupError(f"the text {rest} of {chapter} has no table")
            return self.parsed(stored.relinked(rows[0], chapter))
        said = [self.caption(cell)] if "caption" in cell.metadata else []
        if drawing := stored.data(cell, "image/svg+xml"):
            return [self.picture(chapter, cell, drawing), *said]
        if html := stored.data(cell, "text/html"):
            return [raw(table(html)), *said]
        if printed := stored.data(cell, "stream"):
            return [raw(f"<pre>{escape(printed.strip())}</pre>"), *said]
        raise LookupError(f"the cell {rest} of {chapter} shows nothing")

    def caption(self, cell: Any) -> notes:
        told = typeset(escape(cell.metadata["caption"], quote=False))
        return notes("", raw(f"<p><em>Its caption: {told}</em></p>"))

    def picture(self, chapter: str, cell: Any, drawing: str) -> nodes.raw:
        """An image; of a figure to move the figure, and the image on paper."""
        file = f"{FIGURES}/{chapter}-{cell.id}.svg"
        folder = Path(self.env.app.outdir, FIGURES)
        folder.mkdir(parents=True, exist_ok=True)
        Path(self.env.app.outdir, file).write_text(NARROW.sub("", drawing), encoding="utf-8")
        movable = SHOWN.search(cell.source)
        alt = cell.metadata["caption" if movable else "mystnb"]
        alt = escape(alt if movable else alt["image"]["alt"])
        image = f'<img class="picture" src="{file}" alt="{alt}">'
        if not movable:
            return raw(image)
        page = f"../explore/{movable[1]}.html?theme=light&amp;slide"
        return raw(
            f'<iframe class="movable" data-src="{page}" '
            f'title="A figure to move: {alt}"></iframe>{image}'
        )


class Poll(Slide):
    """A Predict box. An option that is right is marked a step after its question."""

    def show(self, chapter: str, rest: str) -> list[nodes.Node]:
        text = stored.quotation(chapter, "Predict")
        asked = re.findall(r"((?:^(?!- |\().+\n+)+)((?:^- .+\n?)+)", text, re.M)
        if not asked:
            raise LookupError(f"the Predict box of {chapter} has no options")
        shown: list[nodes.Node] = []
        right = []
        for place, (question, options) in enumerate(asked):
            listed = options.strip().removeprefix("- ").split("\n- ")
            items = ""
            for letter, option in zip("ABCDEF", listed, strict=False):
                text = escape(option.replace(RIGHT, "").strip())
                if RIGHT in option:
                    right.append(letter)
                    items += f'<li class="fragment custom right">{text}</li>'
                else:
                    items += f"<li>{text}</li>"
            step = ["fragment"] if place else []
            asking = nodes.container("", *self.parsed(question), classes=["question", *step])
            asking.append(raw(f'<ol type="A">{items}</ol>'))
            shown.append(asking)
        hands = HANDS.format(", then ".join(right))
        return [*shown, notes("", raw(f"<p><em>{hands}</em></p>"))]


class Box(Slide):
    def show(self, chapter: str, rest: str) -> list[nodes.Node]:
        return self.parsed(stored.quotation(chapter, rest))


class Notes(SphinxDirective):
    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        made = notes(minutes=int(self.arguments[0]))
        self.state.nested_parse(self.content, self.content_offset, made)
        return [made]


def number(
    _name: str, _text: str, reference: str, line: int, inliner: Any, *_rest: Any
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    try:
        return [raw(f"<b>{typeset(stored.number(reference))}</b>")], []
    except LookupError as error:
        return [], [inliner.reporter.error(str(error), line=line)]


def set_times(app: Sphinx, document: nodes.document) -> None:
    """Say when each slide begins and ends; the presenter's view counts the time that it has."""
    clock = 0
    for section in document.findall(nodes.section):
        timed = [part for part in section.children if isinstance(part, notes) and "minutes" in part]
        if len(timed) != 1:
            logger.warning("a slide has one {notes}, this one %d", len(timed), location=section)
            continue
        minutes = timed[0]["minutes"]
        until = clock + minutes
        timed[0].insert(0, raw(f"<p><b>Minutes {clock} to {until}</b></p>"))
        section.append(revealjs_section(**{"data-timing": 60 * minutes}))
        clock = until
    if clock != app.config.lecture_minutes:
        logger.warning("the slides take %d minutes, not %d", clock, app.config.lecture_minutes)
