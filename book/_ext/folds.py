"""Sphinx extension: a folded admonition, ``:class: dropdown``, becomes ``<details>``, which
browsers open and close without a script.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.writers.html5 import HTML5Translator


class Fold(nodes.General, nodes.Element):
    """What is shown when the reader opens it, after a :class:`Summary`."""


class Summary(nodes.Part, nodes.TextElement):
    """The line that is always there."""


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_node(Fold, html=(visit_fold, depart_fold))
    app.add_node(Summary, html=(visit_summary, depart_summary))
    app.add_post_transform(FoldAdmonitions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class FoldAdmonitions(SphinxPostTransform):
    default_priority = 500
    formats = ("html",)

    def run(self, **_kwargs: Any) -> None:
        for admonition in list(self.document.findall(nodes.admonition)):
            if "dropdown" in admonition["classes"]:
                title, *rest = admonition.children
                fold = Fold("", Summary("", "", *title.children), *rest)
                admonition.replace_self(fold)


def visit_fold(translator: HTML5Translator, node: Fold) -> None:
    translator.body.append(translator.starttag(node, "details"))


def depart_fold(translator: HTML5Translator, _node: Fold) -> None:
    translator.body.append("</details>\n")


def visit_summary(translator: HTML5Translator, node: Summary) -> None:
    translator.body.append(translator.starttag(node, "summary", ""))


def depart_summary(translator: HTML5Translator, _node: Summary) -> None:
    translator.body.append("</summary>\n")
