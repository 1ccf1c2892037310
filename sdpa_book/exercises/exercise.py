"""What an exercise is, and how an answer to it is judged."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from sdpa_lib import RESCALINGS


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


DOTS = Feedback(
    None,
    "Some dots are left in the code that you call, which Python names Ellipsis: put an answer in "
    "their place.",
)
_OF_DOTS = re.compile("'ellipsis'|not ellipsis$", re.I)
"""What Python, and PyTorch, say of dots in place of a number or a tensor."""

_OF_MANY = "What goes backward is one number, such as loss.sum()."
"""Said where PyTorch says that grad can be implicitly created only for scalar outputs."""

SHOWN = 9
"""How many numbers a message shows at most."""


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
        """Compare an answer with the right one, then with each known mistake.

        An answer that no known mistake leads to is told the first case on which it fails, what it
        gave there and what was expected; a number is told no more than its side and, where it is
        near, how near it has to be.
        """
        if given is ... or given is None:
            return UNANSWERED
        if not callable(self.answer):
            return self._judge_value(given)
        if not callable(given):
            return Feedback(False, "Pass the function itself, without calling it.")
        outcomes = [_outcome(given, case) for case in self.cases]
        if outcomes[0] is ... or outcomes[0] is None:
            return UNANSWERED
        if any(isinstance(one, TypeError) and _OF_DOTS.search(str(one)) for one in outcomes):
            return DOTS
        expected = [self.answer(*case) for case in self.cases]
        right = [self._same(*pair) for pair in zip(outcomes, expected, strict=True)]
        if all(right):
            return Feedback(True, "Right.")
        for hint, mistake in self.mistakes.items():
            if self._led_to(outcomes, [_outcome(mistake, case) for case in self.cases], right):
                return Feedback(False, hint)
        first = right.index(False)
        case = _named(self.answer, self.cases[first])
        return Feedback(False, f"Not yet. {case}{_difference(outcomes[first], expected[first])}")

    def _judge_value(self, given: Any) -> Feedback:
        """Judge an answer that is no function."""
        if callable(given):
            return Feedback(False, "This is a function; the answer is a value.")
        if isinstance(given, str) and not isinstance(self.answer, str):
            return Feedback(False, "Give the answer without quotation marks.")
        if self._same(given, self.answer):
            return Feedback(True, "Right.")
        for hint, mistake in self.mistakes.items():
            if self._same(given, mistake):
                return Feedback(False, hint)
        try:
            value, answer = float(given), float(self.answer)
        except (TypeError, ValueError, RuntimeError):  # the last by a tensor of several numbers
            value = answer = math.nan
        if math.isnan(value):
            form = f" Expected: {_form(self.answer)}." if isinstance(self.answer, str) else ""
            return Feedback(False, f"Not yet: {_shown(given)} is not the right answer.{form}")
        side = "large" if value > answer else "small"
        near = abs(value - answer) <= min(20 * self.tolerance, 0.2) * abs(answer)
        wanted = f", by little: the answer is wanted to within {self.tolerance:.2g} of itself"
        return Feedback(False, f"Not yet: {_shown(given)} is too {side}{wanted if near else ''}.")

    def _led_to(self, outcomes: list[Any], slip: list[Any], right: list[bool]) -> bool:
        """Whether a mistake explains an answer: it gives the same wherever neither of them raises,
        and somewhere that is wrong.
        """
        both = [
            (self._same(a, b), ok)
            for a, b, ok in zip(outcomes, slip, right, strict=True)
            if not isinstance(a, Exception) and not isinstance(b, Exception)
        ]
        return all(same for same, _ in both) and any(not ok for _, ok in both)

    def _same(self, first: Any, second: Any) -> bool:
        if isinstance(second, str):
            return _spelt(first) == _spelt(second)
        try:
            a, b = (_numbers(x) for x in (first, second))
        except (TypeError, ValueError, RuntimeError):  # what is no number, and so not the same
            return False
        return a.shape == b.shape and torch.allclose(a, b, rtol=self.tolerance, atol=1e-9)


def _outcome(function: Any, case: tuple[Any, ...]) -> Any:
    """What a function gives, or the exception: whatever a learner's code raises is an answer to
    explain, not a crash of the checker.
    """
    try:
        return function(*case)
    except Exception as error:
        return error


def _spelt(answer: Any) -> str | None:
    """Letters or a name, however they are parted: ``"b, d"``, ``"BD"`` and ``["b", "d"]`` say the
    same.

    Example:
        >>> _spelt(["b", "d"]), _spelt("B, d"), _spelt("√d_k"), _spelt(2)
        ('bd', 'bd', 'sqrtdk', None)
    """
    if isinstance(answer, list | tuple) and all(isinstance(one, str) for one in answer):
        answer = "".join(answer)
    if not isinstance(answer, str):
        return None
    return re.sub(r"[\s,_\"'()\[\]-]", "", answer.replace("√", "sqrt")).lower()


def _form(answer: str) -> str:
    """What a text looks like that is an answer."""
    named = answer in RESCALINGS
    return "one of the names in the question" if named else "letters in quotes, such as 'abc'"


def _numbers(value: Any) -> torch.Tensor:
    return torch.as_tensor(value).detach().cpu().double()


def _named(function: Any, case: tuple[Any, ...]) -> str:
    """A case in words, by the names that the right answer gives its arguments."""
    if not case:
        return "Called without arguments, it "
    names = inspect.signature(function).parameters
    return (
        "For " + ", ".join(f"{n} = {_shown(x)}" for n, x in zip(names, case, strict=False)) + " it "
    )


def _difference(given: Any, expected: Any) -> str:
    """What a function did on a case, and what it should have done."""
    if isinstance(given, Exception):
        told = f"stops with {type(given).__name__}: {given}. Expected: {_shown(expected)}."
        return f"{told} {_OF_MANY}" if "scalar outputs" in str(given) else told
    try:
        a, b = _numbers(given), _numbers(expected)
    except (TypeError, ValueError, RuntimeError):
        return f"gives {_shown(given)}. Expected: {_shown(expected)}."
    if a.shape != b.shape:
        shapes = [f"the shape {tuple(x.shape)}" if x.dim() else "a number" for x in (a, b)]
        return f"gives {shapes[0]}. Expected: {shapes[1]}."
    if b.numel() > SHOWN:
        place = tuple(torch.nonzero(~torch.isclose(a, b))[0].tolist())
        return f"gives {a[place]:.4g} at {place}. Expected there: {b[place]:.4g}."
    return f"gives {_shown(given)}. Expected: {_shown(expected)}."


def _shown(value: Any) -> str:
    """A value, short enough for a sentence."""
    if isinstance(value, str):
        return repr(value)
    try:
        numbers = _numbers(value)
    except (TypeError, ValueError, RuntimeError):
        return f"a {type(value).__name__}"
    if numbers.numel() > SHOWN:
        return f"a tensor of shape {tuple(numbers.shape)}"
    return _list(numbers.tolist())


def _list(values: Any) -> str:
    if isinstance(values, list):
        return "[" + ", ".join(_list(value) for value in values) + "]"
    return f"{values:.4g}"
