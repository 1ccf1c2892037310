"""Sphinx extension: each page describes itself, for search engines and previews of its link.

``page_description`` in a template is the page's answer, or its abstract; where it has neither, its
first paragraph of some length; and for a page without one, the site's ``description`` in
``html_context``. It is cut at a word, and its formulas are as one would type them.
"""

from __future__ import annotations

import re
from textwrap import shorten
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from cells.node_text import text

SUMMED_UP = re.compile(r"(?:The answer|Abstract)\. ")
AT_LEAST, AT_MOST = 60, 162  # characters


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("html-page-context", describe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def describe(
    app: Sphinx, _page: str, _template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    paragraphs = [] if doctree is None else doctree.findall(nodes.paragraph)
    read = [" ".join(text(*paragraph.children).split()) for paragraph in paragraphs]
    answers = [SUMMED_UP.sub("", words) for words in read if SUMMED_UP.match(words)]
    long = [words for words in read if len(words) > AT_LEAST]
    best = next(iter(answers + long), app.config.html_context["description"])
    context["page_description"] = shorten(best, AT_MOST, placeholder=" …")
