"""The lab asks what the chapters ask, holds no solution, and its solutions pass."""

import re

import nbformat
import pytest
import teaching
from nbclient import NotebookClient


@pytest.fixture(scope="module")
def notebooks():
    made = {solved: teaching.lab(solved=solved) for solved in (False, True)}
    for notebook in made.values():
        nbformat.validate(notebook)
        NotebookClient(notebook, kernel_name="python3", timeout=600).execute()
    return made


def said(notebook):
    """What the checks say."""
    found = [
        output["data"]["text/plain"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "data" in output
    ]
    return [text[:1] for text in found]


def test_the_lab_asks_six_exercises_in_an_hour_and_answers_none(notebooks):
    lab = notebooks[False]
    assert said(lab) == ["…"] * 6
    text = "\n".join(cell.source for cell in lab.cells)
    assert sum(map(int, re.findall(r"^\*(\d+) minutes", text, re.M))) == 55  # and five to end with
    assert "Solution" not in text
    for cell in notebooks[True].cells[2:]:
        if cell.source.startswith("**Solution.**") or cell.cell_type == "code":
            assert cell.source not in text


def test_every_solution_passes(notebooks):
    assert said(notebooks[True]) == ["✓"] * 6
