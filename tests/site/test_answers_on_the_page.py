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


def said(form, given):
    form.get_by_label("Your answer").fill(given)
    form.get_by_role("button", name="Check").click()
    return form.locator("output").inner_text()


def typed(value):
    return value if isinstance(value, str) else json.dumps(value)


@pytest.fixture
def fields(tab, base):
    """The field of each exercise whose answer is a value."""
    found = {}
    for page in sorted(SITE.glob("book/**/*.html")):
        if 'class="answer"' in page.read_text(encoding="utf-8"):
            opened, _ = tab(base + page.relative_to(SITE).as_posix())
            for cell in opened.locator(".cell:has(form.answer)").all():
                (name,) = (name for name in VALUES if f'"{name}"' in cell.inner_text())
                found[name] = cell.locator("form.answer")
    return found


def test_every_exercise_with_a_value_has_a_field_that_judges_as_check_does(fields):
    assert sorted(fields) == sorted(VALUES)
    for name, exercise in VALUES.items():
        form = fields[name]
        for value in (exercise.answer, *exercise.mistakes.values()):
            assert said(form, typed(value)) == repr(exercise.judge(value)), (name, value)


@pytest.mark.smoke
def test_a_field_reads_what_people_type(fields):
    assert said(fields["square_root.power"], "1/4") == "✓ Right."
    assert said(fields["growth.diagnosis"], " 'B, D, A, C' ") == "✓ Right."
    assert said(fields["square_root.power"], "−1/4").startswith("✗ ")
    assert said(fields["square_root.power"], "0.3") == "✗ Not yet: 0.3 is too large."
    assert said(fields["square_root.power"], "a half") == "✗ The answer is a number."
    assert said(fields["shapes.same_winner"], "57%") == "✓ Right."
    assert said(fields["shapes.same_winner"], "57.2 %") == "✓ Right."
    for name in SEVERAL:
        numbers = VALUES[name].answer
        fractions = ", ".join(str(Fraction(x).limit_denominator(100)) for x in numbers)
        shares = ", ".join(f"{100 * x:g}%" for x in numbers)
        for given in (f"({fractions})", shares):
            assert said(fields[name], given) == "✓ Right.", given
    for name in NAMES:
        for mark in " -":
            given = VALUES[name].answer.replace("_", mark).capitalize()
            assert said(fields[name], given) == "✓ Right.", given
        if "sqrt_d_k" in VALUES[name].mistakes.values():
            wrong = said(fields[name], "√d_k")
            assert wrong == said(fields[name], "sqrt_d_k")
            assert "Expected" not in wrong


def test_an_answer_that_nobody_foresaw_is_told_what_kind_is_expected(fields):
    for name, exercise in VALUES.items():
        if isinstance(exercise.answer, str):
            told = f"✗ Not yet: 12 is not the right answer. Expected: {form(exercise.answer)}."
            assert said(fields[name], "12") == told
        else:
            assert said(fields[name], "a few") == f"✗ The answer is {form(exercise.answer)}."
    for name in SEVERAL:
        assert said(fields[name], "7, 8") == "✗ Not yet: 7, 8 is not the right answer."
    assert said(fields["growth.diagnosis"], "abcd") == "✗ Not yet: abcd is not the right answer."


def test_a_wrong_number_is_told_what_check_tells_of_it(fields):
    for name, exercise in VALUES.items():
        if isinstance(exercise.answer, int | float):
            near = 1 + 3 * exercise.tolerance
            for factor in (10, 100, 1.5, 0.5, -1, near, 2 - near):
                given = float(f"{factor * exercise.answer:.4g}")
                assert said(fields[name], f"{given:.4g}") == repr(exercise.judge(given)), name
