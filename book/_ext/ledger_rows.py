"""Sphinx extension: the rows of the ledger can be linked to, and link to chapters, as anything else
in the book.

The ledger is a notebook's HTML output, of which Sphinx knows nothing. Here each row's id becomes a
target that a chapter may link to, [S1-04](ledger.ipynb#S1-04), and the notebooks that rows link to
become pages. A dead link of either kind is a warning, and a warning fails the build.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

ROW = re.compile(r'<tr id="([^"]+)"')
NOTEBOOK = re.compile(r'href="([\w-]+)\.ipynb')

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", register_rows)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def register_rows(app: Sphinx, doctree: nodes.document) -> None:
    page = app.env.docname
    for output in doctree.findall(nodes.raw):
        text = output.astext()
        if 'class="ledger"' not in text:
            continue
        slugs = app.env.metadata[page].setdefault("myst_slugs", {})
        slugs.update({row: (0, row, row) for row in ROW.findall(text)})
        folder = PurePosixPath(page).parent
        for stem in sorted(set(NOTEBOOK.findall(text))):
            if str(folder / stem) not in app.env.found_docs:
                logger.warning(
                    "the ledger links to %s, which is no page of the book", stem, location=page
                )
        output.children = [nodes.Text(NOTEBOOK.sub(r'href="\1.html', text))]
