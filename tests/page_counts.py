"""How much a notebook asks of its reader: ``python tests/page_counts.py`` prints it for every page.

Counted is what stands open on the site: words of prose, captions and headings, a formula as one
word; pictures, tables and prints; lines of code that are not folded. What stands in a fold is
counted by itself.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import nbformat

BOOK = Path(__file__).resolve().parents[1] / "book"
sys.path.append(str(BOOK / "_ext"))

from notebooks import stored  # noqa: E402

FOLD = re.compile(r"<details>\n<summary>(.*?)</summary>\n(.*?)</details>", re.S)
MEASURED = re.compile(
    r"\d+\.\d+|\d+(?:\.\d+)?[ \u00a0]?(?:%|per cent)|10\^\{?-?\d+|\d[\d,]*(?:[ \u00a0]times|-fold)"
)
MOVABLE = re.compile(r'^movable\("', re.M)
EXERCISES = "## Exercises"


def plain(markdown: str) -> str:
    """The words that a reader sees, a formula as one of them."""
    for pattern, left in (
        (r"^```.*?^```$", " "),
        (r"<!--.*?-->", ""),
        (r"^\|.*\|$", ""),  # a table is no prose
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
    told = cell.metadata.get("caption", [])
    return [told] if isinstance(told, str) else list(told)


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
    found = re.search(rf"^(?:> )?\*\*{begins}.*?(?=\n\n(?!>)|\Z)", text, re.S | re.M)
    return found[0] if found else ""


def section(text: str, heading: str) -> str:
    found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", text, re.S | re.M)
    return found[1] if found else ""


def counts(path: Path) -> dict[str, float]:
    """What a page has of each."""
    cells = nbformat.read(path, as_version=4).cells
    ask = next((i for i, cell in enumerate(cells) if EXERCISES in cell.source), len(cells))
    text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    before = "\n\n".join(cell.source for cell in cells[:ask] if cell.cell_type == "markdown")
    code = [cell for cell in cells if cell.cell_type == "code"]
    opened = plain(FOLD.sub("", text))
    told = [caption for cell in code if is_open(cell) for caption in captions(cell)]
    asides = [found for found in re.findall(r"\(([^()]*)\)", opened) if words(found) > 2]
    paragraphs = [*re.split(r"\n\s*\n|\n(?=[-*|] |\d\. |#)", opened), *told]
    said = words(opened) + sum(map(words, told))
    remember = re.split(r"\n\n(?:> )?\*\*", section(FOLD.sub("", text), "What to remember"))[0]
    answer = words(plain(part(text, "The answer")))
    interview = words(plain(part(text, "In an interview")))
    return {
        "words": said,
        "folded": sum(words(plain(fold[1])) for fold in FOLD.findall(text)),
        "displays": sum(map(displays, [c for c in cells[:ask] if c.cell_type == "code"])),
        "folds": len(FOLD.findall(before)),
        "code": sum(map(open_lines, [c for c in cells[:ask] if c.cell_type == "code"])),
        "asides": round(1000 * len(asides) / max(said, 1), 1),
        "dense": sum(len(MEASURED.findall(paragraph)) > 3 for paragraph in paragraphs),
        "caption": max(map(words, told), default=0),
        "answer": answer,
        "unknown": words(plain(part(text, "What we do not know"))),
        "summing_up": answer + interview + words(plain(remember)),
    }


def main() -> None:
    rows = {path.relative_to(BOOK).as_posix()[:-6]: counts(path) for path in stored(BOOK)}
    names = list(next(iter(rows.values())))
    print(f"{'':36}" + "".join(f"{name:>11}" for name in names))
    for page, row in rows.items():
        print(f"{page:36}" + "".join(f"{row[name]:11}" for name in names))
    notes = [row for page, row in rows.items() if page.startswith(("notes/", "ledger"))]
    others = [row for page, row in rows.items() if not page.startswith(("notes/", "ledger"))]
    print(f"open on chapters and studies: {sum(row['words'] for row in others)}")
    print(
        f"in notes and folds: {sum(row['words'] for row in notes)} + "
        f"{sum(row['folded'] for row in rows.values())}"
    )


if __name__ == "__main__":
    main()
