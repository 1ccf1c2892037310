"""Every exercise accepts its answer and refuses each known mistake with a hint of its own."""

import functools
import itertools
import math
import re
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import torch
from editions import teaching

from sdpa_book import check
from sdpa_book.exercises import all_exercises
from sdpa_book.exercises.exercise import PER_CENT, Exercise, form

EXERCISES = all_exercises()
MISTAKES = [(name, hint) for name, exercise in EXERCISES.items() for hint in exercise.mistakes]


@pytest.mark.parametrize("name", EXERCISES)
def test_the_right_answer_alone_passes_and_no_answer_is_no_failure(name):
    assert len(EXERCISES[name].mistakes) >= 2
    assert check(name, EXERCISES[name].answer).passed is True
    for nothing in (..., None, lambda *_: ...):
        if callable(EXERCISES[name].answer) or not callable(nothing):
            assert check(name, nothing).passed is None
    assert check(name, lambda *_: -12345.678).passed is False
    assert check(name, "nonsense").passed is False


@pytest.mark.parametrize(("name", "hint"), MISTAKES)
def test_each_mistake_is_refused_with_its_own_hint(name, hint):
    feedback = check(name, EXERCISES[name].mistakes[hint])
    assert feedback.passed is False
    assert feedback.message == hint


def test_a_function_that_raises_is_told_on_which_case():
    feedback = check("square_root.largest_variance", lambda d_k: 1 / 0)
    assert feedback.passed is False
    assert feedback.message.startswith("Not yet. For d_k = ")
    assert "it stops with ZeroDivisionError: division by zero." in feedback.message
    assert (
        check("square_root.largest_variance", 8.0).message
        == "Pass the function itself, without calling it."
    )
    assert (
        check("saturation.largest_rate", abs).message
        == "This is a function; the answer is a value."
    )


def test_dots_that_are_left_in_what_an_answer_calls_are_named():
    for answer in (lambda d_k: d_k * (lambda: ...)(), lambda d_k: torch.sum(...)):
        feedback = check("square_root.largest_variance", answer)
        assert feedback.passed is None
        assert "Ellipsis" in feedback.message


def test_a_slip_that_raises_on_one_case_keeps_its_hint():
    """S1's slip, as a learner writes it: 0/0 on the case of two scores of zero."""
    feedback = check("saturation.first_weight", lambda a, b: a / (a + b))
    assert feedback.passed is False
    assert feedback.message.startswith("This divides by the sum of the scores")


HALF = Exercise(answer=lambda x: x / 2, cases=((4.0,), (torch.arange(4.0),), (torch.arange(12.0),)))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda x: x / 3, "Not yet. For x = 4 it gives 1.333, which is too small."),
        (
            lambda x: x / 2 if isinstance(x, float) else x[:2],
            "Not yet. For x = [0, 1, 2, 3] it gives the shape (2,). Expected: the shape (4,).",
        ),
        (
            lambda x: x / 2 if isinstance(x, float) or len(x) == 4 else x.clamp(max=1.5) / 2,
            "Not yet. For x = a tensor of shape (12,) it gives 0.75 at (2,), which is too small.",
        ),
        (lambda x: "two", "Not yet. For x = 4 it gives 'two'. Expected: a number."),
        (lambda x: [[1], 2], "Not yet. For x = 4 it gives a list. Expected: a number."),
        (lambda x: math.nan, "Not yet. For x = 4 it gives nan."),
        (lambda: 2, "Not yet. For x = 4 it stops with TypeError: "),
    ],
)
def test_the_first_case_that_fails_is_shown(answer, message):
    feedback = HALF.judge(answer)
    assert feedback.passed is False
    assert feedback.message.startswith(message)


def test_a_number_is_told_its_side_and_when_it_is_near():
    exercise = Exercise(answer=5.288, tolerance=1e-3)
    assert exercise.judge(7).message == "Not yet: 7 is too large."
    assert exercise.judge(5.3).message == (
        "Not yet: 5.3 is too large, by little: the answer is wanted to within 0.001 of itself."
    )
    assert exercise.judge(math.nan).message == "Not yet: nan is not the right answer."
    for given, named in (([1, 1], "[1, 1]"), ({5.288}, "a set"), (5.288 + 1j, "a complex")):
        message = f"Not yet: {named} is not the right answer. Expected: a number."
        assert exercise.judge(given).message == message
    assert exercise.judge(10**400).message == "Not yet: inf is too large."
    assert exercise.judge(-Fraction(10**400)).message == "Not yet: -inf is too small."


def test_a_text_is_no_number():
    exercise = Exercise(answer=256)
    assert exercise.judge("256").message == "Give the answer without quotation marks."


def test_shapes_must_agree():
    exercise = Exercise(answer=[[1.0, 2.0]])
    assert exercise.judge([[1.0, 2.0]]).passed
    assert not exercise.judge([1.0, 2.0]).passed


def numbers(answer):
    """In double precision, apart from how the exercises read them."""
    if isinstance(answer, list | tuple):
        return np.array([numbers(one) for one in answer])
    return np.asarray(answer.detach() if isinstance(answer, torch.Tensor) else answer, float)


def recorded(exercise):
    """The exercise with what its functions give on its cases, which some take long to compute."""

    def record(function):
        given = []
        for case in exercise.cases:
            try:
                given.append(function(*case))
            except Exception as error:  # as one of a mistake's may
                given.append(error)
        again = itertools.cycle(given)

        @functools.wraps(function)
        def replayed(*_):
            now = next(again)
            if isinstance(now, Exception):
                raise now
            return now

        return replayed

    if not callable(exercise.answer):
        return exercise
    mistakes = {hint: record(slip) for hint, slip in exercise.mistakes.items()}
    return replace(exercise, answer=record(exercise.answer), mistakes=mistakes)


RECORDED = functools.cache(lambda name: recorded(EXERCISES[name]))


def right_answers(exercise):
    """What is right: an answer's value, or a function's value on each case."""
    if not callable(exercise.answer):
        return [exercise.answer]
    return [exercise.answer(*case) for case in exercise.cases]


def given_as(exercise, values):
    """An answer that gives these values."""
    again = itertools.cycle(values)
    return (lambda *_: next(again)) if callable(exercise.answer) else values[0]


def each(make, exact):
    return [each(make, one) for one in exact] if exact.ndim else make(exact.item())


def in_every_type(answer):
    """An answer in each type of Python, NumPy and PyTorch that can hold it, by the type's name."""
    if isinstance(answer, str):
        spaced = answer.replace("_", " ")
        texts = (answer, np.str_(answer), np.array(answer), f" {answer.upper()} ", spaced.title())
        versions = {f"text {i}": text for i, text in enumerate(texts)}
        if "letters" in form(answer):
            parted = (list(answer), tuple(answer), np.array(list(answer)), ", ".join(answer))
            versions |= {f"letters {i}": letters for i, letters in enumerate(parted)}
        return versions
    exact, versions = numbers(answer), {}
    kinds = [float, Decimal, complex]
    if np.isfinite(exact).all():
        kinds += [Fraction, int] if (exact == exact.round()).all() else [Fraction]
    for make in kinds:
        versions[make.__name__] = nested = each(make, exact)
        versions[f"array of {make.__name__}"] = np.array(nested, dtype=object)
        if exact.ndim == 1:
            versions[f"tuple of {make.__name__}"] = tuple(nested)
    dtypes = (
        "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 bfloat16 float32 float64"
    )
    dtypes = dtypes.split()
    for name in (*dtypes, "longdouble", "complex64"):
        with np.errstate(over="ignore", invalid="ignore"):
            arrays = [exact.astype(name)] if name != "bfloat16" else []
            if name in dtypes:
                arrays.append(torch.tensor(exact).to(getattr(torch, name)))
        for array in arrays:
            whole = array.double() if torch.is_tensor(array) else array.real.astype(float)
            fine = {"float16": 1e-3, "bfloat16": 8e-3}.get(name, 1e-6)
            if not np.allclose(whole, exact, rtol=fine / 2, atol=0):
                continue
            label = f"{type(array).__name__} of {name}"
            versions[label] = array
            if not exact.ndim:
                versions[f"{label} of one"] = array[None]
                versions[f"{label}, its number"] = array[()]
            else:
                versions[f"list of {label}"] = list(array)
            if torch.is_tensor(array) and array.is_floating_point():
                versions[f"{label} with a gradient"] = array.clone().requires_grad_()
    return versions


@pytest.mark.parametrize("name", EXERCISES)
def test_the_right_answer_passes_in_every_type(name):
    exercise = RECORDED(name)
    forms = [in_every_type(answer) for answer in right_answers(exercise)]
    types = set.intersection(*(set(one) for one in forms))
    assert len(types) > 4
    for kind in types:
        feedback = exercise.judge(given_as(exercise, [one[kind] for one in forms]))
        assert feedback.passed, (kind, feedback)


def test_a_truth_passes_in_every_type():
    for truth in (True, np.bool_(True), np.array(True), torch.tensor(True), torch.tensor([True])):
        assert Exercise(answer=True).judge(truth).passed
        assert not Exercise(answer=False).judge(truth).passed


CHANGES = {
    "larger": lambda x: x + abs(x) / 2,
    "smaller": lambda x: x - abs(x) / 3,
    "ten times": lambda x: 10 * x,
    "per cent": lambda x: 100 * x,
    "sign": lambda x: -x,
    "one more": lambda x: x + 1,
}
NUMBERS = {name for name in EXERCISES if not isinstance(right_answers(RECORDED(name))[0], str)}


def same(exercise, given, values):
    """Whether values are the same as others, to the tolerance of an exercise."""
    return all(
        a.shape == b.shape and np.allclose(a, b, rtol=exercise.tolerance, atol=1e-9)
        for a, b in zip(map(numbers, given), map(numbers, values), strict=True)
    )


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", sorted(NUMBERS))
def test_a_wrong_number_is_refused_for_no_false_reason_and_told_no_right_one(name, change):
    exercise = RECORDED(name)
    right = [numbers(answer) for answer in right_answers(exercise)]
    wrong = [CHANGES[change](answer) if np.isfinite(answer).all() else answer for answer in right]
    if same(exercise, wrong, right):
        pytest.skip("the change changes nothing")
    feedback = exercise.judge(given_as(exercise, [x.tolist() for x in wrong]))
    assert feedback.passed is False
    message = feedback.message
    if message in exercise.mistakes:
        slip = exercise.mistakes[message]
        slips = [slip(*case) for case in exercise.cases] if callable(slip) else [slip]
        assert same(exercise, wrong, slips)
        return
    case = next(i for i, x in enumerate(wrong) if not same(exercise, [x], [right[i]]))
    place = re.search(r" at (\(.*?\)), which", message)
    at = tuple(map(int, re.findall(r"\d+", place[1]))) if place else ()
    if wrong[case].ndim and not at:
        assert message.endswith("] is not the right answer.")
    else:
        given, answer = wrong[case][at], right[case][at]
        assert not math.isclose(given, answer, rel_tol=exercise.tolerance)
        assert f"too {'large' if given > answer else 'small'}" in message
        assert f"{given:.4g}" in message
        assert ("by little" in message) <= (abs(given - answer) <= 0.2 * abs(answer))
    # without its case, which may hold a number that is right
    claim = message.partition(" it gives ")[2] or message
    claim = claim.replace(place[1], "") if place else claim
    for number in re.findall(r"-?\d[\d.]*(?:e[-+]\d+)?", claim.rstrip(".")):
        its_own = [f"{x:.4g}" for x in wrong[case].flat]
        assert number in its_own or f"{right[case].flat[0]:.4g}" != number


def test_no_feedback_for_an_answer_of_another_kind_says_what_is_right():
    others = ("nonsense", "xyz", [11, 12, 13], 11, -7.5, {"1": "b"}, object(), ["a", "f"], math.inf)
    for name in EXERCISES:
        exercise = RECORDED(name)
        right = right_answers(exercise)
        for other in others:
            feedback = exercise.judge(given_as(exercise, [other] * len(right)))
            assert feedback.passed is False, (name, other)
            word = str(right[0]) if name not in NUMBERS else f"{numbers(right[0]).flat[0]:.4g}"
            claim = feedback.message.partition(" it gives ")[2] or feedback.message
            claim = re.sub(r"shape \(.*?\)", "", claim)
            assert not re.search(rf"(?<![\d.]){re.escape(word)}(?![\d.])", claim), (name, feedback)
        if not callable(exercise.answer):
            word = str(exercise.answer)
            for hint in exercise.mistakes:
                assert not re.search(rf"(?<![\w.]){re.escape(word)}(?![\w.])", hint), hint


LETTERS = {name for name, one in EXERCISES.items() if "letters" in form(right_answers(one)[0])}
WORDS = set(EXERCISES) - NUMBERS - LETTERS


def test_who_gives_another_kind_of_answer_is_told_the_kind_that_the_question_asks_for():
    exercises = {name: teaching.Exercise(name, 0) for name in LETTERS | WORDS}
    asked = {name: "\n".join((one.question, *one.asked)) for name, one in exercises.items()}
    assert {name for name, text in asked.items() if "letters" in text} == LETTERS
    for name in WORDS:
        for given in (3, [1, 2], "anything"):
            message = check(name, given).message
            assert message.endswith("Expected: one of the words in the question."), message
        words = {EXERCISES[name].answer, *EXERCISES[name].mistakes.values()}
        assert all(f'"{word}"' in asked[name] for word in words)
    for name in LETTERS:
        assert check(name, 3).message.endswith("Expected: letters, such as 'abc'.")
        assert "Expected" not in check(name, "fe").message
    assert check("wild.kept_by_both", 7).message.endswith("Expected: 2 numbers.")
    assert "Expected" not in check("wild.kept_by_both", [7, 8]).message


def test_dots_in_one_place_of_two_are_no_answer_yet():
    assert check("wild.kept_by_both", [0.5, ...]).passed is None
    assert check("lab.found", lambda d_k, divisor: (0.5, ...)).passed is None


SHARES = {
    "heads.shared",
    "lab.found",
    "saturation.first_weight",
    "shapes.same_winner",
    "training.thawed",
    "training.upper_limit",
}


def test_who_gives_a_share_in_per_cent_is_told_so():
    assert {name for name, one in EXERCISES.items() if PER_CENT in one.mistakes} == SHARES
    for name in SHARES:
        exercise = RECORDED(name)
        in_per_cent = [100 * numbers(answer) for answer in right_answers(exercise)]
        assert exercise.judge(given_as(exercise, in_per_cent)).message == PER_CENT
