"""ARCHITECTURE's picture and tables are those of the code, which has no circle."""

from graphlib import TopologicalSorter

import pytest
from editions import architecture


def test_the_page_is_as_the_code_is():
    page = architecture.PAGE.read_text(encoding="utf-8")
    assert architecture.filled(page) == page, "`python book/_ext architecture` writes it"


def test_no_arrow_leads_back():
    arrows = architecture.arrows()
    assert {("studies", "library"), ("chapters", "exercises"), ("website", "cells")} <= {*arrows}
    rooms = {room: {other for one, other in arrows if one == room} for room in architecture.ROOMS}
    TopologicalSorter(rooms).prepare()
    above = [room for room, others in rooms.items() if "chapters" in others]
    assert rooms["library"] == set() == {*above}


def test_an_import_is_an_arrow_wherever_it_stands(tmp_path, monkeypatch):
    monkeypatch.setattr(architecture, "ROOT", tmp_path)
    architecture.passed_on.cache_clear()
    texts = {
        "sdpa_book/__init__.py": "from sdpa_book.exercises import check",
        "sdpa_book/exercises/one.py": "def f():\n    from ..studies import depth",
        "sdpa_book/studies/test_one.py": "import sdpa_lib",
        "book/_ext/cells/one.py": "import sdpa_book.writing.names",
        "benchmarks/one.py": "from sdpa_book import check",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert architecture.arrows() == [
        ("exercises", "studies"),
        ("cells", "writing"),
        ("benchmarks", "exercises"),
    ]
    architecture.passed_on.cache_clear()


def test_a_module_without_a_docstring_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(architecture, "ROOT", tmp_path)
    (tmp_path / "bare.py").write_text("")
    with pytest.raises(SystemExit, match=r"bare\.py has no docstring"):
        architecture.first_sentence(tmp_path / "bare.py")
