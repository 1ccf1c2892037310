"""Every exercise accepts its answer and refuses each known mistake with a hint of its own."""

import pytest

from sdpa_lib.book import check
from sdpa_lib.book.exercises import EXERCISES
from sdpa_lib.book.exercises._exercise import Exercise

MISTAKES = [(name, hint) for name, exercise in EXERCISES.items() for hint in exercise.mistakes]


@pytest.mark.parametrize("name", EXERCISES)
def test_right_answer_passes_and_no_answer_is_no_failure(name):
    assert check(name, EXERCISES[name].answer).passed is True
    for nothing in (..., None, lambda *_: ...):
        if callable(EXERCISES[name].answer) or not callable(nothing):
            assert check(name, nothing).passed is None


@pytest.mark.parametrize(("name", "hint"), MISTAKES)
def test_each_mistake_is_refused_with_its_own_hint(name, hint):
    feedback = check(name, EXERCISES[name].mistakes[hint])
    assert feedback.passed is False
    assert feedback.message == hint


@pytest.mark.parametrize("name", EXERCISES)
def test_every_exercise_knows_plausible_mistakes(name):
    assert len(EXERCISES[name].mistakes) >= 2
    assert check(name, lambda *_: -12345.678).passed is False
    assert check(name, "nonsense").passed is False


def test_a_function_that_raises_is_explained():
    feedback = check("square_root.divisor", lambda d_k: 1 / 0)
    assert feedback.passed is False
    assert "ZeroDivisionError" in feedback.message
    assert (
        check("square_root.divisor", 8.0).message == "Pass the function itself, without calling it."
    )


def test_shapes_must_agree():
    exercise = Exercise(answer=[[1.0, 2.0]], mistakes={})
    assert exercise.judge([[1.0, 2.0]]).passed
    assert not exercise.judge([1.0, 2.0]).passed
