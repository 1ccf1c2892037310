"""Sphinx extension: formulas are set as MathML when the book is built.

Browsers draw MathML themselves and screen readers speak it, so that a page needs no script for its
formulas and shows them at once. The font for them comes with the theme.
"""

from __future__ import annotations

import itertools
import re
from html import escape
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

NAMED = re.compile(r"\\(ln|log|exp|cos|tanh)(?:\s+(?=[A-Za-z0-9])|\s*(?=\\[a-z])(?!\\left|\\big))")

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    following = node.next_node(descend=False, siblings=True)
    glue = (
        "\u2060" if isinstance(following, nodes.Text) and following[:1] in ",.;:)?!’" else ""
    )  # no line begins with a comma
    translator.body.append(mathml(node.astext(), "inline", node) + glue)
    raise nodes.SkipNode


def visit_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="math">{mathml(node.astext(), "block", node)}</div>')
    raise nodes.SkipNode


def mathml(latex: str, display: str, node: nodes.Node) -> str:
    """A formula as a ``<math>`` element; what can't be converted is shown as it was typed, and
    fails the build.
    """
    latex = re.sub(
        r"\\mathrm\{([A-Za-z]{2,})\}", r"\\text{\1}", latex.strip()
    )  # a word, and not its letters one by one
    latex = latex.replace("{aligned}", "{align*}")  # the name under which the converter knows it
    latex = NAMED.sub(r"\\\1\\,", latex)  # the thin space between a function and its argument
    try:
        formula = convert(with_fences(latex), display=display)
    except Exception as error:  # the converter raises what its parser meets
        logger.warning("no formula: %s: %s", latex, error, location=node)
        return f"<code>{escape(latex)}</code>"
    if "\\" in formula:
        logger.warning(
            "the converter doesn't know a command of this formula: %s", latex, location=node
        )
    return formula


def with_fences(latex: str) -> str:
    """Delimiters of a chosen size become pairs that fit what they hold: browsers let no others
    carry an exponent.
    """
    latex = re.sub(r"\\[bB]igg?l?\s*([(\[])", r"\\left\1", latex)
    latex = re.sub(r"\\[bB]igg?r?\s*([)\]])", r"\\right\1", latex)
    sides = itertools.cycle((r"\left\Vert ", r"\right\Vert "))
    return re.sub(r"\\[bB]igg?[lr]?\\\|", lambda _: next(sides), latex)
