"""Sphinx extension: figures that a reader can move, and pictures of them for where no script runs.

A cell ``movable("growth")`` shows the explorable of that name, the folder ``growth`` of
``sdpa_book.explorables``. What it puts out is a picture, until the script
takes its place; its caption is the cell's metadata ``caption``. Each explorable has a page of its
own besides, ``explore/growth.html``, for lectures: as large as the screen, with nothing around it.
"""

from __future__ import annotations

import html
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sdpa_book.explorables import EXPLORABLES, SHARED, explorable, script, style
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

from cells.folds import is_cell
from cells.table_names import typeset

MOVABLE = re.compile(r'^movable\("(\w+)"\)', re.M)

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_post_transform(ShowExplorables)
    app.connect("builder-inited", write_static)
    app.connect("doctree-read", note)
    app.connect("html-page-context", mark)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("html-collect-pages", lectures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class ShowExplorables(SphinxPostTransform):
    """In place of the cell, a figure whose picture the script replaces."""

    default_priority = 184  # after MyST-NB has chosen what is shown of an output
    formats = ("html",)

    def run(self, **_kwargs: Any) -> None:
        for cell, name in explorable_cells(self.document):
            picture = next(cell.findall(nodes.image))
            picture["alt"] = explorable(name).ALT
            picture["classes"] = ["explorable-static"]
            alone = self.app.builder.get_relative_uri(self.env.docname, f"explore/{name}")
            start = (
                f'<figure class="explorable" id="explorable-{name}" data-explorable="{name}" '
                f'data-alone="{alone}">'
            )
            caption = typeset(html.escape(cell["cell_metadata"]["caption"], quote=False))
            place = cell.parent.index(cell)
            cell.parent[place : place + 1] = [
                nodes.raw("", start, format="html"),
                picture,
                nodes.raw("", "<figcaption>", format="html"),
                nodes.paragraph("", "", nodes.raw("", caption, format="html")),
                nodes.raw("", "</figcaption></figure>", format="html"),
            ]


def explorable_cells(document: nodes.document) -> list[tuple[nodes.container, str]]:
    """The cells that show an explorable, and its name."""
    cells = [cell for cell in document.findall(nodes.container) if is_cell(cell)]
    names = [(cell, MOVABLE.search(cell.astext())) for cell in cells]
    return [(cell, name[1]) for cell, name in names if name]


def note(app: Sphinx, document: nodes.document) -> None:
    """Remember which page has which explorables, and what is wrong with their cells."""
    for cell, name in explorable_cells(document):
        if name in EXPLORABLES and "caption" in cell["cell_metadata"]:
            places(app.env)[name] = app.env.docname
        else:
            logger.warning(
                "movable takes one of %s, and its cell has a caption in its metadata; this one has "
                "%s and %s",
                ", ".join(EXPLORABLES),
                name,
                cell["cell_metadata"],
                location=cell,
            )


def mark(
    _app: Sphinx,
    _page: str,
    _template: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Only a page with explorables loads what they need."""
    context["has_explorables"] = doctree is not None and any(
        "data-explorable" in node.astext() for node in doctree.findall(nodes.raw)
    )


def places(env: BuildEnvironment) -> dict[str, str]:
    """By explorable the page that it stands on."""
    if not hasattr(env, "explorables"):
        env.explorables = {}  # type: ignore[attr-defined]
    pages: dict[str, str] = env.explorables  # type: ignore[attr-defined]
    return pages


def forget(_app: Sphinx, env: BuildEnvironment, page: str) -> None:
    """What a page had that is read again."""
    for name in [name for name, where in places(env).items() if where == page]:
        del places(env)[name]


def merge(_app: Sphinx, env: BuildEnvironment, _pages: set[str], other: BuildEnvironment) -> None:
    """What another process read."""
    places(env).update(places(other))


def lectures(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """A page of the site for each explorable, and nothing else on it."""
    if app.builder.name != "html":
        return
    for name, chapter in places(app.env).items():
        title = app.env.titles[chapter].astext()
        yield f"explore/{name}", {"name": name, "chapter": chapter, "title": title}, "lecture.html"


def write_static(app: Sphinx) -> None:
    """Among the static files scripts with what the explorables know of the library, their style
    sheet, and what loads them.
    """
    static = Path(app.outdir).parent / "explorables" / "static"
    folder = static / "explore"
    folder.mkdir(parents=True, exist_ok=True)
    for name in EXPLORABLES:
        (folder / f"{name}_data.js").write_text(script(name), encoding="utf-8")
    (folder / "explorables.css").write_text(style(*EXPLORABLES), encoding="utf-8")
    for name in ("explorables_loader.js", "slide.css"):
        shutil.copy(SHARED / name, folder)
    app.config.html_static_path.append(str(static))
