"""The site's extensions on a site of one or two pages, built in this process."""

import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils


@dataclass
class Built:
    """What a build left: the folder of the site, and its warnings."""

    folder: Path
    warnings: str

    def page(self, name: str = "index") -> BeautifulSoup:
        return BeautifulSoup((self.folder / f"{name}.html").read_text("utf-8"), "html.parser")


Build = Callable[..., Built]
EXTENSIONS = Path(__file__).parents[2] / "book" / "_ext"
FLOORS = {path.stem: f"{path.parent.name}.{path.stem}" for path in EXTENSIONS.glob("*/*.py")}
"""The whole name of each extension by its own."""


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """A function that builds pages, by name and text in MyST, with one extension and any settings
    of Sphinx.
    """

    def build_site(pages: dict[str, str], *extensions: str, **settings: Any) -> Built:
        source, warned = tmp_path / "source", io.StringIO()
        source.mkdir(exist_ok=True)
        for name, text in pages.items():
            file = source / f"{name}.md"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"---\norphan: true\n---\n{text}", encoding="utf-8")
        extensions = tuple(FLOORS.get(name, name) for name in extensions)
        settings = {
            # MyST-NB brings the parser with it
            "extensions": [*([] if "myst_nb" in extensions else ["myst_parser"]), *extensions],
            "html_theme": "basic",
            "html_context": {"description": "A site for a test."},
            **settings,
        }
        with (
            warnings.catch_warnings(action="ignore"),  # of Sphinx's own packages
            patch_docutils(),
            docutils_namespace(),
        ):
            folder = tmp_path / "site"
            app = Sphinx(
                source, None, folder, tmp_path / "doctrees", "html", settings, None, warned
            )
            app.build()
        return Built(folder, warned.getvalue())

    return build_site
