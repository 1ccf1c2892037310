"""Sphinx extension: the reference lists no fields of named tuples.

They are in the tuple's docstring, and "Alias for field number 0", Python's own text for each, tells
nobody anything.
"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-skip-member", skip_fields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def skip_fields(
    _app: Sphinx, _what: str, _name: str, member: object, _skip: bool, _options: object
) -> bool | None:
    """``True`` leaves a member out; ``None`` leaves the choice to others."""
    return True if type(member).__name__ == "_tuplegetter" else None
