"""Where make works otherwise than a person expects."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(os.name != "posix" or not shutil.which("make"), reason="no make here")
def test_a_builder_that_does_nothing_is_found_out_behind_an_earlier_site(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "_build" / "html").mkdir(parents=True)
    (tmp_path / "_build" / "html" / "index.html").touch()
    (tmp_path / "jupyter-book").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "jupyter-book").chmod(0o755)
    make = ["make", "book", f"BIN={tmp_path}", "INSTALLED="]
    run = subprocess.run(make, cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode != 0
    assert "No book was built" in run.stderr


@pytest.mark.skipif(os.name != "posix" or not shutil.which("make"), reason="no make here")
def test_make_installs_and_builds_where_the_locale_knows_only_ascii() -> None:
    """Else pip can't install in a folder whose name has other letters."""
    run = subprocess.run(
        ["make", "-s", "--no-print-directory", "-f", "Makefile", "-f", "-", "charmap"],
        input="charmap:\n\t@locale charmap\n",
        cwd=ROOT,
        env=os.environ | {"LC_ALL": "C"},
        capture_output=True,
        text=True,
    )
    assert run.stdout == "UTF-8\n", run.stderr
