import pytest
from cells.table_names import table, typeset

TABLE = """# A

```{raw} html
<table class="sdpa-table"><thead><tr><th scope="col">sqrt_d_k</th></tr></thead>
<tbody><tr><td class="number">-2.5</td></tr></tbody></table>
```

```{raw} html
<p>-2.5 sqrt_d_k</p>
```
"""


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("std, sqrt_d_k", "std, √<i>d</i><sub>k</sub>"),
        ("d_k = 64, none", "<i>d</i><sub>k</sub> = 64, none"),
        ("n_sqrt_d_k", "n√<i>d</i><sub>k</sub>"),
        ("qk_norm", "QK-norm"),
        ("-1.0013 ± 0.0024", "−1.0013 ± 0.0024"),
        ("-0.09 to 0.25", "−0.09 to 0.25"),
        ("-1 to -0.5", "−1 to −0.5"),
        ("-inf", "−inf"),
        ("9.18e-7", "9.18·10<sup>−7</sup>"),
        ("1.000e300", "1.000·10<sup>300</sup>"),
        ("10^-2.5", "10<sup>−2.5</sup>"),
        ("d_k^2/3", "<i>d</i><sub>k</sub><sup>2/3</sup>"),
        ("QK-norm, 4-5", "QK-norm, 4-5"),
        ("σ/σ_c", "σ/<i>σ</i><sub>c</sub>"),
        ("at W_Q", "at <i>W</i><sub>Q</sub>"),
        ("a_long_name nonesuch", "a_long_name nonesuch"),
        ("q_phones, XW_V", "<i>q</i><sub>phones</sub>, X<i>W</i><sub>V</sub>"),
        ("E[q_i²]E[k_i²]", "E[<i>q</i><sub>i</sub>²]E[<i>k</i><sub>i</sub>²]"),
        ("sdpa_lib", "sdpa_lib"),
        ("e^H, 0.5", "e<sup>H</sup>, 0.5"),
        ("to R^n.", "to R<sup>n</sup>."),
        ("it is 7.2e-67.", "it is 7.2·10<sup>−67</sup>."),
        ("4 to 1024, it is", "4 to 1,024, it is"),
        ("131072", "131,072"),
        ("2304.5 ± 1024", "2,304.5 ± 1,024"),
        ("(2, 32, 2048, 64), by step 4000", "(2, 32, 2048, 64), by step 4,000"),
        ("0.00012, 8,192", "0.00012, 8,192"),
        ("Student&#x27;s t, the root's", "Student’s t, the root’s"),
    ],
)
def test_a_text_is_set_as_on_the_page(text, html):
    assert typeset(text) == html


@pytest.mark.parametrize(
    "column",
    [
        ["0.49", "none", "all"],
        ["32", "1,024", "10⁶", "10¹⁰⁰"],
        ["&lt; 10⁻⁶", "(7.86 ± 0.23)·10⁻⁴", "0.112", "(0.303)"],
        ["156 (115 to 213)", "1.29 (1.15 to 1.44)"],
        ["2,002 ± 1,024", "5 %", "-inf", "2.5e-20"],
    ],
)
def test_a_column_of_numbers_stands_to_the_right(column):
    cells = "".join(f'<tr><td class="text">{text}</td></tr>' for text in ["share", *column])
    assert table(cells).count('class="number"') == len(column) + 1


def test_a_column_of_words_and_numbers_stands_to_the_left():
    cells = "".join(f'<tr><td class="text">{text}</td></tr>' for text in ["by", "64", "the root"])
    assert "number" not in table(cells)


def test_a_heading_does_not_part_at_a_sign():
    rows = '<tr><th scope="col">p(1 - p), d_k = 64</th></tr><tr><td>p(1 - p)</td></tr>'
    markup = table(rows)
    assert "p(1\u00a0−\u00a0p), <i>d</i><sub>k</sub>\u00a0=\u00a064</th>" in markup
    assert "p(1 − p)</td>" in markup


def test_none_is_undivided_where_it_says_what_divides():
    rows = [["divided by", "std, none", "starved"], ["none", "1", "none"]]
    html = "".join(f"<tr>{''.join(f'<td>{text}</td>' for text in row)}</tr>" for row in rows)
    assert table(html) == (
        "<tr><td>divided by</td><td>std, undivided</td><td>starved</td></tr>"
        "<tr><td>undivided</td><td>1</td><td>none</td></tr>"
    )


def test_only_tables_that_cells_made_are_set(build):
    page = build({"index": TABLE}, "table_names").page()
    assert page.table.th.text == "√dk"
    assert page.table.th.i.text == "d"
    assert page.table.td.text == "−2.5"
    assert page.table.td["class"] == ["number"]
    assert "-2.5 sqrt_d_k" in page.text


def test_a_head_without_words_is_no_head():
    markup = table('<tr><th class="text"></th><th>a</th></tr><tr><td>b</td><td>1</td></tr>')
    assert markup.startswith("<tr><td></td><th>a</th></tr>")
