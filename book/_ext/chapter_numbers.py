"""Sphinx extension: a chapter's title begins with its number, which its file has already, wherever
the title is shown: on the page, among the chapters, on the way to the next one, in search.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_transform(NumberTitle)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class NumberTitle(SphinxTransform):
    default_priority = 700

    def apply(self, **_kwargs: Any) -> None:
        number = re.match(r"(?:.*/)?(\d\d)_", self.env.docname)
        title = next(self.document.findall(nodes.title), None)
        if title is not None and number is not None and int(number[1]):
            title.insert(0, nodes.Text(f"{int(number[1])}. "))
