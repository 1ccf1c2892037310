"""Sphinx extension: figures and tables of a chapter have a number, and figures a caption.

A caption is the cell's metadata ``caption`` where it has one, and else the beginning of what its
metadata ``mystnb.image.alt`` says for those who can't see it. A table's title is the cell's
``caption``, of a cell that puts out several the next of a list, or that of its directive ``table``.
A table that a cell puts out without a title has its number alone, one of the text neither. What is
folded away has a title and no number, so that those on the page have no gaps. A figure has the
address ``#figure-4-2``, a table ``#table-4-1``. Where nothing is numbered, as on a page that is no
chapter, a table has its title alone.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from cells.chapter_numbers import number_of
from cells.folds import Fold
from cells.table_names import typeset

AT_LEAST = 40  # characters of a caption
OUTPUT = '<table class="sdpa-table"'


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_post_transform(NumberFigures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class NumberFigures(SphinxPostTransform):
    default_priority = 210  # after those that choose, fold and set what a cell puts out
    formats = ("html",)

    def run(self, **_kwargs: Any) -> None:
        chapter = number_of(self.env.docname)
        if chapter is None:
            for output in tables(self.document):
                entitle(output, titled(output))
            return
        # The chapter without a number, which is the first, counts its own alone.
        before = [] if chapter == "0" else [chapter]
        counted: Counter[str] = Counter()

        def label(kind: str) -> tuple[str, str]:
            """What the next one is called, and its address."""
            counted[kind] += 1
            numbers = [*before, counted[kind]]
            name = ".".join(map(str, numbers))
            return f"{kind} {name}", "-".join(map(str, [kind, *numbers])).lower()

        for node in list(self.document.findall(nodes.Element)):
            text = node.astext() if isinstance(node, nodes.raw) else ""
            if is_folded(node):
                if OUTPUT in text:
                    entitle(node, titled(node))  # type: ignore[arg-type]
                continue
            if isinstance(node, nodes.image) and "explorable-static" not in node["classes"]:
                name, address = label("Figure")
                frame(node, f'<figure class="numbered" id="{address}">', caption(node, name))
            elif text == "<figcaption>":
                name, address = label("Figure")
                place = node.parent.index(node)
                start: Any = node.parent[place - 2]  # the tag of the figure; its picture is between
                start[:] = [nodes.Text(f'{start.astext()}<span id="{address}"></span>')]
                sentence: Any = node.parent[place + 1]
                sentence.insert(0, raw(f"<strong>{name}.</strong> "))
            elif isinstance(node, nodes.raw) and OUTPUT in text:
                name, address = label("Table")
                entitle(node, titled(node, name), f' id="{address}"')
            elif isinstance(node, nodes.table) and isinstance(node[0], nodes.title):
                name, address = label("Table")
                node["ids"].insert(0, address)
                node[0].insert(0, raw(f"<strong>{name}.</strong> "))


def is_folded(node: nodes.Node) -> bool:
    """Whether a reader sees a node only who has opened what it stands in."""
    inside: Any = node.parent
    while inside is not None:
        if isinstance(inside, Fold) or "dropdown" in inside.get("classes", ()):
            return True
        inside = inside.parent
    return False


def raw(text: str) -> nodes.raw:
    return nodes.raw("", text, format="html")


def frame(node: nodes.Element, start: str, end: str) -> None:
    """Put HTML before a node and after it."""
    place = node.parent.index(node)
    node.parent.insert(place + 1, raw(end))
    node.parent.insert(place, raw(start))


def tables(within: nodes.Node) -> list[nodes.raw]:
    """What cells put out that is a table."""
    return [node for node in within.findall(nodes.raw) if OUTPUT in node.astext()]


def entitle(table: nodes.raw, title: str, attributes: str = "") -> None:
    start = f"{OUTPUT}{attributes}>{title}"
    table[:] = [nodes.Text(table.astext().replace(f"{OUTPUT}>", start))]


def given(node: nodes.Element) -> str | None:
    """The ``caption`` in the metadata of the cell that a node comes from."""
    inside: Any = node
    while inside is not None and "cell_metadata" not in inside:
        inside = inside.parent
    text: Any = None if inside is None else inside["cell_metadata"].get("caption")
    if inside is not None and isinstance(text, list):
        of_cell: list[Any] = tables(inside)
        text = text[of_cell.index(node)]
    return None if text is None else str(text)


def titled(node: nodes.Element, name: str = "") -> str:
    """A table's title, of its name, if it has one, and what its cell says of it."""
    text = given(node)
    parts = [f"<strong>{name}{'.' if text else ''}</strong>"] if name else []
    parts += [typeset(html.escape(text, quote=False))] if text else []
    return f"<caption>{' '.join(parts)}</caption>" if parts else ""


def caption(node: nodes.image, name: str) -> str:
    text = typeset(html.escape(given(node) or beginning(node.get("alt", "")), quote=False))
    return f"<figcaption><strong>{name}.</strong> {text}</figcaption></figure>\n"


def beginning(text: str) -> str:
    """The first sentences of a text, up to :data:`AT_LEAST` characters or a little more; of a long
    one what stands before its colon.

    Example:
        >>> beginning("Two planes. Left, the keys and the query as arrows: they part. Right, more.")
        'Two planes. Left, the keys and the query as arrows.'
    """
    end = next((end.start() for end in re.finditer(r"[.:]\s", text) if end.start() >= AT_LEAST), -1)
    return f"{text[:end].rstrip('.')}."
