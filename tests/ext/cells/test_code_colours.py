from pathlib import Path

from cells import code_colours
from pygments.token import STANDARD_TYPES

STYLE = Path(__file__).parents[3] / "book/_theme/sdpa/static/site.css"

PAGE = """# Code

```python
@cached
def root(x):  # its root
    return f"{x:.1f}" if x is not None else max(1, x)
```

```pycon
>>> root(2)
1.4
```
"""


def test_code_is_marked_by_colour_and_what_has_none_is_not_marked(build):
    page = build({"index": PAGE}, "code_colours").page()
    code, session = page.select(".highlight")
    marked = [(span["class"], span.text) for span in code.select("span[class]")]
    assert marked == [
        (["nf"], "@cached"),
        (["k"], "def"),
        (["nf"], "root"),
        (["c"], "# its root"),
        (["k"], "return"),
        (["s"], 'f"{'),
        (["s"], ':.1f}"'),
        (["k"], "if"),
        (["k"], "is"),
        (["k"], "not"),
        (["k"], "None"),
        (["k"], "else"),
        (["nf"], "max"),
        (["m"], "1"),
    ]
    assert code.text == PAGE.split("```")[1].removeprefix("python\n")
    assert [span["class"] for span in session.select("span[class]")] == [["nf"], ["m"], ["c"]]


def test_every_mark_has_a_colour_in_the_style_sheet_of_the_book():
    sheet = STYLE.read_text(encoding="utf-8")
    for token in set(code_colours.COLOURS.values()):
        assert f".highlight .{STANDARD_TYPES[token]} {{" in sheet
