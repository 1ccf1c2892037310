"""Every number that the prose says was measured stands in an output.

What looks measured is a decimal, a percentage, a power of ten, or a count with a thousands comma, in
the Markdown cells, captions and alternative texts of a page. It is looked for, at the precision at
which the prose gives it (a printed 0.5788 is 0.58 and not 0.57),

* in the outputs and settings of its own section: printed text, tables, what figures say of
  themselves, and the constants of the code, which have to be equal;
* in arithmetic of its paragraph: "250/70 = 3.6" needs no cell, as long as it is right, and neither
  do the numbers that go into it;
* in the rest of the page if it has three digits or more, or if its paragraph sums the page up (above
  the first section, or in one of ``SUMMARIES``) or says where to look (``ELSEWHERE``): above, below,
  in a table or a figure by its number, in a section by its name;
* in the outputs of a chapter, or in the rows of the ledger, that its paragraph links to.

A printed pair such as 1.44 ± 0.02 is one number with its error, and both have to be right. A
sentence that cites a paper has its source. The options of a question are not looked at.

So a short number that is found nowhere near is either wrong or belongs elsewhere: print it, say
where it is printed, or leave it out.
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

ROOT = Path(__file__).parent.parent
BOOK = ROOT / "book"
PAGES = [
    name
    for name in re.findall(r"book/(\w+)", (ROOT / "_toc.yml").read_text(encoding="utf-8"))
    if (BOOK / f"{name}.ipynb").exists()
]
SUMMARIES = ("Exercises", "What to remember")
ELSEWHERE = re.compile(
    r"(?i:\b(?:above|below|printed|(?:first|last|next) (?:section|figure|picture|table))\b)"
    r"|(?:Table|Figure) \d|(?<!\*)\*[A-Z]|\.ipynb"
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
        """Whether this is ``other``, rounded to the digits that are given here."""
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
            and (not self.error or bool(other.error) and self.error.rounds(other.error))
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
TYPOGRAPHY = str.maketrans("−×·≈", "-**=")  # noqa: RUF001
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
    text = text.replace("−", "-")  # noqa: RUF001
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


def shown(text):
    """What arithmetic shows: results, and the spans of the equations that are right."""
    results, right = list(arithmetic(text)), []
    for result in results:
        stated = re.match(r"\s*=\s*", text[result.end :])
        if stated:
            at = result.end + stated.end()
            for told in numbers(text):
                if told.start == at and told.rounds(result):
                    right.append((result.start, told.end))
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


class Section(NamedTuple):
    name: str
    paragraphs: list  # captions and alternative texts are some, with what their figure draws
    printed: list
    settings: list


@cache
def sections(page):
    """What each section of a page says, and the numbers that its cells print, draw and set."""
    found = [Section("", [], [], [])]
    for cell in nbformat.read(BOOK / f"{page}.ipynb", as_version=4).cells:
        if cell.cell_type == "markdown":
            for text in paragraphs(cell.source):
                if heading := re.match(r"##? (.*)", text):
                    found.append(Section(heading[1], [], [], []))
                found[-1].paragraphs.append((text, []))
            continue
        captions = cell.metadata.get("caption", [])
        captions = [captions] if isinstance(captions, str) else list(captions)
        captions.append(cell.metadata.get("mystnb", {}).get("image", {}).get("alt", ""))
        drawn = []
        found[-1].settings.extend(settings(cell.source))
        for output in cell.outputs:
            data = output.get("data", {})
            text = output.get("text", "") or data.get("text/markdown", data.get("text/plain", ""))
            if "image/svg+xml" in data:
                drawn += numbers(plain(re.sub(r"digest [\d ]+$|^Style .*$", "", text, flags=re.M)))
                text = " ".join(re.findall(r"'(.*?)'", text))  # what is written in it
            per_cent = any("%" in plain(said) for said in (text, *captions))
            found[-1].printed.extend(numbers(plain(text), in_per_cent=per_cent))
        found[-1].paragraphs.extend((text, drawn) for text in captions)
    return found


def paragraphs(source):
    """The paragraphs of a Markdown cell, without code, comments, options, and how boxes are made."""
    for pattern, left in (
        (r"^```\{image\}.*?:alt: (.*?)$.*?^```$", r"\1"),
        (r"^```(?!\{).*?^```$", ""),
        (r"(\{admonition\} Predict)(.*?)^:::$", without_options),
        (r"<!--.*?-->", ""),
        (r"^:[\w-]+:[^\n]*$|^[:`]{3,}$", ""),
        (r"\$\$.*?\$\$", lambda formula: formula[0].replace("\n", " ")),
    ):
        source = re.sub(pattern, left, source, flags=re.S | re.M)
    return [x for x in re.split(r"\n\s*\n|\n(?=[-*|] |\d\. |#|:::)", source) if x.strip()]


def without_options(box):
    return box[1] + re.sub(r"^- .*$", "", box[2], flags=re.M)


@cache
def claims():
    with open(ROOT / "sdpa_book" / "ledger" / "claims.csv", encoding="utf-8", newline="") as rows:
        return {
            row["id"]: list(numbers(plain(" ".join(row.values())))) for row in csv.DictReader(rows)
        }


def unfounded(text, near, far):
    """The numbers of a ``plain`` text that look measured, and neither stand in ``near`` nor, if they
    are long, in ``far``, nor follow from arithmetic.
    """
    results, right = shown(text)
    for number in numbers(text):
        stated = any(start <= number.start and number.end <= end for start, end in right)
        known = [*results, *near, *(far if number.is_long else [])]
        if number.looks_measured and not stated and not number.is_found_in(known):
            yield number


def looked_up(page):
    """Each sentence of a page as it is read, with the numbers that its own may be, and those that
    its long ones may be.
    """
    everywhere = [number for section in sections(page) for number in section.printed]
    constants = [number for section in sections(page) for number in section.settings]
    for place, section in enumerate(sections(page)):
        for paragraph, drawn in section.paragraphs:
            results = list(arithmetic(plain(paragraph)))
            sums_up = place < 2 or section.name in SUMMARIES
            for sentence in SENTENCES.split(paragraph):
                if "{cite" in sentence:
                    continue
                near = [*results, *section.printed, *constants, *drawn]
                for chapter in set(re.findall(r"\]\((\w+)\.ipynb", sentence)) - {"ledger"}:
                    near += [number for other in sections(chapter) for number in other.printed]
                for source in re.findall(r"\bS[0-5]\b(?:-\d+)?", sentence):
                    near += [
                        n
                        for claim, row in claims().items()
                        if claim.startswith(source)
                        for n in row
                    ]
                if sums_up or ELSEWHERE.search(sentence):
                    near += everywhere
                yield sentence, plain(NOT_MEASURED.sub(" ", sentence)), near, everywhere


@pytest.mark.parametrize("page", PAGES)
def test_every_measured_number_stands_in_an_output(page):
    missing = [
        f"{number.text} in: {sentence}"
        for sentence, text, near, far in looked_up(page)
        for number in unfounded(text, near, far)
    ]
    assert not missing, "\n".join([f"{page} prints nowhere near:", *missing])
