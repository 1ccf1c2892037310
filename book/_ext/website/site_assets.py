"""Sphinx extension: a page loads what the theme's templates name, and nothing else.

Sphinx and packages that make the book bring scripts and styles of their own. Those in ``LEFT_OUT``
are not loaded, and are removed from the site. Whatever else asks to be loaded, or lies among the
static files and is none of ours, fails the build: somebody has to decide.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.util import logging

LEFT_OUT = re.compile(
    r"(basic|pygments|pygments_dark|mystnb\.[0-9a-f]+)\.css|(file|minus|plus)\.png"
    r"|(doctools|documentation_options|language_data|searchtools|sphinx_highlight)\.js"
)

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", forget)
    app.connect("html-page-context", check_page, priority=900)  # after all who add to a page
    app.connect("build-finished", check_files, priority=900)  # after all who add a file
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def forget(app: Sphinx) -> None:
    """What an earlier build left there is reported by nobody, and goes."""
    shutil.rmtree(Path(app.outdir) / "_static", ignore_errors=True)


def check_page(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: object
) -> None:
    """Warn of what is to be loaded, and will not be."""
    assert isinstance(app.builder, StandaloneHTMLBuilder)
    of_the_theme = app.builder.theme.stylesheets
    for asset in (*context["css_files"], *context["script_files"]):
        name = str(asset.filename).removeprefix("_static/")
        if name not in of_the_theme and not LEFT_OUT.fullmatch(name):
            logger.warning(
                "%s is to be loaded, and the theme doesn't: put it into the theme's layout.html, "
                "or into LEFT_OUT of site_assets.py",
                asset.filename,
                location=page,
            )


def check_files(app: Sphinx, exception: Exception | None) -> None:
    """Remove the files left out; warn of those that nobody here put there."""
    if exception is not None or not isinstance(app.builder, StandaloneHTMLBuilder):
        return
    static = Path(app.outdir) / "_static"
    own_theme, *_ = app.builder.theme.get_theme_dirs()
    ours = [Path(own_theme, "static"), *map(app.confdir.joinpath, app.config.html_static_path)]
    for file in sorted(path for path in static.rglob("*") if path.is_file()):
        name = file.relative_to(static).as_posix()
        if any((folder / name).is_file() for folder in ours):
            continue
        if LEFT_OUT.fullmatch(name):
            file.unlink()
        else:
            logger.warning(
                "_static/%s is from neither the theme nor html_static_path: "
                "if no page needs it, put it into LEFT_OUT of site_assets.py",
                name,
            )
