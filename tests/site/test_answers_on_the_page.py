"""The fields for answers say of an answer what ``check`` says of it in the notebook."""

import json
from fractions import Fraction

import pytest

from sdpa_book.exercises import all_exercises
from sdpa_book.exercises.exercise import form
from sdpa_lib import RESCALINGS
from tests.site.browser import SITE

LAB = "lab."  # the lecture's, which is no page
VALUES = {
    name: one
    for name, one in all_exercises().items()
    if not (callable(one.answer) or name.startswith(LAB))
}
NAMES = {name for name, one in VALUES.items() if one.answer in (*RESCALINGS,)}
SEVERAL = {name for name, one in VALUES.items() if isinstance(one.answer, list | tuple)}


def verdict(form, given):
    form.get_by_label("Your answer").fill(given)
    form.get_by_role("button", name="Check").click()
    return form.locator("output").inner_text()


def typed(value):
    return value if isinstance(value, str) else json.dumps(value)


@pytest.fixture
def fields(tab, base):
    """The field of each exercise whose answer is a value."""
    forms = {}
    for page in sorted(SITE.glob("book/**/*.html")):
        if 'class="answer"' in page.read_text(encoding="utf-8"):
            opened, _ = tab(base + page.relative_to(SITE).as_posix())
            for cell in opened.locator(".cell:has(form.answer)").all():
                (name,) = (name for name in VALUES if f'"{name}"' in cell.inner_text())
                forms[name] = cell.locator("form.answer")
    return forms


def test_every_exercise_with_a_value_has_a_field_that_judges_as_check_does(fields):
    assert sorted(fields) == sorted(VALUES)
    for name, exercise in VALUES.items():
        form = fields[name]
        for value in (exercise.answer, *exercise.mistakes.values()):
            assert verdict(form, typed(value)) == repr(exercise.judge(value)), (name, value)


@pytest.mark.smoke
def test_a_field_reads_what_people_type(fields):
    assert verdict(fields["square_root.power"], "1/4") == "✓ Right."
    assert verdict(fields["growth.diagnosis"], " 'B, D, A, C' ") == "✓ Right."
    assert verdict(fields["square_root.power"], "−1/4").startswith("✗ ")
    assert verdict(fields["square_root.power"], "0.3") == "✗ Not yet: 0.3 is too large."
    assert verdict(fields["square_root.power"], "a half") == "✗ The answer is a number."
    assert verdict(fields["shapes.same_winner"], "57%") == "✓ Right."
    assert verdict(fields["shapes.same_winner"], "57.2 %") == "✓ Right."
    for name in SEVERAL:
        numbers = VALUES[name].answer
        fractions = ", ".join(str(Fraction(x).limit_denominator(100)) for x in numbers)
        shares = ", ".join(f"{100 * x:g}%" for x in numbers)
        for given in (f"({fractions})", shares):
            assert verdict(fields[name], given) == "✓ Right.", given
    for name in NAMES:
        for mark in " -":
            given = VALUES[name].answer.replace("_", mark).capitalize()
            assert verdict(fields[name], given) == "✓ Right.", given
        if "sqrt_d_k" in VALUES[name].mistakes.values():
            wrong = verdict(fields[name], "√d_k")
            assert wrong == verdict(fields[name], "sqrt_d_k")
            assert "Expected" not in wrong


def test_an_answer_that_nobody_foresaw_is_told_what_kind_is_expected(fields):
    for name, exercise in VALUES.items():
        if isinstance(exercise.answer, str):
            message = f"✗ Not yet: 12 is not the right answer. Expected: {form(exercise.answer)}."
            assert verdict(fields[name], "12") == message
        else:
            assert verdict(fields[name], "a few") == f"✗ The answer is {form(exercise.answer)}."
    for name in SEVERAL:
        assert verdict(fields[name], "7, 8") == "✗ Not yet: 7, 8 is not the right answer."
    assert verdict(fields["growth.diagnosis"], "abcd") == "✗ Not yet: abcd is not the right answer."


def test_a_wrong_number_is_told_what_check_tells_of_it(fields):
    for name, exercise in VALUES.items():
        if isinstance(exercise.answer, int | float):
            near = 1 + 3 * exercise.tolerance
            for factor in (10, 100, 1.5, 0.5, -1, near, 2 - near):
                given = float(f"{factor * exercise.answer:.4g}")
                assert verdict(fields[name], f"{given:.4g}") == repr(exercise.judge(given)), name
