import pytest


@pytest.fixture
def settings(tmp_path):
    """A theme of one style, and a folder of the author's."""
    static = tmp_path / "themes" / "plain" / "static"
    static.mkdir(parents=True)
    (static / "plain.css").write_text("p {}")
    (static.parent / "theme.toml").write_text(
        '[theme]\ninherit = "basic"\nstylesheets = ["plain.css"]\n'
    )
    (tmp_path / "source" / "own" / "deep").mkdir(parents=True)
    (tmp_path / "source" / "own" / "deep" / "drawing.svg").write_text("<svg/>")
    return {
        "html_theme": "plain",
        "html_theme_path": [str(tmp_path / "themes")],
        "html_static_path": ["own"],
    }


def test_known_files_go_and_those_of_theme_and_author_stay(build, settings):
    site = build({"index": "# A"}, "site_assets", **settings)
    static = site.folder / "_static"
    assert sorted(p.relative_to(static).as_posix() for p in static.rglob("*") if p.is_file()) == [
        "deep/drawing.svg",
        "plain.css",
    ]
    assert site.warnings == ""


PACKAGE = """
from pathlib import Path

def setup(app):
    app.add_css_file("package.css")
    app.add_js_file("https://example.org/package.js")
    app.connect("build-finished", copy)

def copy(app, _exception):
    (Path(app.outdir) / "_static" / "package.css").touch()
"""


def test_what_a_package_adds_is_reported_and_stays(build, settings, tmp_path, monkeypatch):
    (tmp_path / "a_package.py").write_text(PACKAGE)
    monkeypatch.syspath_prepend(tmp_path)
    site = build({"index": "# A"}, "a_package", "site_assets", **settings)
    for asset in ("_static/package.css", "https://example.org/package.js"):
        assert f"WARNING: {asset} is to be loaded, and the theme doesn't" in site.warnings
    assert "WARNING: _static/package.css is from neither the theme nor" in site.warnings
    assert (site.folder / "_static" / "package.css").exists()
