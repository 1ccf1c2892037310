"""The lists of packages agree with each other, and leave nothing that the book needs to chance."""

from __future__ import annotations

import ast
import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
BROUGHT_BY_TORCH = re.compile(r"torch|triton|nvidia|cuda|pip$|setuptools")


def lines(name: str) -> list[str]:
    text = (ROOT / name).read_text(encoding="utf8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def pins(name: str) -> dict[str, str]:
    pairs = (line.split("==") for line in lines(name) if not line.startswith("-"))
    return {canonicalize_name(package): version for package, version in pairs}


def needed(package: str, extra: str = "") -> set[tuple[str, str]]:
    """The packages that an installed package asks for on this machine, each with its extras."""
    packages = set()
    for line in metadata.requires(package) or []:
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            name = canonicalize_name(requirement.name)
            packages |= {(name, extra) for extra in ("", *requirement.extras)}
    return packages


def brought(*wanted: tuple[str, str]) -> set[str]:
    """The names of what the installation of packages with extras brings, torch's own left out."""
    reached, todo = set(wanted), list(wanted)
    while todo:
        name, extra = todo.pop()
        if not BROUGHT_BY_TORCH.match(name):
            new = needed(name, extra) - reached
            reached |= new
            todo += new
    return {name for name, _ in reached if not BROUGHT_BY_TORCH.match(name)} - {"sdpa-lib"}


BOOK = [("sdpa-lib", "book"), *((name, "") for name in pins("requirements.txt"))]
TOOLS = [(name, "") for name in pins("requirements-tools.txt")]


def test_every_requirement_and_constraint_is_an_exact_pin() -> None:
    first, *direct, last = lines("requirements.txt")
    also, *tools = lines("requirements-tools.txt")
    assert (first, last, also) == ("-c constraints.txt", "-e .[book]", "-c constraints.txt")
    listed = direct + tools + lines("constraints.txt")
    assert [line for line in listed if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []
    names = [canonicalize_name(line.split("==")[0]) for line in listed]
    assert sorted(names) == sorted(set(names))


@pytest.mark.tools
def test_everything_that_the_requirements_need_is_pinned() -> None:
    pinned = pins("requirements.txt") | pins("requirements-tools.txt") | pins("constraints.txt")
    names = brought(*BOOK, *TOOLS)
    assert len(names) > 100
    assert sorted(names - set(pinned)) == []


@pytest.mark.tools
def test_what_the_book_and_its_tests_import_needs_no_tools() -> None:
    """With the tools installed, nothing else would tell."""
    of_tools = brought(*TOOLS) - brought(*BOOK)
    assert len(of_tools) > 20
    modules = {
        module
        for module, names in metadata.packages_distributions().items()
        if {canonicalize_name(name) for name in names} <= of_tools
    }
    files = [*(ROOT / "tests").glob("*.py")]
    for folder in ("sdpa_lib", "sdpa_book", "benchmarks", "book/_ext", "tests/ext"):
        files += (ROOT / folder).rglob("*.py")
    explorables = ROOT / "sdpa_book" / "explorables"  # whose tests are of the site
    files = [path for path in files if path not in {*explorables.rglob("test_*.py")}]
    imported = {
        (path.name, name.partition(".")[0])
        for path in files
        for node in ast.parse(path.read_text(encoding="utf8")).body
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
    }
    importers = {path for path, name in imported if name in modules}
    assert importers == {"lab.py", "pdf.py"}  # which `make lab` and `make pdf` run


def test_torch_is_free_to_bring_its_own_platform_packages() -> None:
    assert [name for name in pins("constraints.txt") if BROUGHT_BY_TORCH.match(name)] == []


def test_the_oldest_versions_tried_are_those_promised() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]
    promised = project["dependencies"] + project["optional-dependencies"]["book"]
    oldest = pins("tests/oldest.txt")
    for requirement in map(Requirement, promised):
        (bound,) = requirement.specifier
        assert bound.operator == ">="
        tried = oldest.pop(requirement.name, "nothing")
        assert re.fullmatch(rf"{re.escape(bound.version)}(\.0)*", tried), requirement
    assert oldest.items() <= pins("requirements.txt").items()  # the tests' tools
