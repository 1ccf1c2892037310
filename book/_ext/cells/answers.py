"""Sphinx extension: what a reader of the site can do with an exercise that nobody has answered yet.

Its check would say only that, so nothing is shown of it. How an answer is checked is said once,
under the heading of the exercises, before the first one. Where the answer is a number or a few
letters, there is a field for it: the script of the theme compares what is typed with the right
answer and with the known mistakes, by the rules of ``Exercise.judge``.
"""

from __future__ import annotations

import json
import re
from html import escape
from typing import Any

from docutils import nodes
from sdpa_book.exercises import exercises_of
from sdpa_book.exercises.exercise import UNANSWERED, form
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from cells.folds import first, is_cell

ASKED = re.compile(r'\bcheck\(\s*"(?P<name>(?P<chapter>\w+)\.\w+)"')


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_post_transform(OfferAnswers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class OfferAnswers(SphinxPostTransform):
    default_priority = 185  # after MyST-NB has chosen what is shown of an output, before folds
    formats = ("html",)

    def run(self, **_kwargs: Any) -> None:
        asking, fields = [], []
        for cell in list(self.document.findall(nodes.container)):
            output = first(cell, "cell_code_output") if is_cell(cell) else None
            if output is None or not output.astext().startswith(repr(UNANSWERED)):
                continue
            cell.remove(output)
            asked = ASKED.search(cell.astext())
            offered = field(asked["chapter"], asked["name"]) if asked else ""
            asking.append(cell)
            if offered:
                fields.append(offered)
                cell.append(nodes.raw("", offered, format="html", classes=["answering"]))
        if asking:
            heading = heading_over(asking[0])
            way = nodes.raw("", self.way(some=bool(fields)), format="html")
            heading.parent.insert(heading.parent.index(heading) + 1, way)

    def way(self, *, some: bool) -> str:
        """How to check an answer, on a page where some exercises have a field or none has."""
        notebook = f"{'../' * self.env.docname.count('/')}_sources/{self.env.docname}.ipynb"
        where = "Short answers are checked here; functions run in the notebook. " if some else ""
        return (
            f'<p class="how-to-check">{where}<a href="{notebook}" download>Download this page as a '
            "notebook</a>, put your function in place of the dots and run it. Or do the exercise "
            "on paper and open the solution.</p>\n"
        )


def heading_over(cell: nodes.Element) -> Any:
    """The heading of all exercises, if ``cell`` is in one of them, or that of its own section."""
    exercise = cell.parent
    around = exercise.parent
    return (around if isinstance(around.parent, nodes.section) else exercise)[0]


def field(chapter: str, name: str) -> str:
    """A form that knows what ``judge`` knows; nothing for an answer that is a function."""
    exercise = exercises_of(chapter)[name]
    if callable(exercise.answer):
        return ""
    known = {
        "answer": exercise.answer,
        "form": form(exercise.answer),
        "tolerance": exercise.tolerance,
        "mistakes": [[mistake, hint] for hint, mistake in exercise.mistakes.items()],
    }
    return (
        f'<form class="answer" hidden data-known="{escape(json.dumps(known))}">'
        '<input name="given" aria-label="Your answer" placeholder="Your answer" autocomplete="off" '
        'required><button>Check</button><output aria-live="polite"></output></form>\n'
    )
