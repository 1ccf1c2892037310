"""Every number that the prose gives as measured stands in an output.

What looks measured is a decimal, a percentage, a power of ten, or a count with a thousands comma,
in the Markdown cells, captions and alternative texts of a page. It is looked for at the precision
at which the prose gives it (a printed 0.5788 is 0.58, and a printed 0.5749 is not):

* in the two nearest outputs above it and below it in its section, and among the constants of the
  page's code, which have to be equal; a caption may also tell what its figure draws;
* in the arithmetic of its paragraph: "250/70 = 3.6" needs no cell as long as it is right, and then
  neither do the numbers that go into it;
* in the outputs of the whole page if it has three digits or more, if it stands where the page is
  summed up (above the first section, or in one of ``SUMMARIES``), or if its sentence says that it
  stands elsewhere (``ELSEWHERE``): above, below, in a figure or table, in a *Section by its name*;
* in the outputs of a chapter to which its sentence links, and in the ledger's rows of a source or
  claim that its sentence names (S1, S1-31). A sentence that cites a paper has its source.

1.44 ± 0.02 is one number with its error, and both have to be right. 7 % is also found as 0.07, and
in the ratios 1.07 and 0.93. Options of a question are not looked at.

So a number that the test finds nowhere near is wrong, or it stands elsewhere: let a cell print it,
say where it is printed, or leave it out. A number of one or two digits may stand in a large table
by chance; the test does not see that.
"""

import ast
import csv
import math
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import nbformat
import pytest
from outputs.notebooks import stored

from sdpa_book.drawing.svg import DESCRIPTION

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "book"
PAGES = stored(BOOK)
NEAREST = 2
SUMMARIES = ("Exercises", "What to remember")
ELSEWHERE = re.compile(
    r"(?i:\b(?:above|below|printed|(?:first|last|next) (?:section|figure|picture|table))\b)"
    r"|(?:Table|Figure) N?[\dA-D]|(?<!\*)\*[A-Z]"
)
SENTENCES = re.compile(r"(?<=[.?!:]) +(?=[A-Z(*$\[])|\n")
NOT_MEASURED = re.compile(
    r"`[^`]*`"  # code
    r"|\]\([^)]*\)"  # where a link goes
    r"|\b(?:Tables?|Figures?|[Ss]ections?|Python|version|Transformers) \d+(?:\.\d+)*"
    r"|\b95\s(?:%|per cent)(?=\s(?:confidence )?(?:interval|band))"
    r"|10\^\{-?\d\.\d\}"  # a learning rate of a grid
)


class Number(NamedTuple):
    """A number as it is written: half of ``unit`` is what rounding may have taken from it."""

    value: float
    unit: float = 0.0  # that of a constant in code, which is exact
    percent: bool = False
    error: "Number | None" = None
    text: str = ""
    start: int = 0
    end: int = 0

    def is_found_in(self, others):
        return any(self.rounds(other) for other in others)

    def rounds(self, other):
        """Whether this is ``other``, rounded to the digits that are given here. What is printed as
        0.575 may have been rounded either way, and is 0.57 and 0.58.
        """
        if re.fullmatch(r"-?1e-?\d+", self.text):  # an order of magnitude
            return 10**-0.5 < other.value / self.value < 10**0.5
        if self.percent and not other.percent:  # 7 % may be 0.07, and of a ratio 1.07 or 0.93
            return any(
                self.rounds(other._replace(value=value).in_per_cent())
                for value in (other.value, abs(other.value - 1))
            )
        return (
            other.unit < 1.001 * self.unit
            and abs(other.value - self.value) <= self.unit / 2 + 1e-9 * abs(self.value)
            and (not self.error or (bool(other.error) and self.error.rounds(other.error)))
        )

    def in_per_cent(self):
        error = self.error and self.error.in_per_cent()
        return Number(100 * self.value, 100 * self.unit, percent=True, error=error)

    @property
    def looks_measured(self):
        return self.percent or bool(re.search(r"[.,]\d|e", self.text))

    @property
    def is_long(self):
        """Whether it has three digits, zeros at its ends not counted, or is a power of ten."""
        digits = re.sub(r"\D", "", self.text.partition("e")[0]).strip("0")
        return len(digits) >= 3 or "e" in self.text


DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?"
SIGNED = rf"(?:(?<![\w)%\]]\s)(?<![\w)%\]])-)?{DIGITS}(?:e[-+]?\d+)?"
NUMBER = re.compile(
    rf"(?<![\w.,])(?P<digits>{SIGNED})(?:\s?±\s?(?P<error>{DIGITS}(?:e[-+]?\d+)?))?"
    r"(?P<percent>\s?%)?(?![\w]|[.,]\d)"
)
TYPOGRAPHY = str.maketrans("−×·≈", "-**=")
FROM_LATEX = (
    (r"(?<!\\)\*+(?=\S)|(?<=\S)\*+", ""),  # bold and italics
    (r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+", lambda power: "^{" + power[0].translate(RAISED) + "}"),
    (r"π", "pi "),
    (r"\{,\}", ","),
    (r"\\%|per cent", "%"),
    (r"&", ""),
    (r"\$|\\(?:[,;!: ]|q?quad\b|left\b|right\b|[bB]igg?\b)|[~\u202f\u00a0]", " "),
    (r"\\(?:cdot|times)(?![a-z])", "×"),
    (r"\\approx(?![a-z])", "="),
    (r"\\pm(?![a-z])", "±"),
    (r"\\pi(?![a-z])", "pi "),
    (r"\\(?:text|mathrm)\{([^{}]*)\}", r"\1"),
    (r"\\ln\s*(\d+)", r" log(\1)"),
    (r"√(\d+)|\\sqrt\s*(\d)", r"sqrt(\1\2)"),
    (r"\\[td]?frac\s*(\d)\s*(\d)", r"(\1/\2)"),
    (r"\\[td]?frac(\d)\{", r"\\frac{\1}{"),
    (r"\^\s*(-?\d)", r"^{\1}"),
    (r"(?<![\d.])10\^\{(-?\d+)\}", r"1e\1"),
    (r"\((\S+) ± (\S+)\)[×·]1e(-?\d+)", r"\1e\3 ± \2e\3"),
    (r"(?<=\d)\s?[×·]\s?1e(?=-?\d)", "e"),
    *[  # from the inside out
        (r"\\[td]?frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))"),
        (r"\\sqrt\{([^{}]*)\}", r"sqrt(\1)"),
        (r"\^\{([^{}]*)\}", r"^(\1)"),
    ]
    * 3,
    (r"(\d|\))(?=sqrt|pi\b|e\^| log)", r"\1*"),
)
RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")


def plain(text):
    """Markdown, LaTeX and typography as arithmetic that Python reads."""
    text = text.replace("−", "-")
    for pattern, meant in FROM_LATEX:
        text = re.sub(pattern, meant, text)
    return text.translate(TYPOGRAPHY)


def numbers(text, *, in_per_cent=False):
    """The numbers of a ``plain`` text. Zeros at the end of a count are taken for rounding, but for
    two digits: 230,000 is given to ten thousand, 100,000 as well.
    """
    for match in NUMBER.finditer(text):
        percent = in_per_cent or bool(match["percent"])
        value, unit = reading(match["digits"])
        error = match["error"] and Number(*reading(match["error"]), percent)
        yield Number(value, unit, percent, error, match[0].strip(), *match.span())


def reading(digits):
    mantissa, _, power = digits.replace(",", "").partition("e")
    whole, _, decimals = mantissa.lstrip("-").partition(".")
    zeros = 0 if decimals else max(0, len(whole) - max(2, len(whole.rstrip("0"))))
    return float(f"{mantissa}e{power or 0}"), 10.0 ** (zeros - len(decimals) + int(power or 0))


OPERATORS = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: float(a) ** b,
}
NO_VALUE = (KeyError, ArithmeticError, ValueError, TypeError)


def evaluate(node):
    """The value of arithmetic on constants; anything else is a ``KeyError``."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -evaluate(operand)
        case ast.BinOp(left=left, op=op, right=right):
            return OPERATORS[type(op)](evaluate(left), evaluate(right))
        case ast.Name(id="pi" | "e" as name):
            return getattr(math, name)
        case ast.Call(func=ast.Name(id="sqrt" | "log" | "exp" as name), args=[argument]):
            return getattr(math, name)(evaluate(argument))
    raise KeyError(ast.dump(node))


TERM = re.compile(
    rf"{DIGITS}(?:e-?\d+)?|sqrt|log|exp|pi\b|\be(?=\^)|(?<=[*/])e\b|(?<=[*/]\s)e\b|[-+*/^()]"
)
RUN = re.compile(rf"(?:(?:{TERM.pattern})\s*)+")


def arithmetic(text):
    """The values of the expressions in a ``plain`` text, each with where it begins and ends."""
    for run in RUN.finditer(text):
        terms = list(TERM.finditer(run[0]))
        first = 0
        while first < len(terms):
            for last in range(len(terms), first + 2, -1):
                words = [term[0].replace(",", "").replace("^", "**") for term in terms[first:last]]
                try:
                    value = evaluate(ast.parse(" ".join(words), mode="eval").body)
                except (SyntaxError, *NO_VALUE):
                    continue
                if isinstance(value, float):
                    start, end = (
                        run.start() + x for x in (terms[first].start(), terms[last - 1].end())
                    )
                    yield Number(value, start=start, end=end)
                    first = last
                    break
            else:
                first += 1


def results_and_equations(text):
    """What arithmetic shows: results, and the spans of the equations that are right."""
    results, right = list(arithmetic(text)), []
    for result in results:
        stated = re.match(r"\s*=\s*", text[result.end :])
        if stated:
            at = result.end + stated.end()
            for number in numbers(text):
                if number.start == at and number.rounds(result):
                    right.append((result.start, number.end))
    return results, right


def settings(source):
    """The constants of a cell's code, and what they make, as 2**15, but for those that style."""
    tree, drawing = ast.parse(source), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and re.match(r"ax|fig|plotting|plt", ast.unparse(node.func)):
            drawing.update(ast.walk(node))
    for node in ast.walk(tree):
        if node not in drawing:
            try:
                value = evaluate(node)
            except NO_VALUE:
                continue
            if isinstance(value, float):
                yield Number(value)


class Part(NamedTuple):
    """A paragraph, caption or alternative text, or what a cell prints."""

    section: int
    heading: str
    text: str = ""
    drawn: tuple = ()  # by the figure that the text belongs to
    printed: tuple = ()


@cache
def parts(path):
    """The parts of a page in their order, and the constants of its code."""
    page_parts, constants, section, heading = [], [], 0, ""
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            for text in paragraphs(cell.source):
                if title := re.match(r"##? (.*)", text):
                    section, heading = section + 1, title[1]
                page_parts.append(Part(section, heading, text))
            continue
        captions = cell.metadata.get("caption", [])
        captions = [captions] if isinstance(captions, str) else list(captions)
        captions.append(cell.metadata.get("mystnb", {}).get("image", {}).get("alt", ""))
        printed, drawn = [], []
        for output in cell.outputs:
            data = output.get("data", {})
            text = output.get("text", "") or data.get("text/markdown", data.get("text/plain", ""))
            if "image/svg+xml" in data:
                text = re.sub(r"(?:, ticks|digest|^Style) .*$", "", data[DESCRIPTION], flags=re.M)
                drawn += numbers(plain(text))
                text = " ".join(re.findall(r"'(.*?)'", text))  # what is written in it
            per_cent = any("%" in plain(words) for words in (text, *captions))
            printed += numbers(plain(text), in_per_cent=per_cent)
        page_parts.append(Part(section, heading, printed=tuple(printed)))
        page_parts += [Part(section, heading, text, tuple(drawn)) for text in captions]
        constants += settings(cell.source)
    return page_parts, constants


PREDICT = re.compile(r"^(> \*\*Predict\.\*\*.*\n?)((?:>.*\n?)*)", re.M)


def paragraphs(source):
    """The paragraphs of a Markdown cell, without code, comments, options and marks of boxes."""
    source = re.sub(
        r"^(> \*\*Predict\.\*\*.*\n?)((?:>.*\n?)*)", without_options, source, flags=re.M
    )
    for pattern, left in (
        (r"\bet al\.", "et al"),  # ends no sentence
        (r"^```.*?^```$", ""),
        (r"<!--.*?-->|^</?details>$", ""),
        (r"^<summary>(.*?)</summary>$", r"\1\n"),
        (r"!\[(.*?)\]\([^)]*\)", r"\1"),
        (r"^> ?", ""),
        (r"\$\$.*?\$\$", lambda formula: formula[0].replace("\n", " ")),
    ):
        source = re.sub(pattern, left, source, flags=re.S | re.M)
    return [x for x in re.split(r"\n\s*\n|\n(?=[-*|] |\d\. |#)", source) if x.strip()]


def without_options(box):
    return box[1] + re.sub(r"^> - .*$", ">", box[2], flags=re.M)


@cache
def claims():
    with open(ROOT / "sdpa_book" / "ledger" / "claims.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {row["id"]: list(numbers(plain(" ".join(row.values())))) for row in rows}


def unfounded(text, near, far):
    """The numbers of a ``plain`` text that look measured, and that neither stand in ``near`` or, if
    they are long, in ``far``, nor follow from arithmetic.
    """
    results, right = results_and_equations(text)
    for number in numbers(text):
        stated = any(start <= number.start and number.end <= end for start, end in right)
        known = [*results, *near, *(far if number.is_long else [])]
        if number.looks_measured and not stated and not number.is_found_in(known):
            yield number


def looked_up(path):
    """Each sentence of a page as it is read, with the numbers that its own may be, and those that
    its long ones may be.
    """
    page, constants = parts(path)
    for place, part in enumerate(page):
        outputs = [
            [x for x in side if x.printed and x.section == part.section]
            for side in (page[:place], page[place:])
        ]
        here = [n for x in (*outputs[0][-NEAREST:], *outputs[1][:NEAREST]) for n in x.printed]
        here += [*constants, *part.drawn, *arithmetic(plain(part.text))]
        for sentence in SENTENCES.split(part.text):
            if not re.search(r"\]\((?:\.\./)?bibliography\.md#", sentence):
                sums_up = part.section < 2 or part.heading in SUMMARIES
                elsewhere = everything(path) if sums_up or ELSEWHERE.search(sentence) else []
                near = [*here, *elsewhere, *referred_to(sentence)]
                yield sentence, plain(NOT_MEASURED.sub(" ", sentence)), near, everything(path)


def everything(path):
    return [number for part in parts(path)[0] for number in part.printed]


def referred_to(sentence):
    """The numbers of the chapters to which a sentence links and of the claims that it names."""
    for page in set(re.findall(r"\]\([./]*((?:\w+/)?\w+)\.ipynb", sentence)) - {"ledger"}:
        places = (BOOK / folder / f"{page}.ipynb" for folder in ("", "articles", "notes"))
        yield from everything(next(place for place in places if place.exists()))
    for source in set(re.findall(r"\bS[0-5]\b(?:-\d+)?", sentence)):
        for claim, figures in claims().items():
            if claim.startswith(source):
                yield from figures


def missing(path):
    return [
        f"{number.text} in: {sentence}"
        for sentence, text, near, far in looked_up(path)
        for number in unfounded(text, near, far)
    ]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_measured_number_stands_in_an_output(path):
    absent = missing(path)
    assert not absent, "\n".join([f"{path.name} prints nowhere near:", *absent])


@pytest.mark.parametrize(
    ("prose", "printed", "stands"),
    [
        ("0.58", "0.5788", True),
        ("0.58", "0.5749", False),
        ("0.57 or 0.58", "0.575", True),
        ("0.60", "0.6", False),
        ("from 1.1 to 1.37", "1.098 1.371", True),
        ("from 1.1 to 1.37", "1.098 1.38", False),
        ("12 %", "0.12", True),
        ("12 %", "12.0 %", True),
        ("12 %", "12", False),
        ("86 per cent", "0.857", True),
        ("86 % more", "1.86", True),
        ("86 %", "0.867", False),
        ("1.44 ± 0.02", "1.438 ± 0.019", True),
        ("1.44 ± 0.02", "1.438 ± 0.029", False),
        ("1.44 ± 0.02", "1.44 0.02", False),
        ("12.0 ± 0.6 %", "0.1196 ± 0.0062", True),
        ("$(2.9 \\pm 0.2)\\cdot10^{-8}$", "(2.91 ± 0.19)·10⁻⁸", True),
        ("−0.5", "-0.48", True),
        ("−0.5", "0.5", False),
        ("0.5", "-0.5", False),
        ("$32{,}768$", "32768", True),
        ("32,768", "32767", False),
        ("230,000", "234567", True),
        ("230,000", "236000", False),
        ("10⁻⁵, $10^{-5}$ or 1e-5", "8.3e-06", True),
        ("10⁻⁵", "8.3e-05", False),
        ("$3.1\\cdot10^5$", "312000", True),
        ("3.1 · 10⁵", "322000", False),
        ("Table 3.4, `0.5`, 95 % intervals, 64 heads of 2017", "", True),
    ],
)
def test_a_number_stands_in_what_is_printed(prose, printed, stands):
    text, near = plain(NOT_MEASURED.sub(" ", prose)), list(numbers(plain(printed)))
    assert (not list(unfounded(text, near, []))) == stands


@pytest.mark.parametrize(
    ("equation", "wrong"),
    [
        ("$250/70 = 3.6$", "$250/70 = 3.7$"),
        ("$7.39/12.83 \\approx 0.58$", "$7.39/12.83 \\approx 0.57$"),
        ("e⁻² = 0.135", "e⁻² = 0.153"),
        ("1/√64 = 0.125", "1/√65 = 0.125"),
        ("2 × 0.21 = 0.42", "2 × 0.21 = 0.43"),
        (r"$\tfrac12 - \tfrac1{2\pi} = 0.34$", r"$\tfrac12 - \tfrac1{2\pi} = 0.33$"),
        (r"$\sqrt{2\ln160} = 3.2$", r"$\sqrt{2\ln160} = 3.1$"),
    ],
)
def test_arithmetic_is_stated_and_right(equation, wrong):
    assert not list(unfounded(plain(equation), [], []))
    assert list(unfounded(plain(wrong), [], []))


PROSE = """The answer is 0.27.

## One

Of the weight 0.58 ± 0.02 is left, which is $1.16/2 = 0.58$, over 2,400 steps.

## Two

The table above has 0.27, and the fall is 0.2741.

- 3.75 is quoted from [Somebody (2020)](bibliography.md#somebody).
"""


@pytest.mark.parametrize(
    ("before", "after", "lacks"),
    [
        ("", "", None),
        ("0.58 ± 0.02", "0.59 ± 0.02", "0.59 ± 0.02"),
        ("0.58 ± 0.02", "0.85 ± 0.02", "0.85 ± 0.02"),
        ("1.16/2", "1.61/2", "1.61"),
        ("2,400", "2,500", "2,500"),
        ("0.2741", "0.2714", "0.2714"),
        ("above has", "has", "0.27"),
        ("from [Somebody (2020)](bibliography.md#somebody)", "from somebody", "3.75"),
        ("The answer is 0.27", "The answer is 0.28", "0.28"),
    ],
)
def test_a_changed_page_is_found(tmp_path, before, after, lacks):
    """The first cell's output is read in its section, and elsewhere only where that is allowed."""
    code = nbformat.v4.new_code_cell("steps = 2400")
    code.outputs = [nbformat.v4.new_output("stream", text="0.5788 ± 0.0187, 0.2741")]
    first, second = PROSE.replace(before, after).split("\n## Two")
    markdown = map(nbformat.v4.new_markdown_cell, (first, f"## Two{second}"))
    cells = [next(markdown), code, next(markdown)]
    path = tmp_path / "page.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    absent = missing(path)
    assert (lacks is None and not absent) or absent[0].startswith(f"{lacks} in: ")

    code.outputs = []
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "silent.ipynb")
    assert len(missing(tmp_path / "silent.ipynb")) > len(absent)
