"""The checks behind the book's exercises: one module a chapter, found by being here."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Any

from sdpa_lib._checks import unknown_name
from sdpa_lib.book.exercises._exercise import Exercise, Feedback

EXERCISES: dict[str, Exercise] = {
    f"{module.name}.{name}": exercise
    for module in pkgutil.iter_modules(__path__)
    if not module.name.startswith("_")
    for name, exercise in import_module(f"{__name__}.{module.name}").EXERCISES.items()
}
"""Every exercise by its name, ``"chapter.exercise"``."""


def check(name: str, answer: Any) -> Feedback:
    """Check the answer to an exercise of the book.

    Args:
        name: the exercise, as the chapter gives it.
        answer: yours; ``...``, or a function that returns ``...``, while you have none.

    Returns:
        Feedback that prints itself: ✓ right, ✗ wrong with a hint, … not answered yet.

    Raises:
        ValueError: no exercise of that name; the nearest names are suggested.

    Example:
        >>> check("square_root.power", 1 / 2)
        ✗ That is the power with which the variance grows: it is 1 - 2p.
    """
    if name not in EXERCISES:
        raise unknown_name("exercise", name, EXERCISES)
    return EXERCISES[name].judge(answer)
