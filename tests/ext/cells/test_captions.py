import json

import pytest

ALT = "The size of q·k against d_k, both axes logarithmic. One line rises."
SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"/>'
TABLE = '<table class="sdpa-table"><thead><tr><th>a</th></tr></thead></table>'
MARKDOWN = "# A\n\n| a |\n|---|\n| 1 |\n\n:::{table} By hand.\n| b |\n|---|\n| 2 |\n:::\n"


def cell(kind, *contents, **metadata):
    outputs = [
        {"output_type": "display_data", "metadata": {}, "data": {kind: content}}
        for content in contents
    ]
    code = {"cell_type": "code", "execution_count": 1, "source": "1", "outputs": outputs}
    return {**code, "metadata": metadata}


@pytest.fixture
def page(build, tmp_path):
    """A function that builds a page of this name with figures and tables."""

    def build_page(name):
        cells = [
            {"cell_type": "markdown", "metadata": {}, "source": MARKDOWN},
            cell("image/svg+xml", SVG, mystnb={"image": {"alt": ALT}}),
            cell("text/html", TABLE, caption="What W_Q < 1 gives"),
            cell("image/svg+xml", SVG, mystnb={"image": {"alt": ALT}}, caption="Growth."),
            cell("text/html", TABLE, TABLE, caption=["Of the first.", "Of the second."]),
        ]
        notebook = {"cells": cells, "metadata": {"orphan": True}, "nbformat": 4}
        (tmp_path / "source").mkdir()
        file = tmp_path / "source" / f"{name}.ipynb"
        file.write_text(json.dumps({**notebook, "nbformat_minor": 4}), encoding="utf-8")
        settings = {
            "nb_execution_mode": "off",
            "myst_enable_extensions": ["colon_fence"],
            "source_suffix": dict.fromkeys([".md", ".ipynb"], "myst-nb"),
        }
        return build({"index": "# Start"}, "myst_nb", "captions", **settings).page(name)

    return build_page


def test_figures_and_tables_of_a_chapter_are_numbered(page):
    built = page("04_saturation")
    first, second = built.select("figure")
    assert (first["id"], second["id"]) == ("figure-4-1", "figure-4-2")
    assert first.img["alt"] == ALT
    expected = "Figure 4.1. The size of q·k against dk, both axes logarithmic."
    assert first.figcaption.text == expected
    assert second.figcaption.text == "Figure 4.2. Growth."
    assert built.select_one("caption a.headerlink")["href"] == "#table-4-1"
    assert [c.text.rstrip("¶") for c in built.select("caption")] == [
        "Table 4.1. By hand.",
        "Table 4.2. What WQ < 1 gives",
        "Table 4.3. Of the first.",
        "Table 4.4. Of the second.",
    ]
    by_hand = built.select("table:not(.sdpa-table)")
    assert [table.get("id") for table in by_hand] == [None, "table-4-1"]
    assert built.select_one("table.sdpa-table")["id"] == "table-4-2"


def test_what_is_folded_has_a_title_and_no_number(build):
    text = """# A

```{admonition} More
:class: dropdown

:::{table} Folded.
| a |
|---|
| 1 |
:::
```

:::{table} Seen.
| b |
|---|
| 2 |
:::
"""
    pages = {"index": "# Start", "04_a": text}
    page = build(pages, "captions", myst_enable_extensions=["colon_fence"]).page("04_a")
    titles = [caption.text.rstrip("¶") for caption in page.select("caption")]
    assert titles == ["Folded.", "Table 4.1. Seen."]


def test_the_numbers_of_the_first_page_have_no_chapter(page):
    assert page("00_start").figure.strong.text == "Figure 1."


def test_a_page_that_is_no_chapter_has_no_numbers(page):
    built = page("ledger")
    assert built.select("figure") == []
    titles = [caption.text for caption in built.select("caption")]
    assert titles == ["By hand.¶", "What WQ < 1 gives", "Of the first.", "Of the second."]
