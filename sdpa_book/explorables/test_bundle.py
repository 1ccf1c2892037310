"""The bundles in the repository are what their sources make."""

import shutil
import subprocess

import pytest

from tests.site.browser import ROOT

from .conftest import BUNDLER, PLACES


@pytest.mark.skipif(shutil.which("node") is None, reason="bundling needs Node")
@pytest.mark.skipif(
    not (BUNDLER / "node_modules").exists(), reason="`make explorables` installs the bundler"
)
def test_the_bundles_are_what_the_sources_make(tmp_path):
    subprocess.run(["node", BUNDLER / "bundle.js", tmp_path], check=True)
    bundles = sorted(file.relative_to(tmp_path) for file in tmp_path.rglob("*.*"))
    assert {file.as_posix() for file in bundles} == {
        "explore/LICENSE-d3.txt",
        "explore/explorables.min.js",
        *(f"explore/{name}.min.js" for name in PLACES),
        "search/search.min.js",
    }
    explore = (ROOT / "book" / "_static" / "explore").glob("*.min.js")
    assert {f"explore/{file.name}" for file in explore} <= {file.as_posix() for file in bundles}
    for file in bundles:
        stored = ROOT / "book" / "_static" / file
        assert (tmp_path / file).read_bytes() == stored.read_bytes(), (
            "`make explorables` bundles the sources"
        )
