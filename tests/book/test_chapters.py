"""The stored notebooks: what nbval does not look at."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from cells.chapter_numbers import number_of
from ipykernel.ipkernel import IPythonKernel
from jupyter_client.kernelspec import get_kernel_spec
from outputs.notebooks import is_folded, stored
from PIL import Image

from sdpa_book.drawing.svg import DESCRIPTION
from sdpa_book.exercises import all_exercises

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "book"
TEMPLATE = BOOK / "_template" / "chapter.ipynb"
CHAPTERS = stored(BOOK)
TEACHING = [
    path
    for path in CHAPTERS
    if re.match(r"\d\d_(?!start_here|what_to_remember)", path.stem) and path.parent == BOOK
]
TEACHING_OR_TEMPLATE = [*TEACHING, TEMPLATE]
MOVABLE = re.compile(r'^movable\("', re.M)


def cells(path, kind):
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == kind]


def outputs(path):
    return [(cell, output) for cell in cells(path, "code") for output in cell.outputs]


def test_the_chapters_are_those_of_the_table_of_contents():
    listed = re.findall(r"file: book/([\w/]+)", (ROOT / "_toc.yml").read_text(encoding="utf-8"))
    notebooks = [name for name in listed if not (BOOK / f"{name}.md").exists()]
    assert sorted([*notebooks, "00_start_here"]) == sorted(
        path.relative_to(BOOK).with_suffix("").as_posix() for path in CHAPTERS
    )
    numbered = [name for name in notebooks if name[0].isdigit()]
    assert numbered == sorted(numbered)


def test_readme_lists_the_chapters():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for path in [*BOOK.glob("[0-9]*.ipynb"), *BOOK.glob("articles/*.ipynb")]:
        place = path.relative_to(ROOT).as_posix()
        row = rf"^\| {number_of(place[:-6])} \| \[[^]]+\]\({place}\) \| .+\? \|$"
        assert re.search(row, readme, re.M), f"README.md needs a row with {path.name}'s question"


@pytest.mark.parametrize("path", [*CHAPTERS, TEMPLATE], ids=lambda p: p.stem)
def test_outputs_are_stored_and_stable(path):
    for cell in cells(path, "code"):
        assert cell.execution_count is not None, "run `make notebooks`"
        hidden = cell.metadata.get("jupyter", {}).get("source_hidden", False)
        assert hidden or not is_folded(cell), "run `make notebooks`"
    for _, output in outputs(path):
        assert output.output_type not in ("error", "stream") or output.get("name") == "stdout"
        text = "".join(str(output.get("data", {}).get(x, "")) for x in ("text/plain", DESCRIPTION))
        text += output.get("text", "")
        assert not re.search(r"0x[0-9a-f]{6,}|/home/|/tmp/|cuda|mps\b", text)
        assert "nan" not in re.findall(r"[a-z]+", text)
        assert not re.search(r"\d%", text), "a space belongs before %, as in the text around"


@pytest.mark.parametrize("path", [*CHAPTERS, TEMPLATE], ids=lambda p: p.stem)
def test_a_notebook_says_of_its_kernel_what_jupyter_would_add(path):
    """Else JupyterLab counts it as changed, nbconvert makes no ``.py`` of it, and the site doesn't
    colour its code.
    """
    kernel = get_kernel_spec("python3")
    language = IPythonKernel.language_info | {"version": None}
    assert nbformat.read(path, as_version=4).metadata == {
        "kernelspec": {
            "display_name": kernel.display_name,
            "language": kernel.language,
            "name": "python3",
        },
        "language_info": {key: value for key, value in language.items() if value},
    }


@pytest.mark.parametrize("path", [*CHAPTERS, TEMPLATE], ids=lambda p: p.stem)
def test_every_figure_says_what_is_seen(path):
    for cell, output in outputs(path):
        drawn = [kind for kind in output.get("data", {}) if kind.startswith("image/")]
        if drawn:
            assert drawn == ["image/svg+xml"], "run `make notebooks`"
            if not MOVABLE.search(cell.source):
                assert len(cell.metadata["mystnb"]["image"]["alt"]) > 40
                assert cell.source.rstrip().endswith("plt.show()")
            described = output.data[DESCRIPTION].startswith("Figure, ")
            assert described, "draw it with plotting.figure, and run `make notebooks`"
    for cell in cells(path, "markdown"):
        for alternative in re.findall(r"!\[(.*?)\]\(", cell.source):
            assert len(alternative) > 40


ASKED = BOOK / "people_ask.ipynb"


def slug(heading):
    """The anchor of a heading, as code hosts and the site have it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def test_what_people_ask_is_answered_on_one_page():
    """A chapter names the question as the page does, and leaves the answer to it."""
    text = "\n\n".join(cell.source for cell in cells(ASKED, "markdown"))
    questions = {heading: slug(heading) for heading in re.findall(r"^### (.+)$", text, re.M)}
    assert len(questions) == text.count("\n### ") > 40
    asked = 0
    for path in CHAPTERS:
        text = "\n\n".join(cell.source for cell in cells(path, "markdown"))
        assert not re.search(r"^(#+ |<summary>)People ask", text, re.M), path.name
        for name, anchor in re.findall(r"\[([^]]+)\]\(people_ask\.ipynb#([^)]*)\)", text):
            assert questions.get(name) == anchor, f"{path.name}: {name}"
            asked += 1
    assert asked > 5


DIRECTIVE = re.compile(
    r"^[:`]{3,} ?\{(?!ledger-table).*|\{[\w:-]+\}`[^`]*`|^\([\w-]+\)=$|\{\{.*?\}\}", re.M
)


@pytest.mark.parametrize("path", [*CHAPTERS, TEMPLATE], ids=lambda p: p.stem)
def test_a_notebook_is_plain_markdown(path):
    """Which every viewer shows; CONTRIBUTING.md has the conventions."""
    for cell in cells(path, "markdown"):
        assert not DIRECTIVE.search(cell.source)
        assert cell.source.count("<details>") == cell.source.count("</details>")
        assert not re.search(r"^<(?!/?details>|summary>|!-- right)", cell.source, re.M)


@pytest.mark.parametrize(
    "raw",
    [
        ":::{admonition} Predict",
        "```{image} a.svg",
        "{cite:t}`nair2025`",
        "(many-tokens)=",
        "{{x}}",
    ],
)
def test_what_only_one_parser_knows_is_found(raw):
    assert DIRECTIVE.search(f"Before.\n{raw}\n")


def indexed(path):
    """The entries of the index that a notebook's cells name, with their heading and its cell."""
    return [
        (cell, heading, entry)
        for cell in nbformat.read(path, as_version=4).cells
        for heading, entries in cell.metadata.get("index", {}).items()
        for entry in entries
    ]


@pytest.mark.parametrize("path", [*CHAPTERS, TEMPLATE], ids=lambda p: p.stem)
def test_entries_of_the_index_stand_with_their_heading(path):
    entries = indexed(path)
    for cell, heading, entry in entries:
        headings = re.findall(r"^#+ (.*?) *$", cell.source, re.M)
        assert heading in headings, f"{cell.id} has no heading {heading!r}: move its entries"
        assert re.fullmatch(r"(see: )?[^;?:]+(; [^;?:]+)?", entry), entry
        assert not entry.startswith("see:") or ";" in entry
    texts = [entry for _, _, entry in entries]
    assert len(texts) == len(set(texts))


def test_what_leads_to_another_entry_of_the_index_finds_one():
    entries = [entry for path in CHAPTERS for *_, entry in indexed(path)]
    terms = {entry.replace(";", ",") for entry in entries if not entry.startswith("see: ")}
    terms |= {term.partition(",")[0] for term in terms}
    lead = [entry.partition("; ")[2] for entry in entries if entry.startswith("see: ")]
    assert lead
    assert [to for to in lead if to not in terms] == []


@pytest.mark.parametrize("path", [*CHAPTERS, TEMPLATE], ids=lambda p: p.stem)
def test_every_table_has_a_title(path):
    for cell in cells(path, "code"):
        if "remove-output" in cell.metadata.get("tags", []):
            continue
        tables = [x for x in cell.outputs if "sdpa-table" in x.get("data", {}).get("text/html", "")]
        titles = cell.metadata.get("caption", [])
        titles = [titles] if isinstance(titles, str) else titles
        if tables:
            assert len(titles) == len(tables), f"{cell.id} needs `caption` in its metadata"
            assert all(len(title) > 40 and title.endswith(".") for title in titles), titles


def test_a_caption_sets_no_formula():
    """Sphinx shows its dollars."""
    captions = [c.metadata.get("caption", "") for p in CHAPTERS for c in cells(p, "code")]
    assert any(captions)
    assert [caption for caption in captions if "$" in caption] == []


def test_at_most_three_cells_are_not_compared():
    ignored = [
        cell
        for path in CHAPTERS
        for cell in cells(path, "code")
        if "nbval-ignore-output" in cell.metadata.get("tags", [])
    ]
    assert len(ignored) <= 3
    assert all("not compared:" in cell.source for cell in ignored), "each says why in a comment"


@pytest.mark.parametrize("path", TEACHING_OR_TEMPLATE, ids=lambda p: p.stem)
def test_a_chapter_has_its_parts(path):
    """But for the first page, which is a figure to move, and the drill, *What to remember*."""
    text = "\n".join(cell.source for cell in cells(path, "markdown"))
    assert "> **Predict.**" in text
    for heading in ("## Break it", "## Exercises", "## What to remember"):
        assert f"\n{heading}" in text
    assert "**The answer.**" in text
    assert text.count("> **What we do not know.**") == 1
    assert len(re.findall(r"\]\((?:\.\./)?notes/", text)) == 1
    exercises = len(re.findall(r"^### Exercise \d", text, re.M))
    assert exercises >= 3
    assert len(re.findall("<summary>Solution</summary>", text)) == exercises


@pytest.mark.parametrize("path", [*CHAPTERS, TEMPLATE], ids=lambda p: p.stem)
def test_every_exercise_is_asked_once_and_solved_once(path):
    asked, solved = [], []
    for cell in cells(path, "code"):
        for name in re.findall(r'check\("([\w.]+)"', cell.source):
            hidden = "hide-cell" in cell.metadata.get("tags", [])
            assert "".join(o.data["text/plain"] for o in cell.outputs if "data" in o).startswith(
                "✓" if hidden else "…"
            )
            (solved if hidden else asked).append(name)
    assert asked == solved
    assert len(asked) == len(set(asked))


def test_every_exercise_of_the_library_is_asked():
    texts = [cell.source for path in (*CHAPTERS, TEMPLATE) for cell in cells(path, "code")]
    texts.append((BOOK.parent / "lecture" / "lab.md").read_text(encoding="utf-8"))
    asked = {name for text in texts for name in re.findall(r'check\("([\w.]+)"', text)}
    assert asked == set(all_exercises())


def run_chapter(path, library, *options):
    """Run one chapter through nbval with the library found in ``library``."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--nbval",
        "--nbval-current-env",
    ]
    environment = os.environ | {"PYTHONPATH": str(library)}
    return subprocess.run(
        [*command, *options, "-c", os.devnull, "--rootdir", str(path.parent), str(path)],
        env=environment,
        capture_output=True,
        text=True,
    )


def test_a_changed_constant_in_the_library_fails_a_notebook(tmp_path):
    """The exponent of sqrt_d_k, 0.5, becomes 0.45: the notebook must fail. That its cells pass with
    the library as it is, nbval shows.
    """
    chapter = tmp_path / "chapter.ipynb"
    shutil.copy(BOOK / "11_scalings_in_the_wild.ipynb", chapter)
    (tmp_path / "changed").mkdir()
    shutil.copytree(
        ROOT / "sdpa_lib",
        tmp_path / "changed" / "sdpa_lib",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    source = tmp_path / "changed" / "sdpa_lib" / "rescaling.py"
    text = source.read_text(encoding="utf-8")
    assert text.count("power_of_d_k(d_k, self.power)") == 1
    source.write_text(
        text.replace("power_of_d_k(d_k, self.power)", "power_of_d_k(d_k, 0.9 * self.power)"),
        encoding="utf-8",
    )

    changed = run_chapter(chapter, tmp_path / "changed", "--exitfirst")
    assert changed.returncode == 1
    assert "1 failed" in changed.stdout


def test_a_changed_label_fails_a_notebook_with_the_old_picture(tmp_path):
    """Pictures are not compared; what is said of them is. Cells after the picture are left out."""
    chapter = tmp_path / "chapter.ipynb"
    notebook = nbformat.read(BOOK / "02_dot_products_grow.ipynb", as_version=4)
    label = re.compile(r'ylabel="[^"]+?"')
    first = next(i for i, cell in enumerate(notebook.cells) if label.search(cell.source))
    cell = notebook.cells[first]
    cell.source = label.sub('ylabel="another label"', cell.source)
    notebook.cells = [c for c in notebook.cells[:first] if not MOVABLE.search(c.source)] + [cell]
    nbformat.write(notebook, chapter)
    changed = run_chapter(chapter, ROOT)
    assert changed.returncode == 1
    assert "1 failed" in changed.stdout


def test_the_picture_of_readme_is_the_books_first_figure():
    """Described as the figure is, and so drawn of the same lines, labels and data."""
    assert "(book/_static/weights_by_rank.png)" in (ROOT / "README.md").read_text(encoding="utf-8")
    with Image.open(BOOK / "_static" / "weights_by_rank.png") as picture:
        described = picture.text["Description"]
    first = next(output for _, output in outputs(CHAPTERS[0]) if "image/svg+xml" in output.data)
    assert described == first.data[DESCRIPTION], "run `make notebooks CHAPTER=00`"


LETTERS = re.compile(r'<g style="fill: #[0-9a-f]{6}" transform="[^"]*scale\(([\d.]+) ')
"""Matplotlib draws the outlines of a letter of 100 points and scales them."""


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_figures_have_one_lettering(path):
    for _, output in outputs(path):
        drawn = output.get("data", {}).get("image/svg+xml", "")
        if drawn:
            points = float(re.match(r'<svg [^>]*?width="([\d.]+)pt"', drawn)[1])
            column = min(704, points * 96 / 72)
            sizes = {100 * float(scale) * column / points for scale in LETTERS.findall(drawn)}
            assert all(12 < pixels < 16.1 for pixels in sizes), sizes


SHOWN = """\
class Table:
    def __repr__(self):
        return "keys  weight\\n   3    0.12"

    def _repr_html_(self):
        return "<table><tr><td>3</td><td>0.12</td></tr></table>"


Table()"""


def test_a_failure_of_nbval_names_the_cell_and_shows_the_plain_text_before_html(tmp_path):
    now = {"text/html": "<table><tr><td>3</td><td>0.12</td></tr></table>"}
    now["text/plain"] = "keys  weight\n   3    0.12"
    then = {kind: text.replace("0.12", "0.34") for kind, text in now.items()}
    results = [
        nbformat.v4.new_output("execute_result", data, execution_count=1) for data in (then, now)
    ]
    code = [
        nbformat.v4.new_code_cell(SHOWN, id=name, outputs=[output], execution_count=1)
        for name, output in zip(("a-table", "as-stored"), results, strict=True)
    ]
    code.append(nbformat.v4.new_code_cell("1 / 0", id="raises", execution_count=1))
    texts = ("# A chapter\n\n## Break it", "text", "### Exercises")
    text = [nbformat.v4.new_markdown_cell(text) for text in texts]
    cells = [text[0], text[1], *code[:2], text[2], code[2]]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "page.ipynb")
    shutil.copy(BOOK / "conftest.py", tmp_path)
    command = [sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env", "--color=no", "."]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), str(ROOT)])}
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "2 failed, 1 passed" in run.stdout
    assert "page.ipynb, cell a-table, below “Break it”" in run.stdout
    assert "page.ipynb, cell raises, below “Exercises”" in run.stdout
    assert "mismatch 'text/plain'" in run.stdout
    assert "-    3    0.12" in run.stdout
    assert "+    3    0.34" in run.stdout
    assert "text/html" not in run.stdout
