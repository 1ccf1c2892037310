"""Sphinx extension: what is folded becomes ``<details>``, which browsers open and close without a
script.

That is an admonition of the class ``dropdown``, and code that a reader of the site need not see: of
a cell that draws a figure, which stands before its code, and of cells with the tag ``hide-input``
or ``hide-cell``. Those with ``hide-cell`` that follow a dropdown belong to it, as the code of a
solution does. Folded code with nothing to see in between is one fold, and code that puts out
nothing stands with that of the cell behind it. Where there is text in between, as behind imports at
the beginning of a page, it goes to the next code that has something above it: a line "Code" stands
below what the code shows. A fold that has both says how what stands above it was computed.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    app.add_post_transform(FoldCells)
    app.add_post_transform(FoldAdmonitions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class FoldCells(SphinxPostTransform):
    default_priority = 190  # after MyST-NB has chosen what is shown of an output, before it folds
    formats = ("html",)

    def run(self, **_kwargs: Any) -> None:
        for cell in list(self.document.findall(nodes.container)):
            if not is_cell(cell):
                continue
            source = first(cell, "cell_code_source")
            output = first(cell, "cell_code_output")
            mode = cell.attributes.pop("hide_mode", None)
            before = previous(cell)
            if mode == "all" and "dropdown" in getattr(before, "attributes", {}).get("classes", ()):
                cell.parent.remove(cell)
                before.append(cell)
            elif mode == "all":
                cell.children = []
                cell.append(folded(*filter(None, (source, output))))
            elif source is not None and (mode == "input" or draws(output)):
                cell.remove(source)
                cell.append(folded(source))
            join(before, cell)
        cells = [cell for cell in self.document.findall(nodes.container) if is_cell(cell)]
        for cell in reversed(cells):
            if is_bare(cell):
                send_on(cell, cells[cells.index(cell) + 1 :])
            elif folds_code(cell) and len(cell) == 1 and puts_out(cell):
                cell[0][0][:] = [nodes.Text("How this was computed")]  # type: ignore[index]


def is_bare(cell: nodes.Element) -> bool:
    """Whether there is nothing to see but a fold, with text above it and nothing but code in it."""
    above = previous(cell)
    seen = is_cell(above) or isinstance(above, nodes.table | nodes.raw)
    return folds_code(cell) and len(cell) == 1 and not puts_out(cell) and not seen


def send_on(cell: nodes.Element, later: Sequence[nodes.Element]) -> None:
    """Put the code of a cell before that of the next one that is folded; at the end of a page there
    is none, and the code is the notebook's alone.
    """
    cell.parent.remove(cell)
    following = next((one for one in later if folds_code(one) and one.parent is not None), None)
    if following is not None:
        cell[:] = cell[0][1:]  # type: ignore[index]
        following[-1].insert(1, cell)  # type: ignore[attr-defined]


def join(before: Any, cell: Any) -> None:
    """Make one fold of the code of two cells, if nothing can be seen between; what a fold puts out
    stays in it.
    """
    if not (is_cell(before) and folds_code(before) and folds_code(cell)):
        return
    if len(before) == 1 and not puts_out(before):
        before.parent.remove(before)
        before[:] = before[0][1:]
        cell[-1].insert(1, before)
    elif len(cell) == 1:
        cell.parent.remove(cell)
        cell[:] = cell[0][1:]
        before[-1].append(cell)


def is_cell(node: Any) -> bool:
    return getattr(node, "attributes", {}).get("nb_element") == "cell_code"


def folds_code(cell: nodes.Element) -> bool:
    return len(cell) > 0 and isinstance(cell[-1], Fold)


def puts_out(cell: nodes.Element) -> bool:
    return any(x.get("nb_element") == "cell_code_output" for x in cell.findall(nodes.container))


def first(cell: nodes.Element, name: str) -> nodes.Element | None:
    """The child of a cell that MyST-NB calls so."""
    for child in cell.children:
        if isinstance(child, nodes.Element) and child.get("nb_element") == name:
            return child
    return None


def previous(node: nodes.Element) -> Any:
    """The node before, of the same parent; ``None`` for the first."""
    place = node.parent.index(node)
    return node.parent[place - 1] if place else None


def draws(output: nodes.Element | None) -> bool:
    return output is not None and next(output.findall(nodes.image), None) is not None


def folded(*content: nodes.Element) -> Fold:
    return Fold("", Summary("", "Code"), *content, classes=["code"])


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
