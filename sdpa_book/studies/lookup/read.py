"""What is stored of the lookup layer's steps."""

from __future__ import annotations

import json
from pathlib import Path

from sdpa_book.writing.measured import Measured
from sdpa_lib._checks import unknown_name

STORED = Path(__file__).parent / "results" / "steps.json"
"""The figures that come with the book."""
LEVELS = ("half", "0.3")
"""Half of a layer's loss at the start, and a loss of 0.3."""


def load_steps(question: str = "steps", path: Path = STORED) -> dict[str, dict[str, list[str]]]:
    """Mean steps by "rate, queries" and by level: undivided, with the root, and by how much
    undivided is later in pairs. A text without ± says how many layers were not there yet.

    Args:
        question: of the plan.
        path: of the results.

    Example:
        >>> {level: len(three) for level, three in load_steps()["0.003, 2048"].items()}
        {'half': 3, '0.3': 3}
    """
    stored = json.loads(path.read_text(encoding="utf-8"))
    if question not in stored or question == "provenance":
        raise unknown_name("question", question, [x for x in stored if x != "provenance"])
    return {
        name: {level: pair[level] for level in LEVELS} for name, pair in stored[question].items()
    }


def best_steps(question: str) -> list[tuple[float, Measured]]:
    """The rate at which eight layers come down to 0.3 in the fewest steps, and those steps, chosen
    and measured on the same eight: undivided, and with the root. A rate at which a layer was not
    there yet is none. Of rates with equal steps it is the lowest.

    Example:
        >>> [rate for rate, _ in best_steps("steps")]
        [0.01, 0.01]
    """
    at_rates = load_steps(question)
    best = []
    for column in range(2):
        texts = [(float(name.split(",")[0]), at["0.3"][column]) for name, at in at_rates.items()]
        steps = [(rate, *map(float, text.split(" ± "))) for rate, text in texts if "±" in text]
        rate, mean, error = min(steps, key=lambda x: (x[1], x[0]))
        best.append((rate, Measured(mean, error)))
    return best
