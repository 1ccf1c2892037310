"""Sphinx extension of the lecture: its slides show what the chapters hold, and type none of it.

- ``{shown} 05 late`` is what a cell puts out: a figure, a table, a print, or a figure to move; of
  a text cell its table. ``:heads:`` says a table's headings for those who see nothing else;
  ``:crop:`` the part of a drawing that is shown, ``:letters:`` how many times as large its are.
- ``{poll} 04`` is the chapter's Predict box, a step for each question and each answer, or the one
  question of it that ``:only:`` counts. With ``:talk:`` neighbours talk between shows of hands.
- ``{box} 05 What we do not know`` is another box, ``{source} 05`` says whose the numbers are.
- The role ``{number}`` is a number that a cell has put out; ``stored.number`` says how it is named.
- ``{part} 2`` marks where the second of ``lecture_parts`` begins; its notes say by what minute.
- ``{notes} 3`` is what the presenter says in three minutes; ``{notes} 3 spare`` marks a slide that
  a late class leaves out. Each slide has some, and together they are ``lecture_minutes``.
- ``{book}`` is where the book is to be found.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst.directives import flag
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
HANDS = {
    True: "Hands for each option, a minute with the neighbour, and hands again; the next step "
    "marks the right one: {}.",
    False: "One show of hands, and no talk; the next step marks the right one: {}.",
}
PART = "<p><b>Checkpoint: part {} of {} begins at minute {}.</b> {}</p>"
LATE = "If you are later, leave out slides with a {}: in this part they take {} minutes."
SPARE = "◇"
"""The mark of a slide that a late class leaves out."""

LETTERS = """<style>
g:has(> g[transform*="scale(0.1"]:only-child) {{
  transform-box: fill-box; transform-origin: center; transform: scale({});
}}
</style>"""
KEPT = "if (this.getAttribute('src')) this.removeAttribute('data-src')"
"""On leaving a slide reveal.js empties the frames that have a data-src, and what was moved is lost.
"""
VIEW = re.compile(r'width="[^"]*" height="[^"]*" viewBox="0 0 (\S+) (\S+)"')

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("lecture_minutes", 90, "env")
    app.add_config_value("lecture_parts", [], "env", [list])
    app.add_config_value("lecture_address", "", "env")
    app.add_node(notes, revealjs=(visit_notes, depart_notes))
    directives = {"shown": Shown, "poll": Poll, "box": Box, "source": Source}
    for name, directive in {**directives, "part": Part, "notes": Notes, "book": Book}.items():
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


class Source(Slide):
    def show(self, _chapter: str, _rest: str) -> list[nodes.Node]:
        return []


class Shown(Slide):
    option_spec: ClassVar = {"heads": str, "crop": str, "letters": float}

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
            return [raw(self.headed(table(html))), *said]
        if printed := stored.data(cell, "stream"):
            return [raw(f"<pre>{escape(printed.strip())}</pre>"), *said]
        raise LookupError(f"the cell {rest} of {chapter} shows nothing")

    def headed(self, html: str) -> str:
        """A table under headings of the slide's own."""
        if "heads" not in self.options:
            return html
        heads = [typeset(escape(head.strip())) for head in self.options["heads"].split("|")]
        row, *_ = re.findall(r"<tr.*?</tr>", html, re.S)
        cells = re.findall(r"<th[^>]*>.*?</th>", row, re.S)
        if len(cells) != len(heads):
            raise LookupError(f"{len(heads)} headings for {len(cells)} columns")
        for cell, head in zip(cells, heads, strict=True):
            html = html.replace(cell, re.sub(r">.*<", f">{head}<", cell, flags=re.S), 1)
        return html

    def caption(self, cell: Any) -> notes:
        told = typeset(escape(cell.metadata["caption"], quote=False))
        return notes("", raw(f"<p><small><em>Its caption: {told}</em></small></p>"), last=True)

    def drawn(self, drawing: str) -> str:
        """A drawing as the slide has it: a part of it, with larger letters."""
        drawing = NARROW.sub("", drawing)
        if "letters" in self.options:
            letters = LETTERS.format(self.options["letters"])
            drawing = drawing.replace("<defs>", f"{letters}<defs>", 1)
        if "crop" in self.options:
            left, top, right, bottom = (float(x) / 100 for x in self.options["crop"].split())
            found = VIEW.search(drawing)
            assert found is not None
            width, height = map(float, found.groups())
            size = round((right - left) * width, 2), round((bottom - top) * height, 2)
            view = f"{left * width:.2f} {top * height:.2f} {size[0]} {size[1]}"
            sizes = f'width="{size[0]}pt" height="{size[1]}pt" viewBox="{view}"'
            drawing = drawing.replace(found[0], sizes, 1)
        return drawing

    def picture(self, chapter: str, cell: Any, drawing: str) -> nodes.raw:
        """An image; of a figure to move the figure, and the image on paper."""
        part = self.options.get("crop", "").split()
        file = f"{FIGURES}/{'-'.join([chapter, cell.id, *part])}.svg"
        folder = Path(self.env.app.outdir, FIGURES)
        folder.mkdir(parents=True, exist_ok=True)
        Path(self.env.app.outdir, file).write_text(self.drawn(drawing), encoding="utf-8")
        movable = SHOWN.search(cell.source)
        alt = cell.metadata["caption" if movable else "mystnb"]
        alt = escape(alt if movable else alt["image"]["alt"])
        image = f'<img class="picture" src="{file}" alt="{alt}">'
        if not movable:
            return raw(image)
        page = f"../explore/{movable[1]}.html?theme=light&amp;slide"
        return raw(
            f'<iframe class="movable" data-src="{page}" onload="{KEPT}" '
            f'title="A figure to move: {alt}"></iframe>{image}'
        )


class Poll(Slide):
    """A Predict box. An option that is right is marked a step after its question."""

    option_spec: ClassVar = {"only": int, "talk": flag}

    def show(self, chapter: str, rest: str) -> list[nodes.Node]:
        text = stored.quotation(chapter, "Predict")
        asked = re.findall(r"((?:^(?!- |\().+\n+)+)((?:^- .+\n?)+)", text, re.M)
        if not asked:
            raise LookupError(f"the Predict box of {chapter} has no options")
        if "only" in self.options:
            asked = asked[self.options["only"] - 1 :][:1]
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
        hands = HANDS["talk" in self.options].format(", then ".join(right))
        return [*shown, notes("", raw(f"<p><em>{hands}</em></p>"), last=False)]


class Box(Slide):
    def show(self, chapter: str, rest: str) -> list[nodes.Node]:
        return self.parsed(stored.quotation(chapter, rest))


class Part(SphinxDirective):
    """The steps of the lecture, of which one begins; with 0 the plan."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        now, parts = int(self.arguments[0]), self.config.lecture_parts
        steps = "".join(
            f"<li{' class=now' if place == now else ''}>{escape(name)}</li>"
            for place, name in enumerate(parts, 1)
        )
        return [raw(f'<ol class="parts">{steps}</ol>'), *([notes(part=now)] if now else [])]


class Book(SphinxDirective):
    """The address of the book, in letters; where it has none, its name."""

    def run(self) -> list[nodes.Node]:
        address = self.config.lecture_address
        start = stored.address("00")
        shown = escape(address or "Why divide by √d_k?")
        link = f'<a href="{start}" target="_blank">{typeset(shown) if not address else shown}</a>'
        more = "every page a notebook" if address else "chapters 0 to 13, every page a notebook"
        return [raw(f'<p class="address"><b>The book:</b> {link}<br>{more}</p>')]


class Notes(SphinxDirective):
    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        minutes, _, spare = self.arguments[0].partition(" ")
        if spare not in ("", "spare"):
            raise self.error(f"notes are spare or not, and not {spare}")
        made = notes(minutes=int(minutes), spare=bool(spare))
        self.state.nested_parse(self.content, self.content_offset, made)
        mark = f'<p class="spare" title="A late class leaves this out">{SPARE}</p>'
        return [made, *([raw(mark)] if spare else [])]


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
    begun: list[tuple[int, int, notes, list[int]]] = []  # part, minute, notes, spare minutes
    for section in document.findall(nodes.section):
        said = [part for part in section.children if isinstance(part, notes)]
        timed = [part for part in said if "minutes" in part]
        if len(timed) != 1:
            logger.warning("a slide has one {notes}, this one %d", len(timed), location=section)
            continue
        (main,) = timed
        minutes = main["minutes"]
        until = clock + minutes
        first: list[nodes.Node] = [raw(f"<p><b>Minutes {clock} to {until}</b></p>")]
        if main["spare"]:
            first.append(raw(f"<p><b>{SPARE} If you are late, leave this out.</b></p>"))
        for other in said:  # the presenter's order: time, the poll, what to say, the caption
            if other is main:
                continue
            section.remove(other)
            if "part" in other:
                begun.append((other["part"], clock, main, []))
            elif other["last"]:
                main.extend(other.children)
            else:
                first.extend(other.children)
        if begun and main["spare"]:
            begun[-1][3].append(minutes)
        main[0:0] = first
        section.append(revealjs_section(**{"data-timing": 60 * minutes}))
        clock = until
    for part, minute, main, spare in begun:
        late = LATE.format(SPARE, sum(spare)) if spare else ""
        main.insert(1, raw(PART.format(part, len(begun), minute, late)))
    if clock != app.config.lecture_minutes:
        logger.warning("the slides take %d minutes, not %d", clock, app.config.lecture_minutes)
