"""Sphinx extension of the lecture: its slides show what the chapters hold, and type none of it.

- ``{shown} 05 late`` is what a cell puts out: a figure, a table, or a figure to move. ``:crop:`` is
  the part of a drawing that is shown, and ``:letters:`` how many times as large its letters are, as
  in ``1.5 left``, which keeps the left ends of words where they are; ``:state:`` is where a figure
  to move begins. Its picture stands for it on paper and in the presenter's view.
- ``{poll} 04`` is the first question of the chapter's Predict box, or the one that it holds. With
  ``:talk:`` neighbours talk between two shows of hands.
- ``{source} 05`` says whose the numbers are.
- The role ``{number}`` is a number that a cell has put out; ``stored.number`` says how it is named.
  ``{worked}`` is a sum that is worked out on the slide, to three digits, or whole.
- ``{steps} 2`` holds a table, a list or formulas, and those behind the second come one at a time.
- ``{part} Softmax saturates`` is where a part begins, and ``{part}`` alone shows all of them.
- ``{notes} 3`` is what the presenter says in three minutes, and each slide has it; ``backup`` in
  place of minutes is for a slide behind the last, shown if somebody asks. ``:late:`` says what a
  late class leaves out, and ``:early:`` what an early one sees besides. The plan at the end of the
  first slide's notes has all of it, with the sum of the minutes, which nobody checks.
- ``{book}`` says where the book, the lab and the package are to be found.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst.directives import flag
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx_revealjs.nodes import revealjs_section

import stored
from explorable import SHOWN
from narrow import NARROW
from predictions import RIGHT
from table_names import table, typeset

FIRST, SAID, LAST = range(3)
"""The order of a slide's notes: how to vote, what to say, and the caption of what is shown."""
SPARE = '<p class="spare" title="A late class saves time here">◇</p>'
PLAN = (
    "<table><thead><tr><th>minute</th><th>part</th><th>late: leave out</th><th>early: backup</th>"
    "</tr></thead><tbody>{rows}</tbody></table><p>{slides} slides and {backups} in reserve; "
    "{minutes:g} minutes, and {free:g} kept free. The notes are about {words:,} words, which are "
    "{talk} minutes of talk: the rest hangs on polls and the room.</p><p>Three minutes behind "
    "where a part begins: leave out what stands there. Three ahead: add the backup, which takes "
    "three.</p>"
)
PACE = 120
"""Words a minute."""

LETTERS = """<style>
g:has(> g[transform*="scale(0.1"]:only-child > use ~ use),
g[transform*="scale(0.1"]:not(:has(> use ~ use)) > use {{
  transform-box: fill-box; transform-origin: center; transform: scale({});
}}
g:has(> g[transform*="scale(0.1"]:only-child > use ~ use) {{ transform-origin: {} }}
</style>"""
"""Words grow as a whole, about their middle or from the left, single letters each by itself."""
KEPT = "if (this.getAttribute('src')) this.removeAttribute('data-src')"
"""On leaving a slide reveal.js empties the frames that have a data-src, and what was moved is lost.
"""
VIEW = re.compile(r'width="[^"]*" height="[^"]*" viewBox="0 0 (\S+) (\S+)"')

WORKED = {"exp": math.exp, "int": int, "sqrt": math.sqrt}
"""What a sum that is worked out on a slide may use."""

NO_SCRIPT = """<noscript><style>.reveal { height: 100vh }</style>
<p style="padding: 2rem; pointer-events: auto">The slides need JavaScript.
<a href="../index.html">The book</a> has all that they show, and needs none.</p></noscript>"""

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("lecture_minutes", 90, "env")
    app.add_config_value("lecture_address", "", "env")
    app.add_config_value("lecture_repository", "", "env")
    app.add_node(notes, revealjs=(visit_notes, depart_notes))
    for directive in (Shown, Poll, Steps, Part, Notes, Book):
        app.add_directive(directive.__name__.lower(), directive)
    app.add_directive("source", Slide)
    app.add_role("number", role(lambda asked: f"<b>{typeset(stored.number(asked))}</b>"))
    app.add_role("worked", role(worked))
    app.connect("doctree-read", set_times)
    app.connect("html-page-context", say_what_is_needed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class notes(nodes.General, nodes.Element):
    """What the presenter reads, and the audience does not."""


class part(nodes.General, nodes.Element):
    """Where a part begins."""


def visit_notes(translator: Any, _node: notes) -> None:
    translator.body.append('<aside class="notes">')


def depart_notes(translator: Any, _node: notes) -> None:
    translator.body.append("</aside>\n")


def say_what_is_needed(
    _app: Sphinx, _name: str, _template: str, context: dict[str, Any], _tree: nodes.document | None
) -> None:
    """Without scripts reveal.js shows no slide: then there is a sentence."""
    context["body"] = NO_SCRIPT + context.get("body", "")


def raw(html: str) -> nodes.raw:
    return nodes.raw("", html, format="html")


def role(html: Callable[[str], str]) -> Any:
    """A role that puts HTML in place of its text; what goes wrong fails the build."""

    def run(
        _name: str, _text: str, asked: str, line: int, inliner: Any, *_rest: Any
    ) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        try:
            return [raw(html(asked))], []
        except Exception as error:
            return [], [inliner.reporter.error(f"{asked}: {error}", line=line)]

    return run


def worked(asked: str) -> str:
    """A sum, worked out.

    Example:
        >>> worked("4/sqrt(2)"), worked("2048 // 2")
        ('2.83', '1,024')
    """
    value = eval(asked, {"__builtins__": {}}, WORKED)
    return f"{value:,}" if isinstance(value, int) else f"{value:#.3g}"


class Slide(SphinxDirective):
    """A directive whose first argument is a chapter, which it names at the foot of the slide."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        chapter, _, rest = self.arguments[0].partition(" ")
        name = f"chapter {int(chapter)}" if chapter.isdigit() else f"study {chapter.upper()}"
        name = name if chapter != "00" else "the first page"
        try:
            source = raw(f'<p class="from"><a href="{stored.address(chapter)}">{name}</a></p>')
            return [*self.show(chapter, rest), source]
        except LookupError as error:
            raise self.error(str(error)) from error

    def show(self, _chapter: str, _rest: str) -> list[nodes.Node]:
        return []


class Shown(Slide):
    option_spec: ClassVar = {"crop": str, "letters": str, "state": str}

    def show(self, chapter: str, rest: str) -> list[nodes.Node]:
        cell = stored.cell(chapter, rest)
        if drawing := stored.data(cell, "image/svg+xml"):
            picture = self.picture(chapter, cell, drawing)
        elif html := stored.data(cell, "text/html"):
            picture = table(html)
        else:
            raise LookupError(f"the cell {rest} of {chapter} shows nothing")
        caption = typeset(escape(cell.metadata.get("caption", ""), quote=False))
        words = raw(f"<p><small><em>Its caption: {caption}</em></small></p>")
        return [raw(picture), *([notes("", words, place=LAST)] if caption else [])]

    def drawn(self, drawing: str) -> str:
        """A drawing as the slide has it: a part of it, with larger letters."""
        drawing = NARROW.sub("", drawing)
        if "letters" in self.options:
            size, _, origin = self.options["letters"].partition(" ")
            letters = LETTERS.format(float(size), origin or "center")
            drawing = drawing.replace("<defs>", f"{letters}<defs>", 1)
        if "crop" in self.options:
            left, top, right, bottom = (float(x) / 100 for x in self.options["crop"].split())
            view_box = VIEW.search(drawing)
            assert view_box is not None
            width, height = map(float, view_box.groups())
            size = round((right - left) * width, 2), round((bottom - top) * height, 2)
            view = f"{left * width:.2f} {top * height:.2f} {size[0]} {size[1]}"
            sizes = f'width="{size[0]}pt" height="{size[1]}pt" viewBox="{view}"'
            drawing = drawing.replace(view_box[0], sizes, 1)
        return drawing

    def picture(self, chapter: str, cell: Any, drawing: str) -> str:
        """An image; of a figure to move the figure, and the image for paper."""
        name = "-".join([chapter, cell.id, *self.options.get("crop", "").split()])
        file = Path(self.env.app.outdir, "figures", f"{name}.svg")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self.drawn(drawing), encoding="utf-8")
        movable = SHOWN.search(cell.source)
        alt = cell.metadata["caption"] if movable else cell.metadata["mystnb"]["image"]["alt"]
        image = f'<img class="picture" src="figures/{file.name}" alt="{escape(alt)}">'
        if not movable:
            return image
        page = f"../explore/{movable[1]}.html?theme=light&amp;slide"
        page += f"#{movable[1]}:{self.options['state']}" if "state" in self.options else ""
        return (
            f'<iframe class="movable" data-src="{page}" onload="{KEPT}" '
            f'title="A figure to move: {escape(alt)}"></iframe>{image}'
        )


class Poll(Slide):
    """A question with options, of which the right one is marked a step later."""

    option_spec: ClassVar = {"talk": flag}
    has_content = True

    def show(self, chapter: str, _rest: str) -> list[nodes.Node]:
        text = "\n".join(self.content) or stored.quotation(chapter, "Predict")
        question, _, rest = text.partition("\n\n- ")
        options = rest.partition("\n\n")[0].split("\n- ")
        right = [letter for letter, one in zip("ABCDEF", options, strict=False) if RIGHT in one]
        if len(right) != 1:
            raise LookupError(f"{len(right)} options of a poll are right: {text}")
        marked = {True: '<li class="fragment custom right">', False: "<li>"}
        items = "".join(
            f"{marked[RIGHT in one]}{escape(one.replace(RIGHT, '').strip())}</li>"
            for one in options
        )
        asked = nodes.container("", *self.parse_text_to_nodes(question), classes=["question"])
        asked.append(raw(f'<ol type="A">{items}</ol>'))
        again = ", half a minute with the neighbour, and hands again"
        talk = again if "talk" in self.options else ""
        hands = f"Hands for each option{talk}; the next step marks the right one: {right[0]}."
        return [asked, notes("", raw(f"<p><em>{hands}</em></p>"), place=FIRST)]


class Steps(SphinxDirective):
    """A table, a list or formulas, of which one row comes after the other."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        content = self.parse_content_to_nodes()
        kinds = nodes.tbody, nodes.bullet_list
        lists = [node for one in content for kind in kinds for node in one.findall(kind)]
        if not lists:
            content = [nodes.container("", child) for child in content]
        for row in (lists[0].children if lists else content)[int(self.arguments[0]) :]:
            assert isinstance(row, nodes.Element)
            row["classes"].append("fragment")
        return content


class Part(SphinxDirective):
    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        return [part(name=" ".join(self.arguments))]


class Notes(SphinxDirective):
    required_arguments = 1
    option_spec: ClassVar = {"late": str, "early": str}
    has_content = True

    def run(self) -> list[nodes.Node]:
        spoken = notes("", *self.parse_content_to_nodes(), place=SAID, **self.options)
        spoken["backup"] = self.arguments[0] == "backup"
        spoken["minutes"] = 0.0 if spoken["backup"] else float(self.arguments[0])
        return [spoken, *([raw(SPARE)] if "late" in self.options else [])]


class Book(SphinxDirective):
    """Addresses in letters, to be written down; where there is none, the names of files."""

    def run(self) -> list[nodes.Node]:
        address, repository = self.config.lecture_address, self.config.lecture_repository
        name = escape(address) or typeset("Why divide by √d_k?")
        lab = escape(f"{address}/lecture/lab.ipynb".lstrip("/"))
        beside = "" if address else ", beside these slides"
        clone = repository and f'<a href="{repository}">git clone {repository}</a>'
        addresses = {
            "The book": f'<a href="{stored.address("00")}" target="_blank">{name}</a>',
            "The lab": f'<a href="lab.ipynb" download target="_blank">{lab}</a>{beside}',
            **({"The package": clone} if clone else {}),
        }
        lines = (
            f'<p class="address"><b>{what}:</b> {where}</p>' for what, where in addresses.items()
        )
        return [raw("".join(lines))]


@dataclass
class Stretch:
    """A part of the lecture: what a late class leaves out of it, and what an early one adds."""

    name: str
    begins: float
    late: list[str] = field(default_factory=list)
    early: list[str] = field(default_factory=list)

    def row(self) -> str:
        cells = f"{self.begins:g}", self.name, "; ".join(self.late), "; ".join(self.early)
        return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"


def strip(plan: list[str], name: str) -> nodes.raw:
    """All parts of the lecture, and which of them begins."""
    steps = (f"<li{' class=now' if one == name else ''}>{escape(one)}</li>" for one in plan)
    return raw(f'<ol class="parts">{"".join(steps)}</ol>')


def set_times(app: Sphinx, document: nodes.document) -> None:
    """Say when each slide begins and ends; the presenter's view counts the time that it has."""
    plan = [one["name"] for one in document.findall(part) if one["name"]]
    stretches = [Stretch("The question", 0.0)]
    now, column, row = 0.0, 0, 0
    timed: list[notes] = []
    backups = words = 0
    for slide in list(document.findall(nodes.section)):
        below = isinstance(slide.parent.parent, nodes.section)
        column, row = (column, row + 1) if below else (column + 1, 1)
        spoken = [one for one in slide.children if isinstance(one, notes)]
        mains = [one for one in spoken if one["place"] == SAID]
        if len(mains) != 1:
            logger.warning("a slide has one {notes}, this one %d", len(mains), location=slide)
            continue
        (main,) = mains
        minutes = main["minutes"]
        if main["backup"]:
            time = "Backup: show it if somebody asks."
            mark = raw(f'<p class="spare backup">backup {column}.{row}</p>')
            slide.insert(slide.index(main), mark)  # before sections below this one
            backups += 1
        else:
            time = f"Minutes {now:g} to {now + minutes:g}"
            timed.append(main)
            words += len(main.astext().split())
        for begins in [one for one in slide.children if isinstance(one, part)]:
            if begins["name"]:
                stretches.append(Stretch(begins["name"], now))
            slide.replace(begins, strip(plan, begins["name"]))
        first = [raw(f"<p><b>{time}</b></p>")]
        if late := main.get("late"):
            title = slide.next_node(nodes.title).astext().rstrip("?")
            stretches[-1].late.append(f"{title}: {late}")
            first = [raw(f"<p><b>{time}. ◇ Late:</b> {escape(late)}</p>")]
        if early := main.get("early"):
            stretches[-1].early.append(early)
            main.append(raw(f"<p><b>Early:</b> backup {escape(early)}</p>"))
        for other in [one for one in spoken if one is not main]:
            slide.remove(other)
            main[0 if other["place"] == FIRST else len(main) : 0] = other.children
        main[0:0] = first
        counted = {"data-visibility": "uncounted"} if main["backup"] else {}
        slide.append(revealjs_section(**{"data-timing": round(60 * minutes)}, **counted))
        now += minutes
    if timed:
        plan_table = PLAN.format(
            rows="".join(one.row() for one in [*stretches, Stretch("The end", now)]),
            slides=len(timed),
            backups=backups,
            minutes=now,
            free=app.config.lecture_minutes - now,
            words=round(words, -1),
            talk=round(words / PACE),
        )
        timed[0].append(raw(plan_table))
