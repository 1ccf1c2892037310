"""Formulas in the built site: nothing is torn off them, no gap is left behind a root, their parts
stand where TeX has them, and one that is cut at the edge says so.
"""

import re

import pytest

from tests.site.browser import SITE, unfold

PAGES = sorted(page.relative_to(SITE).as_posix() for page in SITE.glob("book/**/*.html"))


def richest(markup, count=2):
    """The pages where this expression is found most often, those without it left out."""
    counts = {
        page: len(re.findall(markup, (SITE / page).read_text(encoding="utf-8"), re.DOTALL))
        for page in PAGES
    }
    return sorted(filter(counts.get, PAGES), key=counts.__getitem__)[-count:]


TORN_OFF = r"""() => {
  const torn = [];
  for (const formula of document.querySelectorAll("math:not([display=block])")) {
    if (formula.closest(".formula")?.nextElementSibling?.tagName === "WBR") continue;
    const block = formula.closest("p, li, td, th, dd, dt, h1, h2, h3, figcaption");
    const walk = document.createTreeWalker(block ?? formula.parentElement, NodeFilter.SHOW_TEXT);
    walk.currentNode = formula;
    let text = walk.nextNode();
    while (text && formula.contains(text)) text = walk.nextNode();
    const box = formula.getBoundingClientRect();
    if (!box.width || !text || !/^[^\s\w]/.test(text.data)) continue;
    const mark = document.createRange();
    mark.setStart(text, 0);
    mark.setEnd(text, 1);
    const { left, width } = mark.getBoundingClientRect();
    if (width && left < box.right - 2) torn.push(formula.textContent + text.data);
  }
  return torn;
}"""
"""What stands directly behind a formula, and in another line; a long one may be broken itself."""

BEHIND_ROOTS = """() => [...document.querySelectorAll("msqrt")].flatMap((root) => {
  const ends = [...root.children].map((child) => child.getBoundingClientRect().right);
  const box = root.getBoundingClientRect(), gap = box.right - Math.max(...ends);
  return box.width && gap > 0.5 ? [`${root.textContent}: ${gap} px`] : [];
})"""
"""Roots that take more room than what is drawn."""


@pytest.mark.parametrize("width", [1280, 360])
@pytest.mark.parametrize("page", PAGES)
def test_no_line_begins_with_what_belongs_to_a_formula(tab, base, page, width):
    opened, _ = tab(base + page, width=width)
    assert opened.evaluate(TORN_OFF) == []


@pytest.mark.parametrize("page", richest("<msqrt"))
def test_no_gap_is_left_behind_a_root(tab, base, page):
    opened, _ = tab(base + page)
    assert opened.locator("msqrt").count() > 0
    assert opened.evaluate(BEHIND_ROOTS) == []


@pytest.mark.parametrize("page", richest(r'stretchy="true"[^>]*>[(\[{]'))
def test_a_bracket_that_grows_takes_little_more_room_than_a_small_one(tab, base, page):
    opened, _ = tab(base + page)
    unfold(opened)
    widths = opened.evaluate("""() => [...document.querySelectorAll("mo[stretchy=true]")]
      .filter((sign) => "()[]{}".includes(sign.textContent))
      .map((sign) => [sign.getBoundingClientRect().width, getComputedStyle(sign).fontSize])
      .map(([width, size]) => width / parseFloat(size))
    """)
    assert widths != []
    assert max(widths) < 0.5


@pytest.fixture
def formula(tab, base):
    """A function that puts a formula into a line of a chapter, and gives the boxes of its parts:
    top, right and bottom in em, upwards from the line.
    """
    opened, _ = tab(f"{base}book/03_the_variance_derivation.html")

    def boxes(mathml, parts):
        return opened.evaluate(
            """([mathml, parts]) => {
              const line = document.querySelector("article p");
              line.innerHTML = `<math>${mathml}</math><span style="display:inline-block"></span>`;
              const em = parseFloat(getComputedStyle(line.firstChild).fontSize);
              const { bottom } = line.lastChild.getBoundingClientRect();
              const boxes = [...line.querySelectorAll(parts)].map((x) => x.getBoundingClientRect());
              return boxes.map((x) => ({
                top: (bottom - x.top) / em, right: x.right / em, bottom: (bottom - x.bottom) / em,
              }));
            }""",
            [mathml, parts],
        )

    return boxes


def test_indices_stand_on_one_level(formula):
    letters = [f"<msub><mi>{letter}</mi><mn>1</mn></msub>" for letter in "qkvpρμ"]
    levels = [box["bottom"] for box in formula("".join(letters), "mn")]
    assert max(levels) - min(levels) < 0.03
    letters = [f"<msup><mi>{letter}</mi><mn>2</mn></msup>" for letter in "qkdxV"]
    levels = [box["bottom"] for box in formula("".join(letters), "mn")]
    assert max(levels) - min(levels) < 0.03


def test_a_fraction_fits_into_a_line(formula):
    (box,) = formula("<mfrac><mn>1</mn><mn>2</mn></mfrac>", "mfrac")
    assert box["top"] < 1
    assert box["bottom"] > -0.5


def test_a_root_of_a_low_letter_stands_no_lower_than_one_of_a_high_letter(formula):
    strut = '<mpadded height="0.7em"></mpadded>'
    roots = [f"<msqrt><mi>{letter}</mi>{strut}</msqrt>" for letter in "ndρ"]
    levels = [box["bottom"] for box in formula("".join(roots), "msqrt")]
    assert max(levels) - min(levels) < 0.05


ALIGNED = r'<mtable(?:(?:(?!</mtable).)*columnalign="right">(?!</mtd>)){2}'
"""Equations of which two or more have a left side."""


@pytest.mark.parametrize("page", richest(ALIGNED, 1))
def test_the_left_sides_of_equations_end_at_one_place(tab, base, page):
    opened, _ = tab(base + page)
    unfold(opened)
    tables = opened.evaluate("""() => [...document.querySelectorAll("mtable")].map((table) =>
      [...table.querySelectorAll("mtd[columnalign=right] > :last-child")]
        .map((left) => left.getBoundingClientRect().right))""")
    several = [ends for ends in tables if len(ends) > 1]
    assert several != []
    assert all(max(ends) - min(ends) < 0.5 for ends in several)


CUT = """() => [
    ...document.querySelectorAll("div.math, .table-wrap, .sdpa-table-wrap, .formula, p, li"),
  ]
  .filter((box) => box.checkVisibility())
  .map((box) => ({
    cut: box.scrollWidth > box.clientWidth,
    shows: getComputedStyle(box).backgroundImage.includes("gradient"),
    reached: box.tabIndex === 0,
    what: box.textContent.slice(0, 40),
  }))"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_is_cut_at_the_edge_of_a_phone_shows_that_it_scrolls(tab, base, theme):
    boxes = []
    for page in richest("<mtable", 4):
        opened, _ = tab(base + page, width=360, theme=theme)
        unfold(opened)
        boxes += opened.evaluate(CUT)
    cut = [box["what"] for box in boxes if box["cut"]]
    assert cut != []
    assert [box["what"] for box in boxes if box["shows"]] == cut
    assert [box["what"] for box in boxes if box["reached"]] == cut


def test_a_formula_is_broken_behind_a_relation_sign_alone(tab, base):
    lines = []
    for page in richest("</span><wbr", 4):
        opened, _ = tab(base + page, width=360)
        unfold(opened)
        lines += opened.evaluate("""() => {
          const formulas = [...document.querySelectorAll("p:has(.formula + wbr)")]
            .map((text) => [...text.querySelectorAll(".formula")]);
          return formulas.map((pieces) => [
            pieces.map((piece) => piece.textContent),
            new Set(pieces.map((piece) => Math.round(piece.getBoundingClientRect().bottom))).size,
          ]);
        }""")
    assert max(count for _, count in lines) > 1
    assert all(piece[-1] in "=≈≠<>≤≥→" for pieces, _ in lines for piece in pieces[:-1])
