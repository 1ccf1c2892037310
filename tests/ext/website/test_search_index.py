import json

import pytest
from website import search_index

PAGE = """
# The top

An average of $\\frac{q \\cdot k}{\\sqrt{d_k}}$ and of `words`.

```python
code = "not this"
```

## Below it

| A | B |
| --- | --- |
| cell | $\\lVert k \\rVert^2$ |

Temperature
: What scores are divided by.

## What to remember

The same again.
"""


def site_index(folder):
    """The text that the script sets, with entries as dictionaries."""
    script = (folder / "searchindex.js").read_text(encoding="utf-8")
    text = json.loads(script.removeprefix("window.SEARCH_INDEX = ").removesuffix(";\n"))
    read = json.loads(text)
    entries = [dict(zip(search_index.Entry._fields, e, strict=True)) for e in read["entries"]]
    return {**read, "entries": entries}


@pytest.fixture
def index(build):
    """A function that builds pages and reads what the search looks in."""

    def read(pages, *extensions, **settings):
        settings = {"myst_enable_extensions": ["deflist", "dollarmath"], **settings}
        site = build(pages, *extensions, "search_index", **settings)
        assert site.warnings == ""
        return site_index(site.folder)

    return read


def test_sections_and_terms_are_entries_without_code(index):
    read = index({"index": PAGE}, "book_index")
    assert read["pages"] == [["index.html", "The top"]]
    top, below, term, again = read["entries"]
    assert top == {
        "page": 0,
        "anchor": "the-top",
        "heading": "The top",
        "terms": [],
        "text": "An average of (q·k)/√d_k and of words.",
        "distance": search_index.EXPLAINS,
    }
    assert (below["heading"], below["text"]) == ("Below it", "A B cell ‖k‖^2")
    assert (term["heading"], term["text"]) == ("Temperature", "What scores are divided by.")
    assert (below["anchor"], term["anchor"]) == ("below-it", "term-temperature")
    assert again["distance"] == search_index.REPEATS


def test_objects_of_the_reference_are_entries_and_come_last(index, monkeypatch):
    monkeypatch.setattr(search_index, "RECORDS", ("reference",))
    page = "# Reference\n\n```{eval-rst}\n.. py:function:: half(x)\n\n   Half of it.\n```"
    section, function = index({"index": "# A", "reference": page})["entries"][-2:]
    assert (function["anchor"], function["heading"]) == ("half", "")
    assert function["text"] == "Half of it."
    assert section["text"] == ""
    assert section["distance"] == function["distance"] == search_index.LOOKED_UP


def test_notes_come_behind_the_chapter_that_they_prove():
    chapter, notes, ledger = map(
        search_index.distance, ("book/02_growth", "book/notes/02_growth", "book/ledger")
    )
    assert chapter < notes < ledger


def test_the_text_of_notes_is_cut_to_its_beginning(index):
    text = "word " * 200
    pages = {"index": f"# A\n\n{text}", "book/notes/01_a": f"# B\n\n{text}"}
    lengths = {e["heading"]: len(e["text"]) for e in index(pages)["entries"]}
    assert lengths["A"] == len(text) - 1
    assert (
        0.9
        < lengths["Notes 1. B" if "Notes 1. B" in lengths else "B"]
        / search_index.LENGTH[search_index.REPEATS]
        <= 1
    )


def test_a_symbol_of_a_table_of_symbols_is_an_entry(index):
    table = "| Symbol | Meaning |\n| --- | --- |\n| $d_k$ | a dimension |"
    page = {"index": f"# Notation\n\nHere they are.\n\n{table}"}
    top, symbol = index(page, "book_index")["entries"]
    assert top["text"] == "Here they are. Symbol Meaning"
    assert (symbol["heading"], symbol["text"]) == ("d_k", "a dimension")
    assert symbol["anchor"] == "symbol-d-k"


def test_a_section_has_its_entries_of_the_books_index(index):
    entries = "".join(
        f"```{{index}} {entry}\n```\n" for entry in ("softmax; saturation", "see: logit; score")
    )
    page = f"# A\n\n## Below it\n\n{entries}\n\nHere it is.\n\nTemperature\n: A divisor."
    top, below, term = index({"index": page}, "book_index")["entries"]
    assert below["terms"] == ["softmax saturation", "logit"]
    assert top["terms"] == term["terms"] == []


def test_a_paper_of_the_bibliography_is_an_entry(index, tmp_path):
    paper = "@misc{bernhard2023, author={Bernhard, James}, title={{A {Title}}}, year={2023}}"
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "references.bib").write_text(paper, encoding="utf-8")
    page = "# Bibliography\n\n```{bibliography}\n:all:\n```"
    settings = {"bibtex_bibfiles": ["references.bib"]}
    pages = {"index": page}
    *_, entry = index(pages, "sphinxcontrib.bibtex", "citations", **settings)["entries"]
    assert (entry["anchor"], entry["heading"]) == ("bernhard2023", "Bernhard: A Title")


def test_synonyms_are_groups(index):
    groups = index({"index": "# A"})["synonyms"]
    assert ["logit", "score"] in groups
    assert all(len(group) > 1 and all(group) for group in groups)


def test_sphinx_writes_no_index_of_its_own(build):
    site = build({"index": "# A"}, "search_index")
    assert not (site.folder / "search.html").exists()
