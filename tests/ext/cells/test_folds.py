import json
from base64 import b64encode
from io import BytesIO

import pytest
from PIL import Image

PAGE = """# A

```{admonition} Solution of $x$
:class: dropdown

It is *two*.
```

```{admonition} Predict
Guess.
```
"""


def test_a_dropdown_opens_without_a_script_and_other_admonitions_stay(build):
    site = build({"index": PAGE}, "folds", myst_enable_extensions=["dollarmath"])
    (fold,) = site.page().select("details")
    assert "dropdown" in fold["class"]
    assert fold.summary.find(class_="math") is not None
    assert fold.em.text == "two"
    (other,) = site.page().select("div.admonition")
    assert "Guess." in other.text
    assert site.warnings == ""


def cell(source, *outputs, tags=()):
    outputs = [
        {"output_type": "display_data", "metadata": {}, "data": {kind: content}}
        for kind, content in outputs
    ]
    return {
        "cell_type": "code",
        "execution_count": 1,
        "metadata": {"tags": list(tags)},
        "source": source,
        "outputs": outputs,
    }


def drawing():
    drawn = BytesIO()
    Image.new("RGB", (4, 4)).save(drawn, "PNG")
    return "image/png", b64encode(drawn.getvalue()).decode()


DRAWING = drawing()


@pytest.fixture
def build_notebook(build, tmp_path):
    """A function that builds a page of cells."""

    def build_page(*cells):
        about = {"metadata": {"orphan": True}, "nbformat": 4, "nbformat_minor": 4}
        (tmp_path / "source").mkdir()
        (tmp_path / "source" / "cells.ipynb").write_text(
            json.dumps(about | {"cells": cells}), encoding="utf-8"
        )
        settings = {
            "nb_execution_mode": "off",
            "source_suffix": dict.fromkeys([".md", ".ipynb"], "myst-nb"),
        }
        site = build({"index": "# Start"}, "myst_nb", "folds", **settings)
        return site.page("cells")

    return build_page


@pytest.fixture
def page(build_notebook):
    """A page with a cell of each kind."""
    solution = "# A\n```{admonition} Solution\n:class: dropdown\n\nIt is two.\n```\n"
    return build_notebook(
        cell("draw()", DRAWING),
        cell("1 + 1", ("text/plain", "two")),
        cell("import plumbing", tags=["hide-input"]),
        {"cell_type": "markdown", "metadata": {}, "source": solution},
        cell("solve()", ("text/plain", "✓ Right."), tags=["hide-cell"]),
        {"cell_type": "markdown", "metadata": {}, "source": "And on."},
        cell("alone()", ("text/plain", "once"), tags=["hide-cell"]),
    )


def test_a_figure_stands_before_its_code_which_is_folded(page):
    (figure,) = (x for x in page.select("div.cell") if x.find("img"))
    assert [x.name for x in figure.find_all(["img", "details"])] == ["img", "details"]
    assert figure.details.summary.text == "Code"
    assert "draw()" in figure.details.text


def test_a_solution_is_one_box_with_its_code(page):
    (box,) = page.select("details.dropdown")
    assert len(box.find_all("summary")) == 1
    for part in ("It is two.", "solve()", "✓ Right."):
        assert part in box.text


def test_code_with_nothing_to_see_in_between_is_one_fold(build_notebook):
    page = build_notebook(
        cell("import first", tags=["hide-cell"]),
        cell("prepare()", tags=["hide-cell"]),
        cell("draw()", DRAWING),
        cell("check()", ("text/plain", "checked"), tags=["hide-cell"]),
        cell("more()", ("text/plain", "rows"), tags=["hide-input"]),
    )
    figure, rows = page.select("details.code")
    assert [pre.text.strip() for pre in figure.select(".cell_input pre")] == [
        "import first",
        "prepare()",
        "draw()",
        "check()",
    ]
    assert [len(fold.find_all("summary")) for fold in (figure, rows)] == [1, 1]
    assert figure.img is None
    assert "checked" in figure.text
    assert "rows" not in rows.text


def test_code_below_text_goes_to_the_next_that_has_something_above_it(build_notebook):
    text = {"cell_type": "markdown", "metadata": {}, "source": "And on."}
    page = build_notebook(
        cell("import first", tags=["hide-cell"]),
        text,
        cell("prepare()", tags=["hide-input"]),
        text,
        cell("draw()", DRAWING),
        text,
        cell("measure()", ("text/plain", "0.5"), tags=["hide-cell"]),
        text,
        cell("last()", tags=["hide-cell"]),
    )
    figure, measured = page.select("details.code")
    code = [pre.text.strip() for pre in figure.select(".cell_input pre")]
    assert code == ["import first", "prepare()", "draw()"]
    assert measured.summary.text == "How this was computed"
    assert "last()" not in page.text
