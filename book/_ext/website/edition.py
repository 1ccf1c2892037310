"""Sphinx extension: the site's edition, its addresses, and what a notebook needs that is run alone.

The option ``repository`` of ``html_context`` in ``_config.yml`` is the one setting, such as
https://github.com/OWNER/NAME. With it each page says where it stands, ``html_baseurl``, which is
that of GitHub Pages unless another one is set, and has a picture for previews of its link; mistakes
are reported at the repository; the site has a map for search engines; a page says, to who gathers
citations, how it is cited; and a notebook opens in Colab, from the branch ``gh-pages``, which holds
the built site. Without it no page says any of this.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import sdpa_lib
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ConfigError

GITHUB = "https://github.com/"
COLAB = "https://colab.research.google.com/github"
PREVIEW = "/_static/weights_by_rank.png"
MISSING = """\
try:
    import sdpa_book
except ModuleNotFoundError:
    {remedy}"""
# The wheel holds the library alone, so that the book's package needs a clone; and a kernel that has
# started finds what is installed from a folder only if it is told.
CLONE = """\
!git clone -q --depth 1 {repository} {folder}
    %pip install -q -e "{folder}[book]"
    import sys
    sys.path.insert(0, "{folder}")"""
SAY = """\
raise SystemExit(
        "This notebook needs the book's package: pip install -e 'PATH[book]',"
        " with PATH the cloned or unpacked repository."
    ) from None"""


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", place)
    app.connect("html-page-context", describe)
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def place(_app: Sphinx, config: Config) -> None:
    """Give the site its address, if only its repository is known."""
    repository = config.html_context.get("repository", "")
    if not repository or config.html_baseurl:
        return
    owner, _, name = repository.removeprefix(GITHUB).partition("/")
    if not repository.startswith(GITHUB) or not name or "/" in name:
        raise ConfigError(
            f"repository must be of the form {GITHUB}OWNER/NAME, or html_baseurl be set, got "
            f"{repository}"
        )
    config.html_baseurl = f"https://{owner}.github.io/{name}/"


def describe(
    app: Sphinx, name: str, _template: str, context: dict[str, Any], _tree: nodes.document | None
) -> None:
    """Give the page its version and, where a repository is known, its links there and to Colab."""
    context |= {"edition": sdpa_lib.__version__, "html_baseurl": app.config.html_baseurl}
    if repository := context.get("repository"):
        title = f"{name}, version {sdpa_lib.__version__}: "
        context["report_url"] = f"{repository}/issues/new?" + urlencode({"title": title})
        context["preview_url"] = app.config.html_baseurl.rstrip("/") + PREVIEW
        source = context.get("sourcename") or ""
        if repository.startswith(GITHUB) and source.endswith(".ipynb"):
            path = repository.removeprefix(GITHUB)
            context["colab_url"] = f"{COLAB}/{path}/blob/gh-pages/_sources/{source}"

    if app.config.html_baseurl and name in app.env.titles:
        context["citation"] = [
            ("title", app.env.titles[name].astext()),
            ("author", context["author"]),
            ("publication_date", app.config.copyright),
            ("inbook_title", context["docstitle"]),
            ("public_url", context["pageurl"]),
        ]


def finish(app: Sphinx, exception: Exception | None) -> None:
    if exception is None and app.builder.format == "html":
        prepare_downloads(app)
        if app.config.html_baseurl:
            write_map(app)


def prepare_downloads(app: Sphinx) -> None:
    """Let each notebook that the site offers begin with what it needs."""
    cell = first_cell(app.config.html_context.get("repository"))
    for path in Path(app.outdir, "_sources").rglob("*.ipynb"):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        if notebook["cells"][0].get("id") != cell["id"]:
            notebook["cells"].insert(0, cell)
            text = json.dumps(notebook, indent=1, ensure_ascii=False)
            path.write_text(text + "\n", encoding="utf-8")


def first_cell(repository: str | None) -> dict[str, Any]:
    """The cell that says what to install, or installs it, where the package is missing."""
    remedy = SAY
    if repository:
        remedy = CLONE.format(repository=repository, folder=repository.rpartition("/")[2])
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": "needs",
        "metadata": {},
        "outputs": [],
        "source": MISSING.format(remedy=remedy).splitlines(keepends=True),
    }


def write_map(app: Sphinx) -> None:
    base = app.config.html_baseurl.rstrip("/")
    pages = [f"{base}/{app.builder.get_target_uri(page)}" for page in sorted(app.env.found_docs)]
    urls = "".join(f"<url><loc>{escape(page)}</loc></url>\n" for page in pages)
    (Path(app.outdir) / "sitemap.xml").write_text(
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{urls}</urlset>\n',
        encoding="utf-8",
    )
