import json

import pytest
import search_index
from docutils import nodes

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


@pytest.fixture
def index(build):
    """A function that builds pages and reads what the search looks in."""

    def read(pages, *extensions, **settings):
        settings = {"myst_enable_extensions": ["deflist", "dollarmath"], **settings}
        site = build(pages, *extensions, "search_index", **settings)
        assert site.warnings == ""
        script = (site.folder / "searchindex.js").read_text(encoding="utf-8")
        return json.loads(script.removeprefix("window.SEARCH_INDEX = ").removesuffix(";\n"))

    return read


def test_sections_and_terms_are_entries_without_code(index):
    top, below, term, again = index({"index": PAGE})["entries"]
    assert top == {
        "url": "index.html#the-top",
        "page": "The top",
        "heading": "The top",
        "text": "An average of (q·k)/√d_k and of words.",
        "cited": "",
        "weight": 1.0,
    }
    assert (below["heading"], below["text"]) == ("Below it", "A B cell ‖k‖^2")
    assert (term["heading"], term["text"]) == ("Temperature", "What scores are divided by.")
    assert term["url"] == below["url"] == "index.html#below-it"
    assert again["weight"] == 0.25


def test_objects_of_the_reference_are_entries_and_come_last(index, monkeypatch):
    monkeypatch.setattr("search_index.LAST", ("reference",))
    page = "# Reference\n\n```{eval-rst}\n.. py:function:: half(x)\n\n   Half of it.\n```"
    section, function = index({"index": "# A", "reference": page})["entries"][-2:]
    assert (function["url"], function["heading"]) == ("reference.html#half", "half")
    assert function["text"] == "Half of it."
    assert section["text"] == ""
    assert section["weight"] == function["weight"] == 0.025


def test_notes_come_behind_the_chapter_that_they_prove():
    chapter, notes, ledger = map(
        search_index.weight_of, ("book/02_growth", "book/notes/02_growth", "book/ledger")
    )
    assert chapter > notes > ledger


def test_a_fold_that_answers_what_people_ask_is_an_entry(index):
    folds = (
        f":::{{admonition}} {name}\n:class: dropdown\n\nIt {does}.\n:::"
        for name, does in (("People ask: how?", "works"), ("Solution", "is 2"))
    )
    page = "# A\n\n## Below it\n\n" + "\n\n".join(folds)
    settings = {"myst_enable_extensions": ["colon_fence"]}
    *_, below, asked = index({"index": page}, "folds", **settings)["entries"]
    assert (asked["heading"], asked["text"]) == ("People ask: how?", "It works.")
    assert asked["url"] == below["url"]


def test_a_symbol_of_a_table_of_symbols_is_an_entry(index):
    table = "| Symbol | Meaning |\n| --- | --- |\n| $d_k$ | a dimension |"
    top, symbol = index({"index": f"# Notation\n\nHere they are.\n\n{table}"})["entries"]
    assert top["text"] == "Here they are. Symbol Meaning"
    assert (symbol["heading"], symbol["text"]) == ("d_k", "a dimension")
    assert symbol["url"] == top["url"]


def test_the_titles_of_cited_papers_are_found_and_other_links_are_not():
    paper = nodes.reference("", "", refuri="bibliography.html#id1", reftitle="Ann. A title.")
    other = nodes.reference("", "", refuri="notation.html#terms", reftitle="Terms")
    assert list(search_index.cited(nodes.paragraph("", "", paper, other))) == ["Ann. A title."]


def test_synonyms_are_groups(index):
    groups = index({"index": "# A"})["synonyms"]
    assert ["sqrt", "square root"] in groups
    assert all(len(group) > 1 and all(group) for group in groups)


def test_sphinx_writes_no_index_of_its_own(build):
    site = build({"index": "# A"}, "search_index")
    assert not (site.folder / "search.html").exists()
