"""Every exercise accepts its answer and refuses each known mistake with a hint of its own."""

import math

import pytest
import torch

from sdpa_book import check
from sdpa_book.exercises import all_exercises
from sdpa_book.exercises.exercise import Exercise

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
    assert "it stops with ZeroDivisionError: division by zero. Expected: " in feedback.message
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
        (lambda x: x / 3, "Not yet. For x = 4 it gives 1.333. Expected: 2."),
        (
            lambda x: x / 2 if isinstance(x, float) else x[:2],
            "Not yet. For x = [0, 1, 2, 3] it gives the shape (2,). Expected: the shape (4,).",
        ),
        (
            lambda x: x / 2 if isinstance(x, float) or len(x) == 4 else x.clamp(max=1.5) / 2,
            "Not yet. For x = a tensor of shape (12,) it gives 0.75 at (2,). Expected there: 1.",
        ),
        (lambda x: "two", "Not yet. For x = 4 it gives 'two'. Expected: 2."),
        (lambda x: [[1], 2], "Not yet. For x = 4 it gives a list. Expected: 2."),
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
    for given, shown in ((math.nan, "nan"), (torch.ones(2), "[1, 1]")):
        assert exercise.judge(given).message == f"Not yet: {shown} is not the right answer."


def test_a_text_is_no_number():
    exercise = Exercise(answer=256)
    assert exercise.judge("256").message == "Give the answer without quotation marks."


def test_shapes_must_agree():
    exercise = Exercise(answer=[[1.0, 2.0]])
    assert exercise.judge([[1.0, 2.0]]).passed
    assert not exercise.judge([1.0, 2.0]).passed
