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
- ``{notes} 3`` is what the presenter says in three minutes, and each slide has it; ``reserve`` in
  place of minutes is for a slide behind the last, shown if somebody asks. ``:late:`` says what a
  late class leaves out, and ``:early:`` names the slide in reserve that an early one sees besides.
  The plan at the end of the first slide's notes has all of it, with the minutes of each part and
  their sum; no clock runs against them.
- ``{reserve}`` lists the slides in reserve by their names, each of which leads to its slide.
- ``{book}`` says where the book, the lab and the package are to be found.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst.directives import flag
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from cells.explorable import MOVABLE
from cells.predictions import RIGHT
from cells.table_names import table, typeset
from editions.lecture_plan import FIRST, LAST, SPOKEN, notes, part, plan_lecture, raw, reserve
from outputs import stored
from outputs.narrow import NARROW

SPARE = '<p class="spare" title="A late class saves time here">◇</p>'
LETTERS = """<style>
g:has(> g[transform*="scale(0.1"]:only-child > use ~ use),
g[transform*="scale(0.1"]:not(:has(> use ~ use)) > use {{
  transform-box: fill-box; transform-origin: center; transform: scale({});
}}
g:has(> g[transform*="scale(0.1"]:only-child > use ~ use) {{ transform-origin: {} }}
</style>"""
"""Words grow as a whole, about their middle or from the left, single letters each by itself."""
ONLOAD = "if (this.getAttribute('src')) this.removeAttribute('data-src')"
"""On leaving a slide reveal.js empties the frames that have a data-src, and what was moved is lost.
"""
VIEW = re.compile(r'width="[^"]*" height="[^"]*" viewBox="0 0 (\S+) (\S+)"')

WORKED = {"exp": math.exp, "int": int, "sqrt": math.sqrt}
"""What a sum that is worked out on a slide may use."""

NO_SCRIPT = """<noscript><style>.reveal { height: 100vh }</style>
<p style="padding: 2rem; pointer-events: auto">These slides need JavaScript: allow it for this page
and load the page again. Or read <a href="../index.html">the book</a>, which has all that the slides
show and needs no JavaScript.</p></noscript>"""

# reveal.js calls itself an application, in which screen readers would read no text. It is the main
# part of the page, with the slides' numbers.
MAIN = """<script>
addEventListener("load", () => {
  document.querySelector(".slides").removeAttribute("role");
  document.querySelector(".reveal").setAttribute("role", "main");
});
</script>"""


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("lecture_minutes", 90, "env")
    app.add_config_value("lecture_address", "", "env")
    app.add_config_value("lecture_repository", "", "env")
    app.add_node(notes, revealjs=(visit_notes, depart_notes))
    for directive in (Shown, Poll, Steps, Part, Notes, Reserve, Book):
        app.add_directive(directive.__name__.lower(), directive)
    app.add_directive("source", Slide)
    app.add_role("number", role(lambda asked: f"<b>{typeset(stored.number(asked))}</b>"))
    app.add_role("worked", role(worked))
    app.connect("doctree-read", plan_lecture)
    app.connect("html-page-context", say_what_is_needed)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def visit_notes(translator: Any, _node: notes) -> None:
    translator.body.append('<aside class="notes">')


def depart_notes(translator: Any, _node: notes) -> None:
    translator.body.append("</aside>\n")


def say_what_is_needed(
    _app: Sphinx, _name: str, _template: str, context: dict[str, Any], _tree: nodes.document | None
) -> None:
    """Without scripts reveal.js shows no slide: then there is a sentence. With them it is text."""
    context["body"] = NO_SCRIPT + MAIN + context.get("body", "")


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
        name = f"chapter {int(chapter)}" if chapter.isdigit() else f"article {chapter.upper()}"
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
            output = self.picture(chapter, cell, drawing)
        elif html := stored.data(cell, "text/html"):
            output = table(html)
        else:
            raise LookupError(f"the cell {rest} of {chapter} shows nothing")
        caption = typeset(escape(cell.metadata.get("caption", ""), quote=False))
        note = raw(f"<p><small><em>Its caption: {caption}</em></small></p>")
        return [raw(output), *([notes("", note, place=LAST)] if caption else [])]

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
        movable = MOVABLE.search(cell.source)
        alt = cell.metadata["caption"] if movable else cell.metadata["mystnb"]["image"]["alt"]
        image = f'<img class="picture" src="figures/{file.name}" alt="{escape(alt)}">'
        if not movable:
            return image
        page = f"../explore/{movable[1]}.html?theme=light&amp;slide"
        page += f"#{movable[1]}:{self.options['state']}" if "state" in self.options else ""
        return (
            f'<iframe class="movable" data-src="{page}" onload="{ONLOAD}" '
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
        speech = notes("", *self.parse_content_to_nodes(), place=SPOKEN, **self.options)
        speech["reserve"] = self.arguments[0] == "reserve"
        speech["minutes"] = 0.0 if speech["reserve"] else float(self.arguments[0])
        return [speech, *([raw(SPARE)] if "late" in self.options else [])]


class Reserve(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        return [reserve()]


class Book(SphinxDirective):
    """Addresses in letters, to be written down; where there is none, the names of files."""

    def run(self) -> list[nodes.Node]:
        address, repository = self.config.lecture_address, self.config.lecture_repository
        name = escape(address) or typeset("Why divide by √d_k?")
        lab = escape(f"{address}/lecture/lab.ipynb".lstrip("/"))
        beside = "" if address else ", beside these slides"
        clone = repository and f'<a href="{repository}">git clone {repository}</a>'
        places = {
            "The book": f'<a href="{stored.address("00")}" target="_blank">{name}</a>',
            "The lab": f'<a href="lab.ipynb" download target="_blank">{lab}</a>{beside}',
            **({"The package": clone} if clone else {}),
        }
        lines = (f'<p class="address"><b>{what}:</b> {where}</p>' for what, where in places.items())
        return [raw("".join(lines))]
