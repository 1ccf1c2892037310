"""Formulas: what becomes of delimiters, and that what can't be set fails the build."""

import pytest
from bs4 import BeautifulSoup
from cells.mathml import in_pieces, mathml, with_fences
from docutils import nodes


@pytest.mark.parametrize(
    ("typed", "paired"),
    [
        (r"\big(a\big)^2", r"\left( a\right) ^2"),
        (r"\Bigl[ a \Bigr]", r"\left[  a \right] "),
        (r"\big[0,1\big)", r"\left[ 0,1\right) "),
        (r"\big\|a\big\|", r"\left\Vert a\right\Vert "),
        (r"\big|a\big|\,\big|b\big|", r"\left| a\right| \,\left| b\right| "),
        (r"\Big|a+\big|b\big|\Big|", r"\left| a+\left| b\right| \right| "),
        (r"\Big\|a+\big\|b\big\|\Big\|", r"\left\Vert a+\left\Vert b\right\Vert \right\Vert "),
        (r"\big\|\big|a\big|\big\|", r"\left\Vert \left| a\right| \right\Vert "),
        (r"\bigl|\bigl|a\bigr|\bigr|", r"\left| \left| a\right| \right| "),
        (r"\bigl|a\bigr\rangle", r"\left| a\right\rangle "),
        (r"\big(\frac{\big(a\big)}{b}\big)", r"\left( \frac{\left( a\right) }{b}\right) "),
        (r"\Big\{\{a\}\Big\}", r"\left\{ \{a\}\right\} "),
        (r"\bigcup a \bigm| b \big/ c", r"\bigcup a \bigm| b \big/ c"),
    ],
)
def test_delimiters_are_paired(typed, paired):
    assert with_fences(typed) == paired


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (r"\big(a", r"\big( is not closed"),
        (r"a\big)", r"\big) closes nothing"),
        (r"\big|a", r"\big| is not closed"),
        (r"\big\|\Big|a\big\|\Big|", r"\big\| is not closed"),
        (r"\Big(a\big)", r"\big) closes nothing of its size"),
        (r"\big|a\big)", r"\big) closes nothing"),
        (r"\frac{\big(a}{b\big)}", r"\big( is not closed before }"),
        (r"\big( a & b \big)", r"\big( is not closed before &"),
        (r"\big( a \\ b \big)", r"\big( is not closed before \\"),
    ],
)
def test_a_delimiter_without_a_partner_fails_the_build_by_its_formula(build, typed, message):
    site = build(
        {"index": f"# A\n\n$$\n{typed}\n$$\n"},
        "mathml",
        html_math_renderer="mathml",
        myst_enable_extensions=["dollarmath"],
    )
    assert "WARNING: no formula: " in site.warnings
    assert typed in site.warnings
    assert message in site.warnings
    assert site.page().select_one("code").text == typed


def test_nested_bars_are_two_pairs_in_mathml(build):
    site = build(
        {"index": "# A\n\nSo $\\Big|a + \\big|b\\big|^2\\Big|^2$, and $\\nosuch$.\n"},
        "mathml",
        html_math_renderer="mathml",
        myst_enable_extensions=["dollarmath"],
    )
    outer, inner = site.page().select("math > mrow > msup > mrow, msup msup > mrow")
    for pair in (outer, inner):
        bars = [o for o in pair.find_all("mo", recursive=False) if o.text == "|"]
        assert [bar["form"] for bar in bars] == ["prefix", "postfix"]
    assert outer.find("msup") is not None
    assert "doesn't know a command of this formula: \\nosuch" in site.warnings


@pytest.mark.parametrize(
    ("typed", "together", "left"),
    [
        ("It is ($d_k$), and so.", "(dk),", "It is | and so."),
        ("An $n$-dimensional key.", "n-", "An |dimensional key."),
        ("The $j$-th, and so.", "j-th,", "The | and so."),
        ("And $i$'s blend.", "i’s", "And | blend."),
    ],
)
def test_what_stands_beside_a_formula_stays_in_its_line(build, typed, together, left):
    site = build(
        {"index": f"# A\n\n{typed}\n"},
        "mathml",
        html_math_renderer="mathml",
        myst_enable_extensions=["dollarmath"],
    )
    (paragraph,) = (p for p in site.page().select("p") if p.find("math"))
    span = paragraph.select_one("span.together")
    assert span.text == together
    span.replace_with("|")
    assert paragraph.text == left


@pytest.mark.parametrize(
    ("latex", "pieces"),
    [
        (r"a = b", None),
        (
            r"(15/16)^2 + 15\cdot(1/16)^2 = 225/256 + 15/256",
            ["(15/16)2+15·(1/16)2=", "225/256+15/256"],
        ),
        (
            r"P[a + b + c + d + e = 1] + f + g + h + i + j + k \le 2",
            ["P[a+b+c+d+e=1]+f+g+h+i+j+k≤", "2"],
        ),
        (
            r"a + b + c + d + e + f + g + h + i + j + k \sim N(0, 1)",
            ["a+b+c+d+e+f+g+h+i+j+k~", "N(0,1)"],
        ),
    ],
)
def test_a_long_formula_in_a_line_has_pieces(latex, pieces):
    soup = BeautifulSoup(in_pieces(mathml(latex, "inline", None)), "html.parser")
    if pieces is None:
        assert soup.select(".formula") == []
    else:
        assert [piece.text for piece in soup.select(".formula")] == pieces
        assert len(soup.select(".formula + wbr + .formula")) == len(pieces) - 1
        assert [sign.text for sign in soup.select("[form=infix]")] == [p[-1] for p in pieces[:-1]]


@pytest.mark.parametrize(
    ("typed", "forms"),
    [
        (r"|a| \le \|b\|\,\|c\|", ["prefix", "postfix"] * 3),
        (r"|a|^2 B(\lVert c\rVert)", ["prefix", "postfix"] * 2),
        (r"P(a | b)", [None]),
    ],
)
def test_bars_are_fences_where_they_have_a_partner(typed, forms):
    formula = BeautifulSoup(mathml(typed, "inline", nodes.math()), "html.parser")
    assert [bar.get("form") for bar in formula.find_all("mo", string=["|", "‖"])] == forms


@pytest.mark.parametrize(
    ("typed", "forms"),
    [
        ("Y = -4", ["prefix"]),
        (r"(1,\ -4)", ["prefix"]),
        (r"a\ - 4", [None]),
        ("50 - (-2)^2", [None, "prefix"]),
        ("(a) - b", [None]),
        (r"|a| - b", [None]),
        (r"\pm a - b", [None]),
    ],
)
def test_a_sign_stands_close_to_what_it_belongs_to(typed, forms):
    formula = BeautifulSoup(mathml(typed, "inline", nodes.math()), "html.parser")
    assert [sign.get("form") for sign in formula.find_all("mo", string="−")] == forms


@pytest.mark.parametrize(
    ("typed", "set_as"),
    [
        (r"a\ln n", "a ln n"),
        (r"f\ln2", "f ln 2"),
        (r"\sqrt2\ln n", "2 ln n"),
        (r"d_k\ln d_k", "dk ln dk"),
        (r"w^\top\tanh x", "w\u22a4 tanh x"),
        (r"\|k\|\cos\theta", "‖k‖ cos θ"),
        (r"\sin 2\pi j", "sin 2πj"),
        (r"a\cdot\ln n", "a·ln n"),
        (r"\exp(x)", "exp(x)"),
    ],
)
def test_a_function_has_a_thin_space_on_either_side(typed, set_as):
    formula = BeautifulSoup(mathml(typed, "inline", nodes.math()), "html.parser")
    for space in formula.find_all("mspace"):
        space.replace_with(" ")
    assert formula.text == set_as


@pytest.mark.parametrize(
    ("typed", "part", "attribute", "value"),
    [
        (r"\sqrt n", "mpadded", "height", "0.7em"),  # as high as the root of a high letter
        (r"z\sim N", "mo", "lspace", "0.278em"),
        (r"\max_j z_j", "mo", "lspace", "0"),
        (r"\partial", "mi", "mathvariant", "normal"),
        ("65{,}504", "mo", "rspace", "0"),
    ],
)
def test_a_part_of_a_formula_is_set_in_its_own_way(typed, part, attribute, value):
    formula = BeautifulSoup(mathml(typed, "inline", nodes.math()), "html.parser")
    assert formula.find(part)[attribute] == value


def test_a_prime_is_no_exponent():
    formula = BeautifulSoup(mathml("S'", "inline", nodes.math()), "html.parser")
    assert formula.find("msup") is None
    assert formula.text == "S\u2032"
