"""What an index would hand out: the library, and nothing that only the book needs."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_bytes
from pathlib import Path
from pkgutil import resolve_name

import pytest
import release
import yaml
from packaging.specifiers import SpecifierSet

import sdpa_lib
from sdpa_lib.rescaling import MODEL_RESCALINGS, get_rescaling

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT, BACKEND = SETTINGS["project"], SETTINGS["build-system"]["build-backend"]
LIBRARY = {"README.md", "py.typed", *(path.name for path in (ROOT / "sdpa_lib").glob("*.py"))}
README = (ROOT / PROJECT["readme"]).read_text(encoding="utf-8")
NEEDED_BY_THE_BOOK = ("matplotlib", "joblib", "sklearn", "scipy", "tqdm")


def snippets(text: str) -> str:
    return "\n".join(re.findall(r"```python\n(.*?)```", text, re.S))


def copied(folder: Path) -> Path:
    """A folder with what may go into a distribution, and the tests, which may not."""
    folder.mkdir()
    for path in ROOT.iterdir():
        if path.is_file() and not path.name.startswith("."):
            shutil.copy(path, folder)
    for name in ("sdpa_lib", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def build(source: Path, built: Path) -> None:
    """Put a wheel and a source distribution into ``built``, as ``pip install`` would make them."""
    code = f"""
from {BACKEND} import build_sdist, build_wheel
build_sdist({str(built)!r})
build_wheel({str(built)!r})
"""
    subprocess.run([sys.executable, "-c", code], cwd=source, check=True, capture_output=True)


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("dist")
    build(copied(tmp_path_factory.mktemp("copy") / "source"), built)
    return built


@pytest.fixture(scope="module")
def installed(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the wheel is unpacked."""
    folder = tmp_path_factory.mktemp("installed")
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def test_building_leaves_nothing_in_the_folder_that_it_builds_from(tmp_path: Path) -> None:
    source = copied(tmp_path / "source")
    before = set(source.rglob("*"))
    build(source, tmp_path)
    assert set(source.rglob("*")) - before == set()


def test_the_wheel_holds_the_library_alone_and_says_what_it_is(installed: Path) -> None:
    files = {path.relative_to(installed) for path in installed.rglob("*") if path.is_file()}
    packed = {path.as_posix() for path in files if not path.parts[0].endswith(".dist-info")}
    assert packed == {f"sdpa_lib/{name}" for name in LIBRARY}
    (path,) = installed.glob("*.dist-info/METADATA")
    metadata = message_from_bytes(path.read_bytes())
    assert metadata["Version"] == sdpa_lib.__version__
    assert metadata["Description-Content-Type"] == "text/markdown"
    needed = [line for line in metadata.get_all("Requires-Dist") if "extra ==" not in line]
    assert needed == PROJECT["dependencies"]


def test_the_source_distribution_holds_what_builds_the_wheel(dist: Path) -> None:
    (archive,) = dist.glob("*.tar.gz")
    with tarfile.open(archive) as source:
        files = {member.name.partition("/")[2] for member in source if member.isfile()}
    about = {"CHANGELOG.md", "CITATION.cff", "LICENSE", "PKG-INFO", "pyproject.toml"}
    assert files == about | {f"sdpa_lib/{name}" for name in LIBRARY}


def test_every_module_of_the_wheel_and_its_readme_run_with_torch_and_numpy_alone(
    installed: Path,
) -> None:
    modules = [Path(name).stem for name in LIBRARY - {"README.md", "py.typed", "__init__.py"}]
    code = f"""
import importlib, sys
for name in {NEEDED_BY_THE_BOOK}:
    sys.modules[name] = None
for name in {modules}:
    module = importlib.import_module("sdpa_lib." + name)
    assert module.__file__.startswith({str(installed)!r}), module.__file__
try:
    import sdpa_book
except ModuleNotFoundError:
    pass
else:
    raise AssertionError(sdpa_book)
{snippets(README)}
"""
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=installed,
        env=os.environ | {"OMP_NUM_THREADS": "1"},  # in small steps threads wait for each other
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    for name in sdpa_lib.RESCALINGS:
        assert f"\n{name} " in ran.stdout


def test_the_snippets_of_the_repository_run() -> None:
    code = snippets((ROOT / "README.md").read_text(encoding="utf-8"))
    assert "scaled_dot_product_attention" in code
    exec(code, {})


@pytest.mark.parametrize(
    ("name", "module"),
    {
        "jacobian_norm": "saturation",
        "measure_dot_products": "moments",
        "sample": "sampling",
        "saturation_of_rows": "saturation",
    }.items(),
)
def test_a_name_that_moved_says_where_it_is(name: str, module: str) -> None:
    with pytest.raises(AttributeError, match=rf"^{name} moved to sdpa_lib\.{module} in 5\.0$"):
        getattr(sdpa_lib, name)
    assert callable(resolve_name(f"sdpa_lib.{module}:{name}"))


def test_the_library_never_imports_the_book() -> None:
    """Not within a function either."""
    for path in (ROOT / "sdpa_lib").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                assert "sdpa_book" not in ast.unparse(node), path


def test_the_readme_needs_no_place_beside_it() -> None:
    """An index shows no pictures of the repository, and follows no link into it."""
    assert re.findall(r"!\[|<img|\]\((?!https://)", README) == []


def test_the_readme_names_rescalings_that_there_are() -> None:
    (table,) = re.findall(r"^\| divisor .*?\n(?=\n)", README, re.S | re.M)
    rows = [line.split("|") for line in table.splitlines()[2:]]
    names = [name for row in rows for name in re.findall(r"`([^`]+)`", row[2])]
    assert len(names) > 5
    for name in names:
        assert get_rescaling(name).name == name
    for _, _, _, instances, _ in rows:
        for instance in re.findall(r"`([^`]+)`", instances):
            assert isinstance(eval(instance, vars(sdpa_lib)), sdpa_lib.Rescaling)
    assert {"mup", "yarn_32", "ssmax"} <= set(MODEL_RESCALINGS)  # which the text names


def test_one_version_stands_everywhere() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == sdpa_lib.__version__
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.findall(r"^## (\d.*)$", changes, re.M)
    assert released[0] == sdpa_lib.__version__
    about = (ROOT / "book" / "about.md").read_text(encoding="utf-8")
    assert "version" not in about.partition("```\n")[0]  # a release would have to remember it
    assert citation["title"].replace("√d_k", r"$\sqrt{d_k}$") in " ".join(about.split())


def test_the_pythons_listed_are_those_supported_and_tried() -> None:
    language = "Programming Language :: Python :: "
    classified = [
        line.removeprefix(language)
        for line in PROJECT["classifiers"]
        if line.startswith(language + "3.")
    ]
    supported = SpecifierSet(PROJECT["requires-python"])
    assert classified[0] == min(f"3.{n}" for n in range(10, 100) if f"3.{n}" in supported)
    workflow = (ROOT / ".github" / "workflows" / "nightly.yml").read_text(encoding="utf-8")
    matrix = yaml.safe_load(workflow)["jobs"]["everywhere"]["strategy"]["matrix"]
    tried = {*matrix["python"], *(more["python"] for more in matrix["include"])}
    assert tried == set(classified)


@pytest.mark.tools
def test_every_type_of_the_public_interface_is_declared(installed: Path) -> None:
    """So that type checkers agree on what they make of a user's code."""
    places = {"PYTHONPATH": str(installed), "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    places["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = [sys.executable, "-m", "pyright", "--verifytypes", "sdpa_lib", "--ignoreexternal"]
    ran = subprocess.run(
        command, cwd=installed, env=os.environ | places, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout


def test_importing_the_books_package_has_the_effects_that_it_names_and_no_other(tmp_path):
    """One thread, Matplotlib's own settings, one warning ignored."""
    (tmp_path / "matplotlibrc").write_text("axes.grid: True\n")
    code = """
import os, random, warnings
import matplotlib, torch
assert matplotlib.rcParams["axes.grid"]
filters, seeds = len(warnings.filters), (random.getstate(), torch.random.initial_seed())
kept = torch.get_default_dtype(), torch.is_grad_enabled(), dict(os.environ)
import sdpa_book
assert torch.get_num_threads() == 1
assert not matplotlib.rcParams["axes.grid"]
assert len(warnings.filters) == filters + 2, warnings.filters
assert seeds == (random.getstate(), torch.random.initial_seed())
assert kept == (torch.get_default_dtype(), torch.is_grad_enabled(), dict(os.environ))
"""
    environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    environment["MATPLOTLIBRC"] = str(tmp_path)
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def test_the_notes_of_a_release_are_its_section_of_the_changelog() -> None:
    changes = "# Changes\n\n## 4.1.0\n\nNew.\n\n### Fixed\n- It.\n\n## 4.1.0rc1\ny\n"
    assert release.notes(changes, "4.1.0") == "New.\n\n### Fixed\n- It.\n"
    assert release.notes(changes, "4.1.0rc1") == "y\n"
    with pytest.raises(SystemExit, match=r"no section 4\.1$"):
        release.notes(changes, "4.1")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert len(release.notes(changes, sdpa_lib.__version__)) > 1000
