"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def grid(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table, with a blank one after it.

    Example:
        >>> grid(["d_k", "ratio"], [["64", "1.02"]])
        ['| d_k | ratio |', '| --- | --- |', '| 64 | 1.02 |', '']
    """
    lines = [headings, ["---"] * len(headings), *rows]
    return ["| " + " | ".join(cells) + " |" for cells in lines] + [""]


def spread(
    timing: Mapping[str, Any], what: str, unit: float = 1.0, digits: int = 3, less: float = 0.0
) -> str:
    """A median with its quartiles, from which ``less`` is taken.

    Example:
        >>> spread({"ratio_low": 1.0, "ratio": 1.25, "ratio_high": 2.0}, "ratio", digits=2)
        '1.25 (1.00 to 2.00)'
    """
    low, middle, high = ((timing[what + end] - less) / unit for end in ("_low", "", "_high"))
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"
