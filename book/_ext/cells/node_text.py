"""What a reader sees of a page's nodes, in one line: of formulas what one would type."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from docutils import nodes
from sphinx import addnodes

from cells.folds import Fold
from cells.mathml import mathml

CODE = (nodes.literal_block, nodes.doctest_block)
ENTRIES = (nodes.section, nodes.definition_list_item, nodes.citation, addnodes.desc)
TAG = re.compile(r"<(style|script|svg)\b.*?</\1>|<td[^>]*>[^A-Za-z<]*</td>|<[^>]+>", re.S)
"""What a reader of HTML does not see, with cells that hold a number, which nobody searches for."""


def text(*content: nodes.Node) -> str:
    """What a reader sees, formulas as one would type them. Code is left out, and what has an entry
    of its own.
    """
    parts = []
    for node in content:
        if isinstance(node, nodes.Text):
            parts.append(node.astext())
        elif isinstance(node, nodes.math | nodes.math_block):
            parts.append(typed(ElementTree.fromstring(mathml(node.astext(), "inline", node))))
        elif isinstance(node, nodes.raw) and not left_out(node):
            parts.append(TAG.sub(" ", node.astext()))
        elif not left_out(node):
            space = "" if isinstance(node, nodes.Inline) else " "
            parts.append(space + text(*node.children) + space)
    return "".join(parts)


def left_out(node: nodes.Node) -> bool:
    return (
        isinstance(node, (*CODE, *ENTRIES, nodes.title))
        or "answering" in getattr(node, "attributes", {}).get("classes", ())
        or (isinstance(node, nodes.row) and (bool(node["ids"]) or defines_a_symbol(node)))
        or (isinstance(node, Fold) and "code" in node["classes"])
    )


def defines_a_symbol(row: nodes.row) -> bool:
    head = row.parent.parent.next_node(nodes.thead)
    return head not in (None, row.parent) and head.next_node(nodes.entry).astext() == "Symbol"


def typed(formula: ElementTree.Element) -> str:
    """A formula of MathML in one line.

    Example:
        >>> typed(ElementTree.fromstring("<msqrt><msub><mi>d</mi><mi>k</mi></msub></msqrt>"))
        '√d_k'
    """
    parts = [typed(child) for child in formula]
    tag = formula.tag.rpartition("}")[2]
    if tag in ("math", "mrow", "mtd", "mstyle", "mpadded"):
        # an index or an exponent ends before the letter that follows it
        parts = [f"{part}\u200b" if "_" in part or "^" in part else part for part in parts]
        return re.sub("\u200b(?!\\w)", "", "".join(parts))
    if tag == "mfrac":
        return f"{bracketed(parts[0])}/{bracketed(parts[1])}"
    if tag == "msqrt":
        return f"√{bracketed(''.join(parts))}"
    if tag in ("msub", "munder"):
        return f"{parts[0]}_{step(parts[1])}"
    if tag == "mover":  # a bar or a hat
        return parts[0]
    if tag == "msup":
        return f"{parts[0]}^{step(parts[1])}"
    if tag in ("msubsup", "munderover"):
        return f"{parts[0]}_{step(parts[1])}^{step(parts[2])}"
    if tag in ("mspace", "mtr"):
        return " " + "".join(parts)
    return (formula.text or "").strip() + "".join(parts)


def bracketed(part: str) -> str:
    return part if re.fullmatch(r"√?[\w.]+", part) else f"({part})"


def step(part: str) -> str:
    """What stands lower or higher, in brackets if a step of its own would be read as of the whole.

    Example:
        >>> step("k"), step("d_k")
        ('k', '(d_k)')
    """
    return part if re.fullmatch(r"[^\W_]+|\d*\.\d+", part) else f"({part})"
