"""Sphinx extension: what packages make of docstrings and signatures, put right in the reference.

Named tuples: autodoc lists their fields, which are in the tuple's docstring, with Python's own text
for each, "Alias for field number 0". Attributes: Napoleon takes what stands before a colon in their
first line for a type, writes types out with the private modules they are in, and gives each a field
of its own below the text. Data classes: a default that has no literal, like ``<factory>``, is no
Python, and Sphinx shows the signature raw. Constants: a value is shown where it is a number or a
short text, or a few of them. And the list of the page's sections repeats the package's name.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

AFTER_NAPOLEON = 600
SHORT = 40  # characters of a value


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-skip-member", skip_fields)
    app.connect("autodoc-process-docstring", keep_colons, priority=AFTER_NAPOLEON)
    app.connect("autodoc-process-docstring", shorten_types, priority=AFTER_NAPOLEON + 1)
    app.connect("autodoc-process-signature", write_defaults)
    app.connect("autodoc-process-signature", choose_value)
    app.connect("html-page-context", shorten_contents)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def skip_fields(
    _app: Sphinx, _what: str, _name: str, member: object, _skip: bool, _options: object
) -> bool | None:
    """``True`` leaves a member out; ``None`` leaves the choice to others."""
    return True if type(member).__name__ == "_tuplegetter" else None


def keep_colons(
    _app: Sphinx, what: str, _name: str, _object: object, _options: object, lines: list[str]
) -> None:
    """What Napoleon made a type stands in front of the text again."""
    types = [line for line in lines if line.startswith(":type: ")]
    if what in ("attribute", "data", "property") and types:
        lines.remove(types[-1])
        lines[0] = f"{types[-1].removeprefix(':type: ')}: {lines[0]}"


def shorten_types(
    _app: Sphinx, _what: str, _name: str, _object: object, _options: object, lines: list[str]
) -> None:
    """The type of an attribute stands beside its name, by its own name; the link stays."""
    attribute = 0
    for at, line in enumerate(lines):
        if line.startswith(".. attribute:: "):
            attribute = at
        elif line.startswith("   :type: "):
            short = re.sub(r"(?<![\w.~])(?=(?:\w+\.)+\w)", "~", line)
            del lines[at]
            lines.insert(attribute + 1, short)


def write_defaults(
    _app: Sphinx,
    _what: str,
    _name: str,
    _object: object,
    _options: object,
    signature: str | None,
    returns: str | None,
) -> tuple[str | None, str | None]:
    """Defaults that are no Python are written ``...``, as in a stub."""
    return signature and re.sub(r"= ?<[^<>]*>", "= ...", signature), returns


def choose_value(
    _app: Sphinx,
    what: str,
    _name: str,
    value: object,
    options: dict[str, Any],
    _signature: str | None,
    _returns: str | None,
) -> None:
    """The value of a constant is shown if it says something."""
    some = value if isinstance(value, tuple) else (value,)
    plain = all(isinstance(one, (int, float, str)) for one in some)
    says_something = what == "data" and plain and len(repr(value)) <= SHORT
    options["no-value"] = None if says_something else True


def shorten_contents(
    _app: Sphinx, _name: str, _template: str, context: dict[str, Any], _tree: nodes.document | None
) -> None:
    """Modules go by their names within the package in the list of the page's sections."""
    if "toc" in context:
        context["toc"] = re.sub(r">sdpa_(lib|book)\.", ">", context["toc"])
