"""What an exercise is, and how an answer to it is judged."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor


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

PER_CENT = "This is in per cent; the share itself is wanted, of which 1 is the whole."
"""The hint of every exercise whose answer is a share."""

MOST_NUMBERS = 9
"""How many numbers a message shows at most."""

_LETTERS = re.compile("[a-f]+")
"""An answer that is made of a question's letters, and is no word."""

_NO_NUMBER = (TypeError, ValueError, RuntimeError)
"""What reading numbers raises where there are none; the last by tensors that PyTorch can't read."""


@dataclass(frozen=True)
class Exercise:
    """One exercise: the right answer, the inputs on which an answer is tried, and the mistakes
    people make.

    Numbers may come in any type of Python, NumPy or PyTorch; one of few digits, such as bfloat16,
    has to be right to as many as it has. No feedback says what the right answer is.

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

        An answer that no known mistake leads to is told where it is wrong: a function the first
        case on which it fails, a number its side and, where it is near, how near it has to be.
        """
        if _missing(given):
            return UNANSWERED
        if not callable(self.answer):
            return self._judge_value(given)
        if not callable(given):
            return Feedback(False, "Pass the function itself, without calling it.")
        outcomes = [_outcome(given, case) for case in self.cases]
        if _missing(outcomes[0]):
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
        difference = self._difference(outcomes[first], expected[first])
        return Feedback(False, f"Not yet. {case}{difference}")

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
            value, answer = _alike(given, self.answer)
        except _NO_NUMBER:
            value = answer = torch.tensor(math.nan)
        if value.dim() or answer.dim() or value.isnan():
            wanted = "" if _has_form(given, self.answer) else f" Expected: {form(self.answer)}."
            return Feedback(False, f"Not yet: {_brief(given)} is not the right answer.{wanted}")
        near = abs(value - answer) <= min(20 * self.tolerance, 0.2) * abs(answer)
        wanted = f", by little: the answer is wanted to within {self.tolerance:.2g} of itself"
        comparison = f"{_brief(given)} is {_side(value, answer)}{wanted if near else ''}"
        return Feedback(False, f"Not yet: {comparison}.")

    def _difference(self, given: Any, expected: Any) -> str:
        """What a function did on a case, and what is wrong with it."""
        if isinstance(given, Exception):
            stop = f"stops with {type(given).__name__}: {given}."
            return f"{stop} {_OF_MANY}" if "scalar outputs" in str(given) else stop
        try:
            a, b = _alike(given, expected)
        except _NO_NUMBER:
            return f"gives {_brief(given)}. Expected: {form(expected)}."
        if a.shape != b.shape:
            shapes = [f"the shape {tuple(x.shape)}" if x.dim() else "a number" for x in (a, b)]
            return f"gives {shapes[0]}. Expected: {shapes[1]}."
        wrong = ~torch.isclose(a, b, rtol=self._within(given), atol=1e-9)
        place = tuple(torch.nonzero(wrong)[0].tolist())
        first_wrong = f"gives {a[place]:.4g}{f' at {place}' if place else ''}"
        side = "" if a[place].isnan() else f", which is {_side(a[place], b[place])}"
        return f"{first_wrong}{side}."

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
            a, b = _alike(first, second)
        except _NO_NUMBER:
            return False
        return a.shape == b.shape and torch.allclose(a, b, rtol=self._within(first), atol=1e-9)

    def _within(self, given: Any) -> float:
        """The relative tolerance, or what the type of ``given`` can tell apart, if that is more."""
        numbers = _tensor(given)
        apart = torch.finfo(numbers.dtype).eps if numbers.is_floating_point() else 0.0
        return max(self.tolerance, apart)


def _missing(answer: Any) -> bool:
    """Whether dots still stand for an answer, or for a part of it."""
    parts = answer if isinstance(answer, list | tuple) else [answer]
    return answer is None or any(one is ... for one in parts)


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
    if isinstance(answer, np.ndarray):
        answer = answer.tolist()
    if isinstance(answer, list | tuple) and all(isinstance(one, str) for one in answer):
        answer = "".join(answer)
    if not isinstance(answer, str):
        return None
    return re.sub(r"[\s,_\"'()\[\]-]", "", answer.replace("√", "sqrt")).lower()


def form(answer: Any) -> str:
    """What an answer looks like, for those who have given something else.

    Example:
        >>> [form(answer) for answer in ("bdac", "k_mean", 0.25, [0.5, 1.5])]
        ["letters, such as 'abc'", 'one of the words in the question', 'a number', '2 numbers']
    """
    if isinstance(answer, str):
        lettered = _LETTERS.fullmatch(answer)
        return "letters, such as 'abc'" if lettered else "one of the words in the question"
    numbers = _tensor(answer)
    return f"{numbers.numel()} numbers" if numbers.dim() else "a number"


def _has_form(given: Any, answer: Any) -> bool:
    """Whether ``given`` is of the form of the right answer, and only its content is wrong."""
    if isinstance(answer, str):
        return bool(_LETTERS.fullmatch(answer) and _LETTERS.fullmatch(_spelt(given) or ""))
    try:
        a, b = _alike(given, answer)
    except _NO_NUMBER:
        return False
    return a.shape == b.shape


def _tensor(value: Any) -> Tensor:
    """A number, or several, of any type of Python, NumPy or PyTorch.

    Example:
        >>> from fractions import Fraction
        >>> _tensor([Fraction(1, 2), np.float32(1), 2 + 0j])
        tensor([0.5000, 1.0000, 2.0000], dtype=torch.float64)
    """
    if isinstance(value, Tensor):
        tensor = value.detach().cpu()
    elif isinstance(value, str | bytes):  # some of which float() would read
        raise TypeError("a text is no number")
    elif hasattr(value, "__array__"):
        array = np.asarray(value)
        if array.dtype.kind == "O":
            return _tensor(array.tolist())
        if array.dtype.kind not in "biufc":
            raise TypeError(f"{array.dtype} holds no numbers")
        # PyTorch lacks some of NumPy's types, and of those that it lacks none is coarse
        wide = np.complex128 if array.dtype.kind == "c" else np.float64
        tensor = torch.tensor(array if array.dtype == np.float16 else array.astype(wide))
    elif isinstance(value, Sequence):
        tensor = torch.stack([_tensor(one) for one in value])
    elif isinstance(value, complex):
        tensor = torch.tensor(value, dtype=torch.complex128)
    else:
        try:
            tensor = torch.tensor(float(value), dtype=torch.float64)
        except OverflowError:  # a whole number beyond all floats
            tensor = torch.tensor(math.inf if value > 0 else -math.inf, dtype=torch.float64)
    if not tensor.is_complex():
        return tensor
    if tensor.imag.any():
        raise TypeError("the imaginary part is not 0")
    return tensor.real


def _alike(first: Any, second: Any) -> tuple[Tensor, Tensor]:
    """Two answers in double precision; what is one number has the shape of the second."""
    a, b = (_tensor(x).double() for x in (first, second))
    return (a.reshape(b.shape) if a.numel() == b.numel() == 1 else a), b


def _side(value: Tensor, answer: Tensor) -> str:
    return "too large" if value > answer else "too small"


def _named(function: Any, case: tuple[Any, ...]) -> str:
    """A case in words, by the names that the right answer gives its arguments."""
    if not case:
        return "Called without arguments, it "
    names = inspect.signature(function).parameters
    return (
        "For " + ", ".join(f"{n} = {_brief(x)}" for n, x in zip(names, case, strict=False)) + " it "
    )


def _brief(value: Any) -> str:
    """A value, short enough for a sentence."""
    if isinstance(value, str):
        return repr(str(value))
    try:
        numbers = _tensor(value).double()
    except _NO_NUMBER:
        return f"a {type(value).__name__}"
    if numbers.numel() > MOST_NUMBERS:
        return f"a tensor of shape {tuple(numbers.shape)}"
    return _list(numbers.tolist())


def _list(values: Any) -> str:
    if isinstance(values, list):
        return "[" + ", ".join(_list(value) for value in values) + "]"
    return f"{values:.4g}"
