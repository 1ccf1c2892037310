"""Sphinx extension: chapters are written in Markdown that every viewer of notebooks shows well, and
some of it means more to the site.

- A quotation that begins with a bold label is a box: ``> **Predict.** How large is it?``, with the
  labels of ``BOXES``.
- HTML's ``<details>``, its ``<summary>`` in the same block, is a fold. What stands between its tags
  is Markdown, apart from them by empty lines.
- A paragraph that begins ``**Table.**`` is the title of the table behind it.
- An image that stands alone and is one of our diagrams is as wide as the text.

``folds``, ``predictions`` and ``captions`` go on from there.
"""

from __future__ import annotations

import html
import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

BOXES = {
    "Predict": "hint",
    "What we do not know": "note",
    "Theorem": "important",
}
"""Labels of boxes, or how they begin, and their class."""

DIAGRAMS = "_static/diagrams/"
OPEN = re.compile(r"<details>\s*<summary>(.*?)</summary>\s*", re.S)
CLOSE = "</details>"

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_transform(ReadPlainMarkdown)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class ReadPlainMarkdown(SphinxTransform):
    default_priority = 5  # before anything looks for admonitions or images

    def apply(self, **_kwargs: Any) -> None:
        for quotation in list(self.document.findall(nodes.block_quote)):
            box(quotation)
        for tag in list(self.document.findall(nodes.raw)):
            fold(tag)
        for paragraph in list(self.document.findall(nodes.paragraph)):
            entitle(paragraph)
            widen(paragraph)


def box(quotation: nodes.block_quote) -> None:
    """Make an admonition of a quotation that begins with a label."""
    first: Any = quotation[0]
    label = take_label(first)
    if label is None:
        return
    kind = next((kind for begins, kind in BOXES.items() if label.startswith(begins)), None)
    if kind is None:
        logger.warning(
            "a box is called %s; this one is called: %s", ", ".join(BOXES), label, location=first
        )
    title = nodes.title("", "", *inline(label))
    rest = quotation.children if len(first) else quotation.children[1:]
    box = nodes.admonition("", title, *rest, classes=[kind or "note"])
    box.source, box.line = quotation.source, quotation.line
    quotation.replace_self(box)


def take_label(paragraph: Any) -> str | None:
    """Take away the bold words with which a paragraph begins, and say what they are, without a
    point at the end.
    """
    if not isinstance(paragraph, nodes.paragraph):
        return None
    begins = [node for node in paragraph.children if node.astext()]
    if not (begins and isinstance(begins[0], nodes.strong)):
        return None
    paragraph[:] = begins[1:]
    if len(paragraph) and isinstance(paragraph[0], nodes.Text):
        paragraph[0] = nodes.Text(paragraph[0].lstrip())
    return str(begins[0].astext().rstrip("."))


def fold(tag: nodes.raw) -> None:
    """Make a dropdown of what stands between ``<details>`` and its end."""
    opened = OPEN.fullmatch(tag.astext())
    if opened is None:
        if "<details" in tag.astext():
            logger.warning(
                "a fold begins with <details><summary>...</summary> and an empty line; this one "
                "with: %s",
                tag.astext(),
                location=tag,
            )
        return
    parent, start = tag.parent, tag.parent.index(tag)
    ends = (
        place
        for place, node in enumerate(parent[start:], start)
        if isinstance(node, nodes.raw) and node.astext().strip() == CLOSE
    )
    end = next(ends, None)
    if end is None:
        logger.warning("a fold has no end: %s", opened[1], location=tag)
        return
    title = nodes.title("", "", *inline(html.unescape(opened[1])))
    fold = nodes.admonition("", title, *parent[start + 1 : end], classes=["dropdown"])
    fold.source, fold.line = tag.source, tag.line
    parent[start : end + 1] = [fold]


def inline(text: str) -> list[nodes.Node]:
    """A title, in which formulas stand between dollar signs."""
    parts = enumerate(text.split("$"))
    return [nodes.math("", part) if odd % 2 else nodes.Text(part) for odd, part in parts if part]


def entitle(paragraph: nodes.paragraph) -> None:
    """Make a paragraph that begins with Table the title of the table behind it."""
    if not paragraph.astext().startswith("Table.") or take_label(paragraph) != "Table":
        return
    behind: Any = paragraph.next_node(descend=False, siblings=True)
    if not isinstance(behind, nodes.table):
        logger.warning(
            "**Table.** begins the title of a table, and none stands behind this one: %s",
            paragraph.astext(),
            location=paragraph,
        )
        return
    behind.insert(0, nodes.title("", "", *paragraph.children))
    paragraph.parent.remove(paragraph)


def widen(paragraph: nodes.paragraph) -> None:
    """Let a diagram stand outside of its paragraph and be as wide as the text."""
    image: Any = paragraph[0] if len(paragraph) == 1 else None
    if isinstance(image, nodes.image) and DIAGRAMS in image["uri"]:
        image["classes"].append("diagram")
        image["width"] = "100%"
        paragraph.replace_self(image)
