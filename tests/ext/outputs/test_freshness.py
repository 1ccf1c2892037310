"""What the outputs of a notebook depend on, in a throw-away repository and in this one."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from outputs import freshness, notebooks
from outputs.narrow import folder_of

ROOT = Path(__file__).resolve().parents[3]


# A repository: the code of its notebooks, and of each file what it holds and who depends on it.
CODE = {
    "asks": "import sdpa_lib as sdpa\nfrom sdpa_book import check\ncheck('variance.uniform', 1)",
    "lazy": "import sdpa_lib as sdpa\nsdpa.transformers.register()",
    "watches": "import sdpa_lib\nsdpa_lib.watch()",
    "moves": "import sdpa_book\nsdpa_book.movable('growth')",
    "costs": "from sdpa_book.calculations.costs import load_benchmarks",
    "heads": "from sdpa_book.studies.heads.results import f",
}
ALL, LIBRARY = set(CODE), {"asks", "lazy", "watches"}
BOOK = ALL - {"lazy", "watches"}
LATER = "\nif TYPE_CHECKING:\n    from sdpa_lib.watching import watch"
FILES: dict[str, tuple[str, set[str]]] = {
    "requirements.txt": ("torch", ALL),
    "README.md": ("What it is", set()),
    "benchmarks/results/cpu.json": ("{}", {"costs"}),
    "sdpa_lib/README.md": ("What it is", set()),
    "sdpa_lib/__init__.py": ("from sdpa_lib.attention import attention" + LATER, LIBRARY),
    "sdpa_lib/attention.py": ("from . import _checks", LIBRARY),
    "sdpa_lib/_checks.py": ("", LIBRARY),
    "sdpa_lib/models.py": ("", set()),
    "sdpa_lib/transformers.py": ("", {"lazy"}),
    "sdpa_lib/watching.py": ("", {"watches"}),
    "sdpa_lib/table.csv": ("1", LIBRARY),
    "sdpa_book/__init__.py": (
        "from sdpa_book.exercises import check\nfrom sdpa_book.explorables import movable",
        BOOK,
    ),
    "sdpa_book/calculations/costs.py": ("", {"costs"}),
    "sdpa_book/exercises/__init__.py": (
        "import importlib\nimportlib.import_module",
        BOOK,
    ),
    "sdpa_book/exercises/variance_exercises.py": ("import sdpa_book.answers", {"asks"}),
    "sdpa_book/exercises/growth_exercises.py": ("", set()),
    "sdpa_book/answers.py": ("", {"asks"}),
    "sdpa_book/explorables/__init__.py": ("import pkgutil\npkgutil.iter_modules", BOOK),
    "sdpa_book/explorables/growth/__init__.py": ("from .. import looks", {"moves"}),
    "sdpa_book/explorables/growth/growth.js": ("", set()),
    "sdpa_book/explorables/growth/growth.css": ("", set()),
    "sdpa_book/explorables/growth/test_growth.py": ("", set()),
    "sdpa_book/explorables/_shared/frame.js": ("", set()),
    "sdpa_book/explorables/looks.py": ("", {"moves"}),
    "sdpa_book/explorables/variance/__init__.py": ("", set()),
    "sdpa_book/studies/heads/__init__.py": ("", {"heads"}),
    "sdpa_book/studies/heads/results.py": ("def f():\n    from .. import plan", {"heads"}),
    "sdpa_book/studies/heads/results/heads.json": ("1", {"heads"}),
    "sdpa_book/studies/heads/results/heads.npz": ("1", {"heads"}),
    "sdpa_book/studies/heads/train.py": ("", set()),
    "sdpa_book/studies/plan.py": ("__import__", {"heads"}),
    "sdpa_book/studies/anything.py": ("", {"heads"}),
    "sdpa_book/studies/depth/__init__.py": ("", set()),
    "sdpa_book/studies/depth/results.json": ("1", set()),
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for name, (text, _) in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "book").mkdir()
    for name, code in CODE.items():
        write_notebook(tmp_path / "book" / f"{name}.ipynb", code)
    return tmp_path


def write_notebook(path: Path, code: str) -> None:
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)]), path)


def digests(root: Path) -> dict[str, str]:
    return {name: freshness.digest(root, root / "book" / f"{name}.ipynb") for name in CODE}


@pytest.mark.parametrize("name", FILES)
def test_a_notebook_depends_on_what_it_imports_and_on_nothing_else(
    name: str, repository: Path
) -> None:
    before = digests(repository)
    with open(repository / name, "a") as file:
        file.write("\nchanged")
    after = digests(repository)
    assert {name for name in CODE if before[name] != after[name]} == FILES[name][1]


@pytest.mark.parametrize("code", ["%matplotlib inline", "__import__('sdpa_lib')"])
def test_a_notebook_whose_imports_no_one_can_read_depends_on_all(
    code: str, repository: Path
) -> None:
    notebook = repository / "book" / "asks.ipynb"
    write_notebook(notebook, code)
    files = freshness.files(repository, notebook)
    others = {"README.md", "sdpa_lib/README.md", "requirements.txt"}
    assert {path.relative_to(repository).as_posix() for path in files} == FILES.keys() - others


def test_an_exercise_whose_name_is_computed_may_be_any(repository: Path) -> None:
    notebook = repository / "book" / "asks.ipynb"
    write_notebook(notebook, "from sdpa_book import check\ncheck(name, 1)")
    names = {path.name for path in freshness.files(repository, notebook)}
    assert names >= {"variance_exercises.py", "growth_exercises.py"}


def test_a_new_file_of_data_is_seen(repository: Path) -> None:
    before = digests(repository)
    (repository / "sdpa_book" / "studies" / "heads" / "results" / "more.npz").touch()
    after = digests(repository)
    assert {name for name in CODE if before[name] != after[name]} == {"heads"}


def test_a_study_that_is_under_way_changes_nothing(repository: Path) -> None:
    before = digests(repository)
    state = repository / "sdpa_book" / "studies" / "heads" / "results" / "state"
    state.mkdir()
    (state / "piece.state").touch()
    assert digests(repository) == before


def test_words_and_the_ends_of_lines_are_no_change(repository: Path) -> None:
    """A checkout on Windows ends them with two characters."""
    before = digests(repository)
    (repository / "requirements.txt").write_bytes(b"# what the book needs\r\ntorch\r\n")
    module = repository / "sdpa_book" / "__init__.py"
    module.write_bytes(module.read_bytes().replace(b"\n", b"\r\n"))
    assert digests(repository) == before


OF_THIS_BOOK = {
    "sdpa_book/exercises/growth_exercises.py": {"02_dot_products_grow"},
    "sdpa_book/explorables/growth/__init__.py": {"02_dot_products_grow"},
    "sdpa_lib/watching.py": {"12_your_own_rescaling"},
    "benchmarks/results/amd-epyc-2-threads.json": {
        "12_your_own_rescaling",
        "notes/12_your_own_rescaling",
    },
    "sdpa_book/studies/optimiser_steps/results/steps.json": {
        "11_scalings_in_the_wild",
        "notes/d_which_power_for_which_optimiser",
        "articles/d_which_power_for_which_optimiser",
    },
}


def test_one_file_of_each_kind_executes_only_who_uses_it() -> None:
    of = {
        path.relative_to(ROOT / "book").with_suffix("").as_posix(): freshness.files(ROOT, path)
        for path in notebooks.stored(ROOT / "book")
    }
    for name, users in OF_THIS_BOOK.items():
        assert {notebook for notebook, files in of.items() if ROOT / name in files} == users, name


def test_the_outputs_of_this_book_are_known() -> None:
    """Else a clone would execute in silence. ``make notebooks`` makes them known."""
    book = ROOT / "book"
    paths = [*notebooks.stored(book), *book.glob("_template/*.ipynb")]
    assert freshness.record(ROOT).keys() == {freshness.name_of(ROOT, path) for path in paths}
    stale = [path.name for path in paths if not freshness.is_known(ROOT, path)]
    assert not stale, f"`make notebooks` executes {', '.join(stale)}"
    of_figures = {path.parent for path in (book / "_narrow").rglob("*.svg")}
    assert of_figures <= {folder_of(path, book) for path in paths}
