"""Tests lie as the code lies."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = {"sdpa_lib": "sdpa_lib", "sdpa_book": "sdpa_book", "benchmarks": "benchmarks"}
CODE |= {"ext": "book/_ext"}
"""By folder of tests the folder of code."""


@pytest.mark.parametrize("folder", CODE)
def test_a_test_lies_where_its_module_lies(folder):
    code = ROOT / CODE[folder]
    files = [path for root in CODE.values() for path in (ROOT / root).rglob("*")]
    modules = [path for path in files if path.suffix == ".py" or path.is_dir()]
    tests = [*(ROOT / "tests" / folder).rglob("test_*.py")]
    assert tests
    for test in tests:
        name = test.stem.removeprefix("test_")
        place = code / test.parent.relative_to(ROOT / "tests" / folder)
        assert place.is_dir(), f"{test} is of no folder of {CODE[folder]}"
        named = {path.parent for path in modules if path.stem.strip("_") == name}
        if name != place.name:  # a package's test lies beside those of its modules
            assert not named or place in named, f"{test} is of a module in {named}"


@pytest.mark.parametrize("named", ["sdpa_book/explorables/growth", "tests/site/test_cards.py"])
def test_without_the_tools_a_test_in_a_browser_says_what_it_needs(named):
    code = (
        "import sys; sys.modules['playwright.sync_api'] = None; import pytest; "
        f"sys.exit(pytest.main(['--collect-only', '-q', {named!r}]))"
    )
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == pytest.ExitCode.USAGE_ERROR, run.stderr
    assert "need requirements-tools.txt" in run.stderr
