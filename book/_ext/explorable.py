"""Sphinx extension: figures that a reader can move, and pictures of them for where no script runs.

In a chapter ``:::{explorable} growth`` with a sentence inside stands for the explorable of that
name: ``book/_explore/src/growth.js``, and ``growth_explorable`` of ``sdpa_book.explorables``. The
page shows a picture until the script takes its place. Each explorable has a page of its own
besides, ``explore/growth.html``, for lectures: as large as the screen, with nothing around it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from docutils import nodes
from sdpa_book.drawing import svg
from sdpa_book.explorables import EXPLORABLES, explorable, script
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("explorable", Explorable)
    app.connect("builder-inited", write_data)
    app.connect("html-page-context", mark)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("html-collect-pages", lectures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class Explorable(SphinxDirective):
    """A figure to move: its name, and as content a sentence for its caption."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        (name,) = self.arguments
        if name not in EXPLORABLES:
            raise self.error(f"explorable must be one of {', '.join(EXPLORABLES)}, got {name}")
        module = explorable(name)
        file = Path(self.env.app.outdir).parent / "explorables" / f"{name}.svg"
        file.parent.mkdir(parents=True, exist_ok=True)
        module.draw()
        file.write_text(svg.picture(plt.gcf()), encoding="utf-8")
        plt.close()
        uri = "/" + Path(os.path.relpath(file, self.env.srcdir)).as_posix()
        env = self.env
        places(env)[name] = env.docname
        alone = env.app.builder.get_relative_uri(env.docname, f"explore/{name}")
        start = (
            f'<figure class="explorable" id="explorable-{name}" data-explorable="{name}" '
            f'data-alone="{alone}">'
        )
        return [
            nodes.raw("", start, format="html"),
            nodes.image(uri=uri, alt=module.ALT, classes=["explorable-static"]),
            nodes.raw("", "<figcaption>", format="html"),
            *self.parse_content_to_nodes(),
            nodes.raw("", "</figcaption></figure>", format="html"),
        ]


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
    found: dict[str, str] = env.explorables  # type: ignore[attr-defined]
    return found


def forget(_app: Sphinx, env: BuildEnvironment, page: str) -> None:
    """What a page had that is read again."""
    for name in [name for name, where in places(env).items() if where == page]:
        del places(env)[name]


def merge(_app: Sphinx, env: BuildEnvironment, _pages: set[str], other: BuildEnvironment) -> None:
    """What another process read."""
    places(env).update(places(other))


def lectures(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """A page for each explorable, and nothing else on it."""
    for name, chapter in places(app.env).items():
        title = app.env.titles[chapter].astext()
        yield f"explore/{name}", {"name": name, "chapter": chapter, "title": title}, "lecture.html"


def write_data(app: Sphinx) -> None:
    """Scripts with what the explorables know of the library, among the static files."""
    static = Path(app.outdir).parent / "explorables" / "static"
    folder = static / "explore"
    folder.mkdir(parents=True, exist_ok=True)
    for name in EXPLORABLES:
        later: dict[str, str] = getattr(explorable(name), "scripts", dict)()
        for file, text in {f"{name}_data": script(name), **later}.items():
            (folder / f"{file}.js").write_text(text, encoding="utf-8")
    app.config.html_static_path.append(str(static))
