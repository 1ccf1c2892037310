"""Sphinx extension: what packages make of docstrings and signatures, put right in the reference.

Named tuples: autodoc lists their fields, which are in the tuple's docstring, with Python's own text
for each, "Alias for field number 0". Attributes: Napoleon takes what stands before a colon in their
first line for a type, and writes types out with the private modules they are in. Data classes: a
default that has no literal, like ``<factory>``, is no Python, and Sphinx shows the signature raw.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

AFTER_NAPOLEON = 600


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-skip-member", skip_fields)
    app.connect("autodoc-process-docstring", keep_colons, priority=AFTER_NAPOLEON)
    app.connect("autodoc-process-docstring", shorten_types, priority=AFTER_NAPOLEON + 1)
    app.connect("autodoc-process-signature", write_defaults)
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
    made = [line for line in lines if line.startswith(":type: ")]
    if what in ("attribute", "data", "property") and made:
        lines.remove(made[-1])
        lines[0] = f"{made[-1].removeprefix(':type: ')}: {lines[0]}"


def shorten_types(
    _app: Sphinx, _what: str, _name: str, _object: object, _options: object, lines: list[str]
) -> None:
    """Of a type that Napoleon wrote out its own name is shown; the link stays."""
    for at, line in enumerate(lines):
        if line.lstrip().startswith(":type: "):
            lines[at] = re.sub(r"(?<![\w.~])(?=(?:\w+\.)+\w)", "~", line)


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
