"""What an exercise is, and how an answer to it is judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass(frozen=True)
class Feedback:
    """Whether an answer passed, and what to say about it; ``passed`` is ``None`` where there is no
    answer yet.
    """

    passed: bool | None
    message: str

    def __repr__(self) -> str:
        return {None: "… ", True: "✓ ", False: "✗ "}[self.passed] + self.message


UNANSWERED = Feedback(
    None, "Not answered yet: put your answer in place of the dots and run the cell again."
)


@dataclass(frozen=True)
class Exercise:
    """One exercise: the right answer, the inputs on which an answer is tried, and the mistakes
    people make.

    Attributes:
        answer: the right answer: a function, or a number, string, list or tensor.
        cases: the arguments on which a function is tried; not used for other answers.
        mistakes: hint to wrong answer. Each differs from the right answer on at least one case.
        tolerance: relative tolerance of the comparison.
    """

    answer: Any
    cases: Sequence[tuple[Any, ...]] = ((),)
    mistakes: Mapping[str, Any] = field(default_factory=dict)
    tolerance: float = 1e-4

    def judge(self, given: Any) -> Feedback:
        """Compare an answer with the right one, then with each known mistake."""
        if given is ... or given is None:
            return UNANSWERED
        if callable(self.answer) and not callable(given):
            return Feedback(False, "Pass the function itself, without calling it.")
        try:
            if callable(given) and given(*self.cases[0]) in (..., None):
                return UNANSWERED
            if self.agree(given, self.answer):
                return Feedback(True, "Right.")
            for hint, mistake in self.mistakes.items():
                if self.agree(given, mistake):
                    return Feedback(False, hint)
        # whatever a learner's code raises is an answer to explain, not a crash of the checker
        except Exception as error:
            return Feedback(
                False, f"Your answer could not be checked: {type(error).__name__}: {error}"
            )
        return Feedback(
            False, "Not yet: this is not the right answer, and no known slip leads to it."
        )

    def agree(self, first: Any, second: Any) -> bool:
        """Whether two answers give the same on every case."""
        if callable(second):
            return all(self._same(first(*case), second(*case)) for case in self.cases)
        return self._same(first, second)

    def _same(self, first: Any, second: Any) -> bool:
        if isinstance(second, str):
            return isinstance(first, str) and first.strip().lower() == second.lower()
        a, b = (torch.as_tensor(x).detach().cpu().double() for x in (first, second))
        return a.shape == b.shape and torch.allclose(a, b, rtol=self.tolerance, atol=1e-9)
