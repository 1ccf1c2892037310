"""The plan of the lecture, which the presenter reads: its parts, and the slides in reserve."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx_revealjs.nodes import revealjs_section

from cells.table_names import typeset

FIRST, SPOKEN, LAST = range(3)
"""The order of a slide's notes: how to vote, what to say, and the caption of what is shown."""
PLAN = (
    "<table><thead><tr><th>part</th><th>minutes</th><th>short of time: leave out</th>"
    "<th>time left: show from the reserve</th></tr></thead><tbody>{rows}</tbody></table>"
    "<p>{slides} slides and {reserve} in reserve; {minutes:g} minutes, and {free:g} kept free. "
    "The notes are about {words:,} words, which are {talk} minutes of talk: the rest hangs on "
    "polls and the room. A slide in reserve takes about three.</p>"
)
PACE = 120
"""Words a minute."""

logger = logging.getLogger(__name__)


class notes(nodes.General, nodes.Element):
    """What the presenter reads, and the audience does not."""


class part(nodes.General, nodes.Element):
    """Where a part begins."""


class reserve(nodes.General, nodes.Element):
    """Where the slides in reserve are listed."""


def raw(html: str) -> nodes.raw:
    return nodes.raw("", html, format="html")


@dataclass
class Stretch:
    """A part of the lecture: what a late class leaves out of it, and what an early one adds."""

    name: str
    minutes: float = 0.0
    late: list[str] = field(default_factory=list)
    early: list[str] = field(default_factory=list)

    def row(self) -> str:
        cells = self.name, f"{self.minutes:g}", "; ".join(self.late), "; ".join(self.early)
        return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"


def strip(plan: list[str], name: str) -> nodes.raw:
    """All parts of the lecture, and which of them begins."""
    steps = (f"<li{' class=now' if one == name else ''}>{escape(one)}</li>" for one in plan)
    return raw(f'<ol class="parts">{"".join(steps)}</ol>')


def list_reserve(document: nodes.document, names: dict[str, str]) -> str:
    """Put the names in the list of the slides in reserve; and the address of that list."""
    at = ""
    for node in list(document.findall(reserve)):
        links = (
            f'<li><a href="#/{one}">{typeset(escape(name))}</a></li>' for name, one in names.items()
        )
        at = f"#/{node.parent['ids'][0]}"
        node.replace_self(
            raw(f'<ul class="reserve"><li><b>In reserve:</b></li>{"".join(links)}</ul>')
        )
    return at


def plan_lecture(app: Sphinx, document: nodes.document) -> None:
    """Sum the minutes by part, and let slides in reserve be found by their names."""
    plan = [one["name"] for one in document.findall(part) if one["name"]]
    stretches = [Stretch("The question")]
    spoken: dict[nodes.section, notes] = {}
    for slide in list(document.findall(nodes.section)):
        own = [one for one in slide.children if isinstance(one, notes)]
        mains = [one for one in own if one["place"] == SPOKEN]
        if len(mains) != 1:
            logger.warning("a slide has one {notes}, this one %d", len(mains), location=slide)
            continue
        (main,) = mains
        spoken[slide] = main
        for other in [one for one in own if one is not main]:
            slide.remove(other)
            main[0 if other["place"] == FIRST else len(main) : 0] = other.children
    behind = {slide: main for slide, main in spoken.items() if main["reserve"]}
    names = {slide.next_node(nodes.title).astext(): slide["ids"][0] for slide in behind}
    listed = list_reserve(document, names)
    for slide, main in behind.items():
        mark = f'<a href="{listed}">in reserve</a>' if listed else "in reserve"
        slide.insert(slide.index(main), raw(f'<p class="spare behind">{mark}</p>'))
        slide.append(revealjs_section(**{"data-visibility": "uncounted"}))
        main[0:0] = [raw("<p><b>In reserve: show it if somebody asks.</b></p>")]
    timed = {slide: main for slide, main in spoken.items() if slide not in behind}
    words = 0
    for slide, main in timed.items():
        words += len(main.astext().split())
        for begins in [one for one in slide.children if isinstance(one, part)]:
            if begins["name"]:
                stretches.append(Stretch(begins["name"]))
            slide.replace(begins, strip(plan, begins["name"]))
        stretches[-1].minutes += main["minutes"]
        if late := main.get("late"):
            title = slide.next_node(nodes.title).astext().rstrip("?")
            stretches[-1].late.append(f"{title}: {late}")
            main[0:0] = [raw(f"<p><b>◇ Short of time:</b> {escape(late)}</p>")]
        if early := main.get("early"):
            if early not in names:
                logger.warning("no slide in reserve is called %s", early, location=slide)
            stretches[-1].early.append(early)
            main.append(raw(f"<p><b>Time left:</b> {escape(early)}</p>"))
    if timed:
        minutes = sum(one.minutes for one in stretches)
        overview = PLAN.format(
            rows="".join(one.row() for one in stretches),
            slides=len(timed),
            reserve=len(behind),
            minutes=minutes,
            free=app.config.lecture_minutes - minutes,
            words=round(words, -1),
            talk=round(words / PACE),
        )
        next(iter(timed.values())).append(raw(overview))
