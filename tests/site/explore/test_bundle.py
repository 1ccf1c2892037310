"""The bundle in the repository is what its sources make."""

import shutil
import subprocess

import pytest
from conftest import ROOT

from .conftest import SOURCES


@pytest.mark.skipif(shutil.which("node") is None, reason="bundling needs Node")
@pytest.mark.skipif(
    not (SOURCES / "node_modules").exists(), reason="`make explorables` installs the bundler"
)
def test_the_bundle_is_what_the_sources_make(tmp_path):
    subprocess.run(["node", SOURCES / "bundle.js", tmp_path], check=True)
    made = sorted(tmp_path.iterdir())
    assert [file.name for file in made] == ["LICENSE-d3.txt", "explorables.min.js"]
    for file in made:
        stored = ROOT / "book" / "_static" / "explore" / file.name
        assert file.read_bytes() == stored.read_bytes(), "`make explorables` bundles the sources"
