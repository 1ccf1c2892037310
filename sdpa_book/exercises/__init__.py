"""The checks behind the book's exercises: one module a chapter, ``NAME_exercises``, found by being
here. A module is imported when one of its exercises is asked for: the right answer of some takes
seconds to compute.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Any

from sdpa_book.exercises.exercise import Exercise, Feedback
from sdpa_lib._checks import unknown_name

SUFFIX = "_exercises"
CHAPTERS = tuple(
    m.name.removesuffix(SUFFIX) for m in pkgutil.iter_modules(__path__) if m.name.endswith(SUFFIX)
)


def exercises_of(chapter: str) -> dict[str, Exercise]:
    """The exercises of one of ``CHAPTERS`` by their names, ``"chapter.exercise"``.

    Example:
        >>> "square_root.power" in exercises_of("square_root")
        True
    """
    module = import_module(f"{__name__}.{chapter}{SUFFIX}")
    return {f"{chapter}.{name}": exercise for name, exercise in module.EXERCISES.items()}


def all_exercises() -> dict[str, Exercise]:
    """The exercises of all chapters by their names.

    Example:
        >>> "square_root.power" in all_exercises()
        True
    """
    return {name: one for chapter in CHAPTERS for name, one in exercises_of(chapter).items()}


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
    chapter = name.partition(".")[0]
    exercises = exercises_of(chapter) if chapter in CHAPTERS else {}
    if name not in exercises:
        raise unknown_name("exercise", name, all_exercises())
    return exercises[name].judge(answer)
