"""`make notebooks` executes what changed, keeps what came out as it was, and fails where a cell
raises: tried on a throw-away book.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import nbformat
import pytest
from outputs import notebooks

ROOT = Path(__file__).resolve().parents[3]

# Every run draws another picture and says the same.
CELL = """
import secrets, sys
from pathlib import Path
from IPython.display import display
sys.path.insert(0, "..")
from sdpa_lib import CONSTANT
with open("../runs", "a") as runs:
    print("NAME", file=runs)
print("constant", CONSTANT)
display({"image/png": secrets.token_hex(), "text/plain": "a line"}, raw=True)
"""


class Chapters:
    """Two chapters, and a file that remembers which of them were executed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "sdpa_lib").mkdir()
        (root / "book").mkdir()
        self.set_constant(1)
        for name in ("01_one", "02_two"):
            self.write(name, CELL.replace("NAME", name))

    def path(self, name: str) -> Path:
        return self.root / "book" / f"{name}.ipynb"

    def set_constant(self, value: int) -> None:
        (self.root / "sdpa_lib" / "__init__.py").write_text(f"CONSTANT = {value}\n")

    def write(self, name: str, *code: str, prose: str = "A chapter") -> None:
        """Write the chapter; cells that it had keep their outputs."""
        new = nbformat.v4.new_notebook(
            cells=[
                nbformat.v4.new_markdown_cell(prose, id="prose"),
                *(nbformat.v4.new_code_cell(source, id=f"c{i}") for i, source in enumerate(code)),
            ],
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        )
        if self.path(name).exists():
            old = {cell.id: cell for cell in nbformat.read(self.path(name), as_version=4).cells}
            for cell in new.cells:
                if cell.cell_type == "code" and cell.id in old:
                    cell.outputs = old[cell.id].outputs
                    cell.execution_count = old[cell.id].execution_count
        nbformat.write(new, self.path(name))

    def outputs(self, name: str, cell: int = 1) -> list[nbformat.NotebookNode]:
        return nbformat.read(self.path(name), as_version=4).cells[cell].outputs

    def picture(self, name: str) -> str:
        return str(self.outputs(name)[-1].data["image/png"])

    def executed(self, *arguments: str) -> list[str]:
        """The chapters that a run executes, in this process, which is quicker."""
        runs = self.root / "runs"
        runs.unlink(missing_ok=True)
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(action="ignore"):
            patch.setattr(sys, "argv", ["notebooks.py", *arguments])
            patch.setenv("JUPYTER_PREFER_ENV_PATH", "0")  # main sets it, and nobody takes it back
            notebooks.main(self.root)
        return sorted(runs.read_text().split()) if runs.exists() else []


@pytest.fixture
def chapters(tmp_path: Path) -> Chapters:
    return Chapters(tmp_path)


def test_what_changed_is_executed_and_nothing_else(chapters: Chapters) -> None:
    assert chapters.executed() == ["01_one", "02_two"]

    two = CELL.replace("NAME", "02_two")
    chapters.write("02_two", two, prose="Other words")
    assert chapters.executed() == []
    chapters.write("02_two", two + "print('more')")
    assert chapters.executed() == ["02_two"]

    chapters.path("01_one").unlink()
    chapters.write("01_one", CELL.replace("NAME", "01_one"))
    assert chapters.executed() == ["01_one"], "it had no outputs"

    chapters.set_constant(2)
    assert chapters.executed() == ["01_one", "02_two"]
    assert "constant 2" in chapters.outputs("01_one")[0].text


def test_a_picture_is_that_of_the_execution(chapters: Chapters) -> None:
    """Also where what is said of it is the same: a line may have become thicker."""
    chapters.executed()
    drawn = chapters.picture("01_one"), chapters.picture("02_two")
    assert chapters.executed("01") == ["01_one"]
    assert chapters.picture("01_one") != drawn[0]
    assert chapters.picture("02_two") == drawn[1]
    assert chapters.executed("--all") == ["01_one", "02_two"]
    assert chapters.picture("02_two") != drawn[1]
    assert chapters.executed() == []


def test_of_a_figure_the_wide_drawing_is_stored(chapters: Chapters) -> None:
    code = """
import sys
from matplotlib.figure import Figure
from IPython.display import display
sys.path.insert(0, ROOT)
from sdpa_book.drawing.svg import picture
figure = Figure((7, 3))
figure.subplots().plot([1, 2])
drawn = picture(figure)
print("narrow" in drawn)
display({"image/svg+xml": drawn, "text/plain": "a line"}, raw=True)
"""
    chapters.write("01_one", code.replace("ROOT", repr(str(ROOT))))
    chapters.executed("01")
    stream, drawing = chapters.outputs("01_one")
    assert stream.text == "True\n"
    assert "narrow" not in drawing.data["image/svg+xml"]
    assert drawing.data["image/svg+xml"].startswith("<svg ")
    assert drawing.data["image/svg+xml"].endswith("</style></svg>")
    beside = chapters.root / "book" / "_narrow" / "01_one" / "c0.svg"
    assert beside.read_text(encoding="utf-8").startswith('<svg id="narrow" ')


def test_a_name_that_no_chapter_has_is_told(chapters: Chapters) -> None:
    with pytest.raises(SystemExit, match=r"beginning of a chapter's, got '3'.* 01_one, 02_two"):
        chapters.executed("3")


def test_what_is_stored_names_no_machine_and_no_time(chapters: Chapters) -> None:
    chapters.executed("01")
    text = chapters.path("01_one").read_text(encoding="utf-8")
    notebook = json.loads(text)
    assert notebook["metadata"] == notebooks.METADATA
    folded = {"jupyter": {"source_hidden": True}}  # the cell draws
    assert [cell["metadata"] for cell in notebook["cells"]] == [{}, folded]
    assert [cell["id"] for cell in notebook["cells"]] == ["prose", "c0"]
    assert text == json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def test_a_chapter_that_raises_is_told_and_left_as_it_was(chapters: Chapters) -> None:
    chapters.write("02_two", "print('before')", "1 / 0")
    before = chapters.path("02_two").read_bytes()
    with pytest.raises(SystemExit, match=r"(?s)ZeroDivisionError.*02_two.ipynb, cell 3, failed"):
        chapters.executed()
    assert chapters.path("02_two").read_bytes() == before
    assert chapters.outputs("01_one"), "the others are stored"


def test_a_user_s_own_kernel_of_the_same_name_is_not_asked(
    chapters: Chapters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = tmp_path / "data" / "kernels" / "python3"
    kernel.mkdir(parents=True)
    (kernel / "kernel.json").write_text(
        json.dumps({"argv": ["false"], "display_name": "another", "language": "python"})
    )
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    assert chapters.executed("01") == ["01_one"]
