"""The book's index, of pages and of notebooks."""

import json

import pytest

TEMPLATE = """{%- extends "layout.html" %}{% block body %}
{%- macro links(all) %}{% for _, link in all %} <a href="{{ link }}">{{ chapter_of(link) }}</a>
{%- endfor %}{% endmacro %}
{%- for letter, entries in genindexentries %}{% for name, (all, below, _) in entries %}
<p>{{ typeset(name) }}{{ links(all) }}
{%- for other, there in below %} | {{ other }}{{ links(there) }}{% endfor %}</p>
{% endfor %}{% endfor %}{% endblock %}"""


@pytest.fixture
def entries(build, tmp_path):
    """A function that builds pages, and gives the lines of the index with what they link to."""

    def read(pages, notebooks=(), **settings):
        (tmp_path / "templates").mkdir()
        (tmp_path / "templates" / "genindex.html").write_text(TEMPLATE, encoding="utf-8")
        (tmp_path / "source" / "book").mkdir(parents=True)
        for name, cells in dict(notebooks).items():
            cells = [{"cell_type": "markdown", "id": f"c{i}", **c} for i, c in enumerate(cells)]
            book = {"cells": cells, "metadata": {"orphan": True}, "nbformat": 4}
            file = tmp_path / "source" / f"{name}.ipynb"
            file.write_text(json.dumps({**book, "nbformat_minor": 5}), encoding="utf-8")
        settings = {
            "nb_execution_mode": "off",
            "myst_enable_extensions": ["deflist", "dollarmath"],
            "source_suffix": dict.fromkeys([".md", ".ipynb"], "myst-nb"),
            "templates_path": [str(tmp_path / "templates")],
            **settings,
        }
        site = build(pages, "myst_nb", "book_index", **settings)
        page = site.page("genindex")
        lines = {
            " ".join(p.get_text().split()): [a["href"] for a in p.find_all("a")]
            for p in page.find_all("p")
            if p.find_parent(class_="body") and p.get_text().strip()
        }
        return site, lines

    return read


def test_the_cells_of_a_notebook_name_entries_of_their_headings(entries):
    index = {"Soft *max* of d_k": ["softmax; saturation", "see: logit; score", "k_mean"]}
    cells = [
        {"source": "# A notebook\n\nIt begins.", "metadata": {}},
        {"source": "Before.\n\n## Soft *max* of d_k\n\nHere.", "metadata": {"index": index}},
    ]
    site, lines = entries({"index": "# A"}, {"book/04_soft": cells})
    assert site.warnings == ""
    place = "book/04_soft.html#soft-max-of-d-k"
    assert lines == {
        "kmean 4": [place],
        "logit | see score": [],
        "softmax | saturation 4": [place],
    }


def test_a_heading_that_is_gone_is_a_warning(entries):
    cells = [{"source": "# A notebook", "metadata": {"index": {"Gone": ["softmax"]}}}]
    site, lines = entries({"index": "# A"}, {"book/04_soft": cells})
    assert "no heading 'Gone'" in site.warnings
    assert lines == {}


def test_terms_and_symbols_are_entries_and_targets(entries):
    page = (
        "# A\n\n**Divisor**, $c$\n: What one divides by.\n\nQK-norm\n: Of lengths.\n\n"
        "| Symbol | Meaning |\n| --- | --- |\n| $q$, $q \\cdot k = 1$ | a query |\n"
    )
    site, lines = entries({"index": page})
    assert site.warnings == ""
    assert lines == {
        "divisor index": ["index.html#term-divisor"],
        "q index": ["index.html#symbol-q"],
        "q·k index": ["index.html#symbol-q"],
        "QK-norm index": ["index.html#term-qk-norm"],
    }
    assert site.page().find("dt", id="term-divisor").strong.get_text() == "Divisor"
    assert "a query" in site.page().find("tr", id="symbol-q").get_text()


def test_what_the_reference_documents_is_left_out(entries):
    page = "# A\n\n```{index} half\n```\n\n```{eval-rst}\n.. py:function:: third(x)\n```"
    _, lines = entries({"index": page})
    assert list(lines) == ["half index"]
