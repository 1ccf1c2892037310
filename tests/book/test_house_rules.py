"""A page may not be longer than a reader will read; what else is counted, a command reports."""

import nbformat
import page_counts
import pytest
from page_counts import LIMITS, counts, over, pages


def test_no_page_is_too_long():
    long = {page: row["words"] for page, row in pages().items() if "words" in over(page, row)}
    assert not long, "python tests/page_counts.py prints how many words a page may have"


@pytest.mark.parametrize(
    ("page", "most"),
    [("05_learning", 2500), ("articles/b_depth", 2400), ("people_ask", 3500), ("notes/05", 9000)],
)
def test_a_page_of_a_word_too_many_is_over(tmp_path, page, most):
    path = tmp_path / "page.ipynb"
    for words, too_many in ((most, set()), (most + 1, {"words"})):
        cell = nbformat.v4.new_markdown_cell("# A\n\n" + "word " * (words - 1))
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)
        assert over(page, counts(path)) == (set() if page.startswith("notes") else too_many)


PAGE = """# A

One two $x^2$ [three](a.md) four five six seven.

> **What we do not know.** Why.

<details>
<summary>More</summary>

Folded words.

</details>

Here 0.1, 0.2, 30 % and 5 times.

## What to remember

1. All.
"""


def test_what_is_counted(tmp_path):
    drawn = nbformat.v4.new_code_cell("draw()\nmore()", metadata={"caption": "Four words of it."})
    drawn.outputs = [nbformat.v4.new_output("display_data", {"image/svg+xml": "<svg/>"})]
    printed = nbformat.v4.new_code_cell("print(1)\n\nprint(2)")
    printed.outputs = [nbformat.v4.new_output("stream", text="1")]
    hidden = nbformat.v4.new_code_cell("load()", metadata={"tags": ["hide-cell"]})
    cells = [nbformat.v4.new_markdown_cell(PAGE), drawn, printed, hidden]
    path = tmp_path / "page.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    assert counts(path) == {
        "words": 32,
        "folded": 2,
        "displays": 2,
        "folds": 1,
        "code": 2,
        "cell": 3,
        "dense": 1,
        "caption": 4,
        "answer": 0,
        "unknown": 6,
        "summing_up": 2,
    }


def test_what_is_over_its_limit_is_marked(monkeypatch, capsys):
    row = {"folded": 0, **LIMITS, "dense": 1}
    monkeypatch.setattr(page_counts, "pages", lambda: {"05_learning": row})
    page_counts.main()
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.split()[-5:] == ["1!", "40", "90", "80", "150"]
