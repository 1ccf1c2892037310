"""When each slide of the lecture begins and ends, and the plan that the presenter reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx_revealjs.nodes import revealjs_section

FIRST, SPOKEN, LAST = range(3)
"""The order of a slide's notes: how to vote, what to say, and the caption of what is shown."""
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

logger = logging.getLogger(__name__)


class notes(nodes.General, nodes.Element):
    """What the presenter reads, and the audience does not."""


class part(nodes.General, nodes.Element):
    """Where a part begins."""


def raw(html: str) -> nodes.raw:
    return nodes.raw("", html, format="html")


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
        mains = [one for one in spoken if one["place"] == SPOKEN]
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
        overview = PLAN.format(
            rows="".join(one.row() for one in [*stretches, Stretch("The end", now)]),
            slides=len(timed),
            backups=backups,
            minutes=now,
            free=app.config.lecture_minutes - now,
            words=round(words, -1),
            talk=round(words / PACE),
        )
        timed[0].append(raw(overview))
