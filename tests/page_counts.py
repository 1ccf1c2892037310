"""How much a notebook asks of its reader: ``python tests/page_counts.py`` prints it for every page.

Counted is what stands open on the site: words of prose, captions and headings, a formula as one
word; pictures, tables and prints; lines of code that are not folded. What stands in a fold is
counted by itself. An exclamation mark stands behind what is over its limit. Of all this a test
refuses only a page that is too long; the rest is for whoever writes to judge.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import nbformat

BOOK = Path(__file__).resolve().parents[1] / "book"
sys.path.append(str(BOOK / "_ext"))

from outputs.notebooks import stored  # noqa: E402

FOLD = re.compile(r"<details>\n<summary>(.*?)</summary>\n(.*?)</details>", re.S)
MEASURED = re.compile(
    r"\d+\.\d+|\d+(?:\.\d+)?[ \u00a0]?(?:%|per cent)|10\^\{?-?\d+|\d[\d,]*(?:[ \u00a0]times|-fold)"
)
MOVABLE = re.compile(r'^movable\("', re.M)
EXERCISES = "## Exercises"

LIMITS = {
    "words": 2500,  # in the open, with exercises and captions
    "displays": 6,
    "folds": 5,
    "code": 25,  # lines that are not folded
    "cell": 25,  # lines of the longest cell
    "dense": 0,  # paragraphs of more than three measured numbers
    "caption": 40,
    "answer": 90,
    "unknown": 80,
    "summing_up": 150,  # words of the answer and of what to remember, together
}
"""What a chapter may have of each."""


def plain(markdown: str) -> str:
    """The words that a reader sees, a formula as one of them."""
    for pattern, left in (
        (r"^```.*?^```$", " "),
        (r"<!--.*?-->", ""),
        (r"^\|[^\n]*\|$", ""),  # a table is no prose
        (r"!\[.*?\]\([^)]*\)", ""),
        (r"\$\$.*?\$\$|\$[^$]+\$", "M"),
        (r"\]\([^)]*\)", "]"),
        (r"^(> ?)+|^#+ ", ""),
        (r"[*_`\[\]]", ""),
    ):
        markdown = re.sub(pattern, left, markdown, flags=re.S | re.M)
    return markdown


def words(text: str) -> int:
    return len(text.split())


def captions(cell: Any) -> list[str]:
    caption = cell.metadata.get("caption", [])
    return [caption] if isinstance(caption, str) else list(caption)


def is_open(cell: Any) -> bool:
    return "hide-cell" not in cell.metadata.get("tags", [])


def displays(cell: Any) -> int:
    """Pictures, tables and prints that a cell shows without being opened."""
    tags = cell.metadata.get("tags", [])
    return len(cell.outputs) if is_open(cell) and "remove-output" not in tags else 0


def open_lines(cell: Any) -> int:
    """Lines of code that are not folded: code that draws a figure always is."""
    draws = any("image/svg+xml" in output.get("data", {}) for output in cell.outputs)
    if draws or {"hide-cell", "hide-input"} & set(cell.metadata.get("tags", [])):
        return 0
    return sum(bool(line.strip()) for line in cell.source.splitlines())


def part(text: str, begins: str) -> str:
    """What stands from ``begins`` to the end of its box or section, or nothing."""
    match = re.search(rf"^(?:> )?\*\*{begins}.*?(?=\n\n(?!>)|\Z)", text, re.S | re.M)
    return match[0] if match else ""


def section(text: str, heading: str) -> str:
    match = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", text, re.S | re.M)
    return match[1] if match else ""


def counts(path: Path) -> dict[str, float]:
    """What a page has of each."""
    cells = nbformat.read(path, as_version=4).cells
    ask = next((i for i, cell in enumerate(cells) if EXERCISES in cell.source), len(cells))
    text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    before = "\n\n".join(cell.source for cell in cells[:ask] if cell.cell_type == "markdown")
    code = [cell for cell in cells if cell.cell_type == "code"]
    opened = plain(FOLD.sub("", text))
    texts = [caption for cell in code if is_open(cell) for caption in captions(cell)]
    paragraphs = [*re.split(r"\n\s*\n|\n(?=[-*|] |\d\. |#)", opened), *texts]
    n_words = words(opened) + sum(map(words, texts))
    remember = re.split(r"\n\n(?:> )?\*\*", section(FOLD.sub("", text), "What to remember"))[0]
    answer = words(plain(part(text, "The answer")))
    return {
        "words": n_words,
        "folded": sum(words(plain(fold[1])) for fold in FOLD.findall(text)),
        "displays": sum(map(displays, [c for c in cells[:ask] if c.cell_type == "code"])),
        "folds": len(FOLD.findall(before)),
        "code": sum(map(open_lines, [c for c in cells[:ask] if c.cell_type == "code"])),
        "cell": max((len(c.source.splitlines()) for c in code), default=0),
        "dense": sum(len(MEASURED.findall(paragraph)) > 3 for paragraph in paragraphs),
        "caption": max(map(words, texts), default=0),
        "answer": answer,
        "unknown": words(plain(part(text, "What we do not know"))),
        "summing_up": answer + words(plain(remember)),
    }


def limits(page: str) -> dict[str, int]:
    """What a page may have: notes and the ledger, which are looked up, whatever they need."""
    if page.startswith(("notes/", "ledger")):
        return {}
    if page == "people_ask":
        return {"words": 3500}
    return LIMITS | {"words": 2400} if page.startswith("articles/") else LIMITS


def over(page: str, counted: dict[str, float]) -> set[str]:
    """Of what a page has more than it may."""
    return {name for name, most in limits(page).items() if counted[name] > most}


def pages() -> dict[str, dict[str, float]]:
    return {path.relative_to(BOOK).as_posix()[:-6]: counts(path) for path in stored(BOOK)}


def main() -> None:
    rows = pages()
    names = next(iter(rows.values()))
    print(" " * 42 + "".join(f"{name:>11}" for name in names))
    for kind, most in (("chapters", LIMITS), ("articles", limits("articles/"))):
        print(f"{'at most, ' + kind:42}" + "".join(f"{most.get(name, ''):>11}" for name in names))
    for page, row in rows.items():
        much = over(page, row)
        marked = (f"{number:>10}{'!' if name in much else ' '}" for name, number in row.items())
        print(f"{page:42}" + "".join(marked).rstrip())


if __name__ == "__main__":
    main()
