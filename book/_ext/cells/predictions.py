"""Sphinx extension: what a box with the title Predict asks can be answered on the page.

Its bullet lists are options, one list a question, and the comment ``<!-- right -->`` ends the right
one: a notebook shows nothing of it, and the site says it to those who have guessed. The last
paragraph of the box, in brackets, says where the answer stands, and names sections of the page *in
italics*: it waits for the guess. So does the answer behind the box, from the bold words "The
answer." to the paragraph that begins in italics: it becomes one element, which the script of the
theme hides. Without a script all is read as it was written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

RIGHT = "<!-- right -->"

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_post_transform(MarkPredictions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class MarkPredictions(SphinxPostTransform):
    default_priority = 400
    formats = ("html",)

    def run(self, **_kwargs: Any) -> None:
        sections = {
            section[0].astext(): section["ids"][0]
            for section in self.document.findall(nodes.section)
        }
        for box in self.document.findall(nodes.admonition):
            if box[0].astext() != "Predict":
                continue
            box["classes"].append("predict")
            for child in box.children:
                if isinstance(child, nodes.bullet_list):
                    child["classes"].append("options")
                    mark_right(child)
                    for formula in child.findall(nodes.math):
                        logger.warning(
                            "an option of a Predict box is a button, whose name is read aloud, and "
                            "so it has no formula; this one has: %s",
                            formula.astext(),
                            location=child,
                        )
            if not any(isinstance(child, nodes.bullet_list) for child in box.children):
                logger.warning("a Predict box has no options to choose from", location=box)
            where: Any = box[-1]
            if not isinstance(where, nodes.paragraph) or not where.astext().startswith("("):
                logger.warning(
                    "a Predict box ends with a paragraph in brackets, which says where the answer "
                    "stands; this one ends with: %s",
                    where.astext(),
                    location=where,
                )
                continue
            where["classes"].append("where")
            gather_answer(box)
            for name in list(where.findall(nodes.emphasis)):
                if name.astext() in sections:
                    link = nodes.reference(internal=True, refid=sections[name.astext()])
                    name.replace_self(link)
                    link.append(name)
                else:
                    logger.warning(
                        "a Predict box names a section that the page hasn't: %s",
                        name.astext(),
                        location=where,
                    )


def gather_answer(box: nodes.admonition) -> None:
    """Put the paragraphs of the answer behind a box into one container."""
    answer: list[Any] = []
    behind: Any = box.next_node(descend=False, siblings=True)
    while isinstance(behind, nodes.paragraph) and begins(behind, answer):
        answer.append(behind)
        behind = behind.next_node(descend=False, siblings=True)
    if answer:
        place = box.parent.index(answer[0])
        box.parent[place : place + len(answer)] = [
            nodes.container("", *answer, classes=["the-answer"])
        ]


def begins(paragraph: nodes.paragraph, answer: Sequence[nodes.Node]) -> bool:
    """Whether a paragraph begins an answer, or goes on with one that has begun."""
    first = next(node for node in paragraph.children if node.astext())
    if answer:
        return not isinstance(first, nodes.emphasis)
    return isinstance(first, nodes.strong) and first.astext() == "The answer."


def mark_right(options: nodes.bullet_list) -> None:
    """Give the right option a class in place of its comment."""
    comments = [one for one in options.findall(nodes.raw) if one.astext() == RIGHT]
    if len(comments) != 1:
        logger.warning(
            "one option of a question in a Predict box is marked as the right one, by %s at its "
            "end; of these %d are: %s",
            RIGHT,
            len(comments),
            " / ".join(option.astext() for option in options),
            location=options,
        )
    for comment in comments:
        paragraph: Any = comment.parent
        paragraph.remove(comment)
        paragraph[-1] = nodes.Text(paragraph[-1].astext().rstrip())
        paragraph.parent["classes"].append("right")
