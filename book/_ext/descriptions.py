"""Sphinx extension: each page describes itself, for search engines and previews of its link.

``page_description`` in a template is the page's first paragraph of some length, cut at a word; for
a page without one, the site's ``description`` in ``html_context``.
"""

from __future__ import annotations

from textwrap import shorten
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

AT_LEAST, AT_MOST = 60, 162  # characters


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("html-page-context", describe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def describe(
    app: Sphinx, _page: str, _template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    paragraphs = [] if doctree is None else doctree.findall(nodes.paragraph)
    texts = (" ".join(paragraph.astext().split()) for paragraph in paragraphs)
    of_the_site = app.config.html_context["description"]
    text = next((text for text in texts if len(text) > AT_LEAST), of_the_site)
    context["page_description"] = shorten(text, AT_MOST, placeholder=" …")
