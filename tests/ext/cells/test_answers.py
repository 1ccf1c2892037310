"""Exercises on the site: a field for an answer that is a value, and how others are checked."""

import json

import pytest

from sdpa_book.exercises import check, exercises_of


def cell(source, printed):
    output = {"output_type": "execute_result", "execution_count": 1, "metadata": {}}
    return {
        "cell_type": "code",
        "execution_count": 1,
        "metadata": {},
        "source": source,
        "outputs": [output | {"data": {"text/plain": printed}}],
    }


@pytest.fixture
def page(build, tmp_path):
    """A page with an exercise whose answer is a function, one with a value, and a solved one."""
    unanswered = repr(check("growth.diagnosis", ...))
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": "# A\n\n## Exercises\n\n### One"},
        cell('check("growth.needed_d_k", needed)', unanswered),
        cell('kinds = ...\ncheck("growth.diagnosis", kinds)', unanswered),
        cell('check("growth.diagnosis", "bdac")', "✓ Right."),
    ]
    about = {"metadata": {"orphan": True}, "nbformat": 4, "nbformat_minor": 4}
    (tmp_path / "source" / "book").mkdir(parents=True)
    (tmp_path / "source" / "book" / "cells.ipynb").write_text(
        json.dumps(about | {"cells": cells}), encoding="utf-8"
    )
    suffixes = dict.fromkeys([".md", ".ipynb"], "myst-nb")
    settings = {"nb_execution_mode": "off", "source_suffix": suffixes}
    site = build({"index": "# Start"}, "myst_nb", "answers", "folds", **settings)
    return site.page("book/cells")


def test_an_answer_that_is_a_value_has_a_field_that_knows_it(page):
    (form,) = page.select("form.answer")
    assert "kinds = ..." in form.find_parent(class_="cell").text
    known = json.loads(form["data-known"])
    exercise = exercises_of("growth")["growth.diagnosis"]
    assert known["answer"] == exercise.answer
    assert dict(map(reversed, known["mistakes"])) == exercise.mistakes
    assert "Not answered yet" not in page.text  # what a cell prints of it


def test_a_page_says_once_and_first_how_an_answer_is_checked(page):
    (way,) = page.select(".how-to-check")
    assert way.a["href"] == "../_sources/book/cells.ipynb"
    assert way.find_previous_sibling().text.startswith("Exercises")
    assert way.text.startswith("Short answers are checked here")
