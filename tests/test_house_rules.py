"""A page may ask no more of its reader than ``house_rules.toml`` says."""

import tomllib
from pathlib import Path

import nbformat
import page_counts
import pytest
from page_counts import BOOK, counts, stored

RULES = tomllib.loads((Path(__file__).parent / "house_rules.toml").read_text(encoding="utf-8"))
PAGES = {path.relative_to(BOOK).as_posix()[:-6]: path for path in stored(BOOK)}
NO_CHAPTER = ("notes/", "ledger")


def test_every_page_has_its_number_of_words():
    assert sorted(RULES["words"]) == sorted(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_asks_no_more_than_it_may(page):
    limits = {} if page.startswith(NO_CHAPTER) else RULES["chapter"]
    limits = limits | {"words": RULES["words"][page]}
    found = counts(PAGES[page])
    over = {name: (found[name], most) for name, most in limits.items() if found[name] > most}
    assert not over, "more than it may, as (has, may): see tests/house_rules.toml"


PAGE = """# A

One two $x^2$ [three](a.md) (an aside of words).

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
        "asides": round(1000 / 32, 1),
        "dense": 1,
        "caption": 4,
        "answer": 0,
        "unknown": 6,
        "summing_up": 2,
    }


def test_the_command_prints_every_page(capsys):
    page_counts.main()
    printed = capsys.readouterr().out
    assert all(page in printed for page in PAGES)
