"""Sphinx extension: two things that packages make of docstrings, put right in the reference.

Named tuples: autodoc lists their fields, which are in the tuple's docstring, with Python's own text
for each, "Alias for field number 0". Attributes: Napoleon takes what stands before a colon in their
first line for a type.
"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

AFTER_NAPOLEON = 600


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-skip-member", skip_fields)
    app.connect("autodoc-process-docstring", keep_colons, priority=AFTER_NAPOLEON)
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
