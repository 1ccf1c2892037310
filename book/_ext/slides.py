"""Sphinx extension of the lecture: its slides show what the chapters hold, and type none of it.

- ``{shown} 05 late`` is what a cell puts out: a figure, a table, a print, or a figure to move; of
  a text cell its table. ``:heads:`` says a table's headings for those who see nothing else, and
  leaves out a column that it calls ``-``;
  ``:crop:`` the part of a drawing that is shown, ``:letters:`` how many times as large its are,
  as in ``1.5 left``, which keeps the left ends of words where they are. Of a figure to move
  ``:only:`` names the divisors that it shows and ``:state:`` where it begins; ``:paper:`` is the
  cell whose picture stands for it on paper and in the presenter's view.
- ``{poll} 04`` is the chapter's Predict box, a step for each question and each answer, or the one
  question of it that ``:only:`` counts. With ``:talk:`` neighbours talk between shows of hands.
  Its content, where it has some, asks the question in fewer words, or, with options, another one.
- ``{source} 05`` says whose the numbers are.
- The role ``{number}`` is a number that a cell has put out; ``stored.number`` says how it is named.
  ``{worked}`` is one that is worked out on the slide, to three digits, or whole: its text is the
  sum, with numbers of cells in braces; of these it has two digits.
- ``{steps} 2`` holds a table, a list or formulas, and those behind the second come one at a time.
- ``{part} 2`` marks where the second of ``lecture_parts`` begins, and a part beyond the last the
  end; its notes say by what minute.
- ``{setup}`` holds a line below the heading that says what was measured: which model, how wide,
  how many. ``{clock}`` in the notes of the first slide is a table of all parts: their minutes,
  what a late class leaves out of each and what an early one sees, as their notes have it.
- ``{notes} 3`` is what the presenter says in three minutes. With ``3 spare`` a late class leaves
  the slide out, ``0 spare`` is for an early one alone, ``3 check`` says when to be there, and
  ``backup`` is for a slide behind the last, shown if somebody asks. Each slide has notes. Together
  they are ``lecture_minutes`` without ``lecture_reserve``, and none has fewer than its words and
  polls ask for (``needed``), nor many more; the notes say what they go to.
- ``{book}`` is where the book and the lab are to be found.
"""

from __future__ import annotations

import math
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
SPARE = "◇"
"""The mark of a slide that a late class leaves out."""
PART = "<p><b>Checkpoint: <em>{}</em> begins at minute {:g}.</b> {}</p>"
CHECK = "<p><b>Checkpoint: be here by minute {}.</b> The reserve has {} minutes.</p>"
BACKUP = "<p><b>Backup: show it if somebody asks.</b></p>"
OPTIONAL = f"<p><b>{SPARE} It has no minutes: show it if you are early, or else go on.</b></p>"
LATE = "If you are later, leave out: {}."
CLOCK = (
    "<table><thead><tr><th>minute</th><th>part</th><th>late: leave out</th><th>early: backup</th>"
    "</tr></thead><tbody>{}</tbody></table><p>Three minutes behind where a part begins: leave out "
    "what stands there. Three ahead: add the backup, which takes three.</p><p>The minutes are {}, "
    "and {} are in reserve. The notes alone, read aloud, are {} minutes: the others belong to the "
    "class, and to the board.</p>"
)
SAID_LATE = re.compile(r"◇ Late\?\s+(.*?)\s*(?=Early\?|$)", re.S)
SAID_EARLY = re.compile(r"Early\?\s+Backup\s+(.*?)\.?$", re.S)
OPENING, CLOSING = "The question", "The answer"
"""What comes before the first part and after the last, in the table of all."""

PICTURE, FORMULA, MOVED, ASKED, VOTED, TALKED = 1.0, 0.75, 2.5, 1.0, 2.5, 0.5
"""Minutes beside the words: to look at a picture or a table and at a formula, to move a figure, to
wait for an answer, for a show of hands, and for neighbours who talk.
"""
TURNED, TAKEN_IN = 0.4, 1.08
"""Minutes to turn to a slide and be quiet, and how much longer all of it takes before a class. Two
lecturers with a clock needed 87.5 and 89 minutes for the 25 slides of the last edition, where these
come to 88.
"""
UNUSED = 1.25
"""Minutes that a slide may have beyond those, for the board. One that has more says so in vain: who
reads its notes aloud is through before it.
"""

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

ASKED_IN_TEXT = re.compile(r"((?:^(?!- |\().+\n+)+)((?:^- .+\n?)+)", re.M)
"""Questions and their options."""

WORKED = {"exp": math.exp, "int": int, "sqrt": math.sqrt}
"""What a sum that is worked out on a slide may use."""

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("lecture_minutes", 90, "env")
    app.add_config_value("lecture_reserve", 0, "env")
    app.add_config_value("lecture_pace", 0, "env")  # words a minute; with 0 nobody counts
    app.add_config_value("lecture_parts", [], "env", [list])
    app.add_config_value("lecture_address", "", "env")
    app.add_node(notes, revealjs=(visit_notes, depart_notes))
    directives = {"shown": Shown, "poll": Poll, "source": Source}
    for name, directive in {**directives, "part": Part, "notes": Notes, "book": Book}.items():
        app.add_directive(name, directive)
    app.add_directive("steps", Steps)
    app.add_directive("setup", Setup)
    app.add_directive("clock", Clock)
    app.add_role("number", number)
    app.add_role("worked", worked)
    app.connect("doctree-read", set_times)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class notes(nodes.General, nodes.Element):
    """What the presenter reads, and the audience does not."""


class clock(nodes.General, nodes.Element):
    """Where the table of all parts stands in the notes of the first slide."""


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
    option_spec: ClassVar = {"heads": str, "crop": str, "letters": str}
    option_spec |= {"only": str, "state": str, "paper": str}

    def show(self, chapter: str, rest: str) -> list[nodes.Node]:
        cell = stored.cell(chapter, rest)
        if cell.cell_type == "markdown":
            rows = re.search(r"(?:^\|.*\n?)+", cell.source, re.M)
            if rows is None:
                raise LookupError(f"the text {rest} of {chapter} has no table")
            return self.parsed(stored.relinked(rows[0], chapter))
        said = [self.caption(cell)] if "caption" in cell.metadata else []
        if drawing := stored.data(cell, "image/svg+xml"):
            return [raw(self.picture(chapter, cell, drawing)), *said]
        if html := stored.data(cell, "text/html"):
            return [raw(self.headed(table(html))), *said]
        if printed := stored.data(cell, "stream"):
            return [raw(f"<pre>{escape(printed.strip())}</pre>"), *said]
        raise LookupError(f"the cell {rest} of {chapter} shows nothing")

    def headed(self, html: str) -> str:
        """A table under headings of the slide's own, without the columns that it leaves out."""
        if "heads" not in self.options:
            return html
        heads = [typeset(escape(head.strip())) for head in self.options["heads"].split("|")]
        for row in re.findall(r"<tr.*?</tr>", html, re.S):
            cells = re.findall(r"<t[hd][ >].*?</t[hd]>", row, re.S)
            if len(cells) != len(heads):
                raise LookupError(f"{len(heads)} headings for {len(cells)} columns")
            if 'scope="col"' in row:
                named = zip(cells, heads, strict=True)
                cells = [re.sub(r">.*<", f">{head}<", cell, flags=re.S) for cell, head in named]
            kept = [cell for cell, head in zip(cells, heads, strict=True) if head != "-"]
            html = html.replace(row, f"<tr>{''.join(kept)}</tr>", 1)
        return html

    def caption(self, cell: Any) -> notes:
        told = typeset(escape(cell.metadata["caption"], quote=False))
        return notes("", raw(f"<p><small><em>Its caption: {told}</em></small></p>"), last=True)

    def drawn(self, drawing: str) -> str:
        """A drawing as the slide has it: a part of it, with larger letters."""
        drawing = NARROW.sub("", drawing)
        if "letters" in self.options:
            size, _, origin = self.options["letters"].partition(" ")
            letters = LETTERS.format(float(size), origin or "center")
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

    def picture(self, chapter: str, cell: Any, drawing: str) -> str:
        """An image; of a figure to move the figure, and the image on paper."""
        movable = SHOWN.search(cell.source)
        if movable and "paper" in self.options:
            other = stored.cell(chapter, self.options["paper"])
            image = self.picture(chapter, other, stored.data(other, "image/svg+xml") or "")
        else:
            part = self.options.get("crop", "").split()
            file = f"{FIGURES}/{'-'.join([chapter, cell.id, *part])}.svg"
            folder = Path(self.env.app.outdir, FIGURES)
            folder.mkdir(parents=True, exist_ok=True)
            Path(self.env.app.outdir, file).write_text(self.drawn(drawing), encoding="utf-8")
            alt = cell.metadata["caption" if movable else "mystnb"]
            alt = escape(alt if movable else alt["image"]["alt"])
            image = f'<img class="picture" src="{file}" alt="{alt}">'
        if not movable:
            return image
        page = f"../explore/{movable[1]}.html?theme=light&amp;slide"
        page += f"&amp;only={self.options['only']}" if "only" in self.options else ""
        page += f"#{movable[1]}:{self.options['state']}" if "state" in self.options else ""
        return (
            f'<iframe class="movable" data-src="{page}" onload="{KEPT}" '
            f'title="A figure to move: {escape(cell.metadata["caption"])}"></iframe>{image}'
        )


class Poll(Slide):
    """A Predict box. An option that is right is marked a step after its question."""

    option_spec: ClassVar = {"only": int, "talk": flag}
    has_content = True

    def show(self, chapter: str, rest: str) -> list[nodes.Node]:
        own = "\n".join(self.content)
        given = ASKED_IN_TEXT.search(own)
        text = own if given else stored.quotation(chapter, "Predict")
        asked = ASKED_IN_TEXT.findall(text)
        if not asked:
            raise LookupError(f"the Predict box of {chapter} has no options")
        if "only" in self.options:
            asked = asked[self.options["only"] - 1 :][:1]
        if own and not given:
            asked = [(own, options) for _, options in asked[:1]]
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


class Part(SphinxDirective):
    """The steps of the lecture, of which one begins; with 0 the plan."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        now, parts = int(self.arguments[0]), self.config.lecture_parts
        steps = "".join(
            f"<li{' class=now' if place == now else ''}>{escape(name)}</li>"
            for place, name in enumerate(parts, 1)
        )
        plan = [raw(f'<ol class="parts">{steps}</ol>')] if now <= len(parts) else []
        return [*plan, *([notes(part=now)] if now else [])]


class Setup(SphinxDirective):
    """What was measured, below the heading: nobody takes one experiment for another."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        around = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, around)
        around.children[0]["classes"].append("setup")  # type: ignore[index]
        return around.children


class Clock(SphinxDirective):
    """The table of all parts, which is filled in when all minutes are known."""

    def run(self) -> list[nodes.Node]:
        return [clock()]


class Book(SphinxDirective):
    """The addresses of the book and of the lab, in letters; where there is none, their names."""

    def run(self) -> list[nodes.Node]:
        address = self.config.lecture_address
        start = stored.address("00")
        shown = escape(address or "Why divide by √d_k?")
        link = f'<a href="{start}" target="_blank">{typeset(shown) if not address else shown}</a>'
        lab = f"{address}/lecture/lab.ipynb".lstrip("/")
        given = f'<a href="lab.ipynb" download target="_blank">{escape(lab)}</a>'
        checks = "an hour, with checks" + ("" if address else "; beside these slides")
        book = f"<b>The book:</b> {link}<br>every page a notebook"
        told = book, f"<b>The lab:</b> {given}<br>{checks}"
        return [raw("".join(f'<p class="address">{text}</p>' for text in told))]


class Notes(SphinxDirective):
    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        first, _, kind = self.arguments[0].partition(" ")
        if kind not in ("", "spare", "check"):
            raise self.error(f"notes are spare, or a check, or neither, and not {kind}")
        backup = first == "backup"
        made = notes(minutes=0.0 if backup else float(first), kind="backup" if backup else kind)
        self.state.nested_parse(self.content, self.content_offset, made)
        if backup:
            return [made]
        mark = f'<p class="spare" title="A late class leaves this out">{SPARE}</p>'
        return [made, *([raw(mark)] if kind == "spare" else [])]


class Steps(SphinxDirective):
    """A table, a list or formulas, of which one row comes after the other."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        around = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, around)
        kinds = nodes.tbody, nodes.bullet_list
        found = [node for kind in kinds for node in around.findall(kind)]
        if not found:
            around.children = [nodes.container("", child) for child in around.children]
        rows = (found[0] if found else around).children
        for row in rows[int(self.arguments[0]) :]:
            assert isinstance(row, nodes.Element)
            row["classes"].append("fragment")
        return around.children


def worked(
    _name: str, _text: str, reference: str, line: int, inliner: Any, *_rest: Any
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    try:
        asked = re.sub(r"\{(.*?)\}", lambda one: stored.number(one[1]).replace(",", ""), reference)
        value = eval(asked, {"__builtins__": {}}, WORKED)
    except Exception as error:
        return [], [inliner.reporter.error(f"{reference}: {error}", line=line)]
    digits = 2 if asked != reference else 3  # no more than the cell has
    return [raw(f"{value:,}" if isinstance(value, int) else f"{value:#.{digits}g}")], []


def number(
    _name: str, _text: str, reference: str, line: int, inliner: Any, *_rest: Any
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    try:
        return [raw(f"<b>{typeset(stored.number(reference))}</b>")], []
    except LookupError as error:
        return [], [inliner.reporter.error(str(error), line=line)]


def needed(section: nodes.section, pace: float) -> dict[str, float]:
    """Minutes that a slide takes, by what they go to: its words and those of its notes at so many a
    minute, what there is to look at or to move, votes, and what the class is asked.
    """
    shown = [part for part in section.children if not isinstance(part, nodes.section)]
    shown = [part for part in shown if not (isinstance(part, notes) and part.get("last"))]
    html = "".join(markup(part) for part in shown)
    said = re.sub(r"<svg.*?</svg>|<table.*?</table>|<[^>]*>", " ", html, flags=re.S)
    words = len(re.findall(r"\w[\w.,'’-]*", said))
    moved = html.count("<iframe")
    looks = 0 if moved else len(re.findall(r"<img|<table|<svg", html))
    minutes = {
        "to talk": TURNED + words / pace,
        "to look and draw": FORMULA * html.count("<formula") + PICTURE * looks,
        "to move the figure": MOVED * moved,
        "to vote": VOTED * html.count('class="question"')
        + TALKED * said.count("a minute with the neighbour"),
        "for answers": ASKED * len(re.findall(r"\bAsk\b|class compute|et somebody", said)),
    }
    return {what: TAKEN_IN * taken for what, taken in minutes.items()}


def shares(minutes: float, need: dict[str, float]) -> dict[str, float]:
    """The minutes of a slide to the quarter, by what they go to; talk and the board have the rest.

    Example:
        >>> shares(4, {"to talk": 1.1, "for answers": 0.0, "to vote": 2.7})
        {'to vote': 2.75, 'to talk': 1.25}
    """
    rounded = {what: round(4 * taken) / 4 for what, taken in need.items() if what != "to talk"}
    found = {what: taken for what, taken in rounded.items() if taken}
    return found | {"to talk": max(0.0, minutes - sum(found.values()))}


def listed(found: dict[str, float]) -> str:
    """Minutes and what they go to, in words."""
    return ", ".join(f"{taken:g} {what}" for what, taken in found.items() if taken)


def markup(node: nodes.Node) -> str:
    """Enough of a node's HTML to count what is in it."""
    if isinstance(node, nodes.raw):
        html = node.astext()
        return "" if re.match(r'<(p|ol) class="(from|parts|spare)', html) else html
    if isinstance(node, nodes.math_block):
        return "<formula>"
    if isinstance(node, nodes.paragraph) and "setup" in node["classes"]:
        return ""
    if isinstance(node, nodes.math):
        return " x "
    if isinstance(node, nodes.table):
        return "<table></table>"
    if isinstance(node, nodes.Text):
        return escape(node.astext(), quote=False) + " "
    inside = "".join(markup(child) for child in node.children)
    if isinstance(node, nodes.container) and "question" in node["classes"]:
        return f'<div class="question">{inside}</div>'
    return inside


def set_times(app: Sphinx, document: nodes.document) -> None:
    """Say when each slide begins and ends; the presenter's view counts the time that it has."""
    now, pace = 0.0, app.config.lecture_pace
    total: dict[str, float] = {}
    spoken = 0.0
    parts = [Stretch(0, 0.0)]
    column = row = 0
    for section in document.findall(nodes.section):
        below = section.parent.parent not in (document, None)
        column, row = (column, row + 1) if below else (column + 1, 1)
        said = [part for part in section.children if isinstance(part, notes)]
        timed = [part for part in said if "minutes" in part]
        if len(timed) != 1:
            logger.warning("a slide has one {notes}, this one %d", len(timed), location=section)
            continue
        (main,) = timed
        minutes, kind = main["minutes"], main["kind"]
        until, time = now + minutes, ""
        if kind == "backup":
            time = BACKUP
            mark = raw(f'<p class="spare backup">backup {column}.{row}</p>')
            section.insert(section.index(main), mark)  # before sections below this one
        elif not minutes:
            time = OPTIONAL
        else:
            time = f"Minutes {now:g} to {until:g}"
            if pace:
                need = needed(section, pace)
                check_minutes(section, minutes, sum(need.values()))
                given = shares(minutes, need)
                time += f": {listed(given)}"
                spoken += need["to talk"] / TAKEN_IN - TURNED
                total = {x: total.get(x, 0) + given.get(x, 0) for x in total | given}
            time = f"<p><b>{time}</b></p>"
        first: list[nodes.Node] = [raw(time)]
        if kind == "spare" and minutes:
            first.append(raw(f"<p><b>{SPARE} If you are late, leave this out.</b></p>"))
        if kind == "check":
            first.append(raw(CHECK.format(f"{now:g}", app.config.lecture_reserve)))
        for other in said:  # the presenter's order: time, the poll, what to say, the caption
            if other is main:
                continue
            section.remove(other)
            if "part" in other:
                parts.append(Stretch(other["part"], now, main))
            elif other["last"]:
                main.extend(other.children)
            else:
                first.extend(other.children)
        if kind != "backup":
            parts[-1].read(section, main)
        main[0:0] = first
        counted = {"data-visibility": "uncounted"} if kind == "backup" else {}
        section.append(revealjs_section(**{"data-timing": round(60 * minutes)}, **counted))
        now = until
    names = [OPENING, *app.config.lecture_parts, CLOSING]
    for part in parts[1:]:
        late = LATE.format(escape("; ".join(part.late))) if part.late else ""
        assert part.notes is not None
        part.notes.insert(1, raw(PART.format(names[part.number], part.begins, late)))
    for place in list(document.findall(clock)):
        rows = "".join(part.row(names[part.number]) for part in parts)
        rows += f"<tr><td>{now:g}</td><td>The end</td><td></td><td></td></tr>"
        most = dict(sorted(total.items(), key=lambda one: -one[1]))
        sums = listed(most), app.config.lecture_reserve, f"{spoken:.0f}"
        place.replace_self(raw(CLOCK.format(rows, *sums)))
    if now + app.config.lecture_reserve != app.config.lecture_minutes:
        asked = app.config.lecture_minutes - app.config.lecture_reserve
        logger.warning("the slides take %g minutes, not %g", now, asked)


def check_minutes(section: nodes.section, minutes: float, need: float) -> None:
    """Warn of a slide that has fewer minutes than it takes, or many more."""
    told = "a slide of %g minutes takes %.2f to say and to show"
    if need > minutes + 0.125 or minutes > need + UNUSED:
        logger.warning(told, minutes, need, location=section)


class Stretch:
    """A part of the lecture: where it begins, what may be left out and what may be added."""

    def __init__(self, number: int, begins: float, first: notes | None = None) -> None:
        self.number, self.begins, self.notes = number, begins, first
        self.late: list[str] = []
        self.early: list[str] = []

    def read(self, section: nodes.section, main: notes) -> None:
        """What the notes of a slide say about a late class and an early one."""
        title = section.next_node(nodes.title).astext()
        if main["kind"] == "spare" and main["minutes"]:
            self.late.append(f"{title} ({main['minutes']:g} minutes)")
        for paragraph in main.findall(nodes.paragraph):
            text = paragraph.astext()
            late = (" ".join(told.split()).rstrip(".") for told in SAID_LATE.findall(text))
            self.late += [f"{title}: {told}" for told in late]
            self.early += SAID_EARLY.findall(text)

    def row(self, name: str) -> str:
        cells = f"{self.begins:g}", name, "; ".join(self.late), "; ".join(self.early)
        return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
