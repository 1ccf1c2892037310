"""Sphinx extension: formulas are set as MathML when the book is built.

Browsers draw MathML themselves and screen readers speak it, so that a page needs no script for its
formulas and shows them at once. The font for them comes with the theme.
"""

from __future__ import annotations

import re
from html import escape
from itertools import pairwise, zip_longest
from typing import Any, NamedTuple
from unicodedata import lookup
from xml.etree import ElementTree

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

OPENING = ("(", "[", r"\{", r"\langle", r"\lvert", r"\lVert", r"\lfloor", r"\lceil")
CLOSING = (")", "]", r"\}", r"\rangle", r"\rvert", r"\rVert", r"\rfloor", r"\rceil")
BARS = ("|", r"\|", r"\vert", r"\Vert")
MARK = "|".join(map(re.escape, (*OPENING, *CLOSING, *BARS)))
TOKEN = re.compile(  # a delimiter of a chosen size; what ends a group or a cell; any other command
    rf"(?P<size>\\[bB]igg?)(?P<side>[lr]?)(?![A-Za-z])\s*(?P<mark>{MARK})(?<![A-Za-z](?=[A-Za-z]))"
    r"|\\[A-Za-z]+|\\.|[{}&]"
)
FUNCTION = r"\\(?:ln|log|exp|sin|cos|tanh)(?![A-Za-z])"
FACTOR = re.compile(  # what a function may be multiplied by
    r"((?<![\\A-Za-z])[A-Za-z0-9]+|[)}\]]"
    r"|\\(?:sqrt ?\w|\||[lr]Vert|top|alpha|beta|kappa|pi|rho|sigma))"
    rf"\s*(?={FUNCTION})"
)
ARGUMENT = re.compile(rf"({FUNCTION})\s*(?=[A-Za-z0-9]|\\[a-z])(?!\\left|\\big)")
BEFORE = re.compile(r"[^\s\w,.;:?!)\]-]+$")
AFTER = re.compile(r"^(?:-(?:th|st|nd|rd)\b|[^\s\w]s\b)?[^\s\w-]*-?")
RELATIONS = "=≈≠<>≤≥≪≫→∝~"
LONG = 24  # characters of a formula in a line that may be wider than a phone
MATHML = "http://www.w3.org/1998/Math/MathML"

logger = logging.getLogger(__name__)


class Fence(NamedTuple):
    """An opened delimiter: as it was typed, its size, and what closes it."""

    text: str
    size: str
    kind: str


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_post_transform(KeepPunctuation)
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class KeepPunctuation(SphinxPostTransform):
    """What stands directly beside a formula stays in its line: browsers let a line end on either
    side of a ``<math>``, whatever its neighbour is.

    A hyphen is the end of what is kept, so that a line still ends after that of "n-dimensional"; an
    ordinal has its ending with it.
    """

    default_priority = 200
    formats = ("html",)

    def run(self, **_kwargs: Any) -> None:
        for formula in list(self.document.findall(nodes.math)):
            place = formula.parent.index(formula)
            before, after = (
                str(neighbour) if isinstance(neighbour, nodes.Text) else ""
                for neighbour in (
                    formula.parent[place - 1] if place else None,
                    formula.next_node(descend=False, siblings=True),
                )
            )
            opening, closing = match(BEFORE, before), match(AFTER, after)
            if not opening and not closing:
                continue
            together = nodes.inline(classes=["together"])
            formula.replace_self(together)
            together.extend((nodes.Text(opening), formula, nodes.Text(closing)))
            if opening:
                together.parent[place - 1] = nodes.Text(before.removesuffix(opening))
            if closing:
                together.parent[place + 1] = nodes.Text(after.removeprefix(closing))


def match(pattern: re.Pattern[str], text: str) -> str:
    end = pattern.search(text)
    return end[0] if end else ""


def visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(in_pieces(mathml(node.astext(), "inline", node)))
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
    # The thin spaces before a function and between it and its argument.
    latex = ARGUMENT.sub(r"\1\\,", FACTOR.sub(r"\1\\,", latex))
    try:
        formula = convert(with_fences(latex), display=display)
    except Exception as error:  # the converter raises what its parser meets
        logger.warning("no formula: %s: %s", latex, error, location=node)
        return f"<code>{escape(latex)}</code>"
    if "\\" in formula:
        logger.warning(
            "the converter doesn't know a command of this formula: %s", latex, location=node
        )
    return spaced(formula)


def spaced(formula: str) -> str:
    """A formula without the spaces that browsers leave about what is no operator: infinity, dots,
    strokes, transposes, derivatives, names, signs of what follows them, and bars that enclose
    something. Those come in pairs; a bar that has no partner among what stands beside it keeps its
    space. A comma in braces parts the digits of a number, without a space. A sum behind a sign has
    the space of the sign alone, and a tilde is an operator.

    And a root of low letters is as high as one of high ones, where it would hang below the line; a
    prime, which the font has high and small, is no exponent that would be higher and smaller.
    """
    ElementTree.register_namespace("", MATHML)
    root = ElementTree.fromstring(formula)
    for part in root.iter(f"{{{MATHML}}}msqrt"):
        part.append(ElementTree.Element(f"{{{MATHML}}}mpadded", height="0.7em"))
    for part in root.iter(f"{{{MATHML}}}msup"):
        if part[1].text == "\u2032":
            part.tag = f"{{{MATHML}}}mrow"
    for part in root.iter(f"{{{MATHML}}}mrow"):
        if len(part) == 1 and part[0].text == ",":  # {,} within a number
            part[0].set("rspace", "0")
    for part in root.iter(f"{{{MATHML}}}mi"):
        if part.get("mathvariant") == "script":  # browsers know no alphabet by its name
            part.text = lookup(f"SCRIPT CAPITAL {part.text}")
            del part.attrib["mathvariant"]
        if part.text == "~":
            part.tag = f"{{{MATHML}}}mo"
            part.attrib |= {"lspace": "0.278em", "rspace": "0.278em"}
    for part in root.iter(f"{{{MATHML}}}mo"):
        if part.text in ("∞", "…", "⋯", "/", "\u22a4", "∂"):
            part.tag = f"{{{MATHML}}}mi"
            part.set("mathvariant", "normal")
    for group in root.iter():
        operators = [operator(part) for part in group]
        for mark in "|‖":
            bars = [bar for bar in operators if bar.text == mark and "form" not in bar.attrib]
            for place, bar in enumerate(bars if len(bars) % 2 == 0 else []):
                bar.attrib |= {"form": "postfix" if place % 2 else "prefix", "stretchy": "false"}
        for name, after in zip_longest(operators, list(group)[1:]):
            if name.tag == f"{{{MATHML}}}mo" and len(name.text or "") > 1:
                opens = after is not None and after.text in ("(", "[")
                name.attrib |= {"lspace": "0", "rspace": "0" if opens else "0.167em"}
        printed = [part for part in operators if len(part) or (part.text or "").strip()]
        for before, sign in pairwise(printed):
            closes = before.get("form") == "postfix" or before.text in (")", "]", "}", "!")
            if closes or not before.tag == sign.tag == f"{{{MATHML}}}mo":
                continue
            if sign.text in ("+", "−", "±"):
                sign.set("form", "prefix")
            elif sign.text in ("∑", "∏"):
                sign.set("lspace", "0")
    return ElementTree.tostring(root, encoding="unicode")


def operator(part: ElementTree.Element) -> ElementTree.Element:
    """A part of a formula, or what it has an exponent, an index or limits on."""
    names = ("msub", "msup", "msubsup", "munder", "mover", "munderover")
    scripts = [f"{{{MATHML}}}{name}" for name in names]
    return part[0] if part.tag in scripts else part


def in_pieces(formula: str) -> str:
    """A formula in a line: a long one ends the line behind a relation sign where it has to.

    A browser never breaks a ``<math>``, so that each piece is one of its own, in a box that scrolls
    if even the piece is too wide.
    """
    if not formula.startswith("<math"):
        return formula
    root = ElementTree.fromstring(formula)
    if len("".join(root.itertext())) < LONG:
        return formula
    pieces: list[list[ElementTree.Element]] = [[]]
    depth = 0
    for part in root[0]:
        pieces[-1].append(part)
        inside = "".join(part.itertext())
        depth += sum(map(inside.count, "([")) - sum(map(inside.count, ")]"))
        if part.text and part.text in RELATIONS and not depth:
            part.set("form", "infix")  # the space of a sign that has something on either side
            pieces.append([])
    formulas = []
    for piece in filter(None, pieces):
        root[0][:] = piece
        formulas.append(
            f'<span class="formula">{ElementTree.tostring(root, encoding="unicode")}</span>'
        )
    return "<wbr>".join(formulas)


def with_fences(latex: str) -> str:
    """Delimiters of a chosen size become pairs that fit what they hold: browsers let no others
    carry an exponent.

    A bar looks the same at both ends. Without ``l`` or ``r`` it closes the innermost pair where
    that was opened by the same bar in the same size, and opens one otherwise.

    Raises:
        ValueError: a delimiter has no partner of its size in its group of braces and its cell.
    """
    opened: list[list[Fence]] = [[]]  # for each group of braces, the fences that are open in it

    def replace(token: re.Match[str]) -> str:
        text, size, side, mark = token.group(0, "size", "side", "mark")
        if size is None:
            if text in ("}", "&", r"\\") and opened[-1]:
                raise ValueError(f"{opened[-1][-1].text} is not closed before {text}")
            if text == "{":
                opened.append([])
            elif text == "}" and len(opened) > 1:
                opened.pop()
            return text
        fence = Fence(text, size, mark if mark in BARS and not side else "bracket")
        innermost = opened[-1][-1] if opened[-1] else None
        fits = innermost is not None and innermost[1:] == fence[1:]
        closes = side == "r" or (not side and (mark in CLOSING or (mark in BARS and fits)))
        if closes and not fits:
            raise ValueError(f"{text} closes nothing of its size")
        if closes:
            opened[-1].pop()
        else:
            opened[-1].append(fence)
        return (r"\right" if closes else r"\left") + {r"\|": r"\Vert"}.get(mark, mark) + " "

    result = TOKEN.sub(replace, latex)
    for fence in (fence for group in opened for fence in group):
        raise ValueError(f"{fence.text} is not closed")
    return result
