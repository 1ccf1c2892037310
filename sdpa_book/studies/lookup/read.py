"""What is stored of the lookup layer's steps."""

from __future__ import annotations

import json
from pathlib import Path

STORED = Path(__file__).parent / "results" / "steps.json"
"""The figures that come with the book."""
LEVELS = ("half", "0.3")
"""Half of a layer's loss at the start, and a loss of 0.3."""


def load_steps(path: Path = STORED) -> dict[str, dict[str, list[str]]]:
    """Mean steps with heads of 64, by "rate, queries" and by level: undivided, with the root, and
    by how much undivided is later in pairs.

    Example:
        >>> {level: len(three) for level, three in load_steps()["0.003, 2048"].items()}
        {'half': 3, '0.3': 3}
    """
    stored = json.loads(path.read_text(encoding="utf-8"))["steps"]
    return {name: {level: pair[level] for level in LEVELS} for name, pair in stored.items()}
