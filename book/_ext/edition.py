"""Sphinx extension: which edition a page is of, where its mistakes are reported, and what its
notebook needs where it is run alone.

The address of the repository is the option ``repository`` of ``html_context`` in ``_config.yml``,
of the form https://github.com/OWNER/NAME. Without one no page links to it. Colab opens notebooks
from a repository: those of the built site, which install what they need, from the branch
``published``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import sdpa_lib
from docutils import nodes
from sphinx.application import Sphinx

COLAB = "https://colab.research.google.com/github"
MISSING = """\
try:
    import sdpa_book
except ModuleNotFoundError:
    {remedy}"""


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("html-page-context", describe)
    app.connect("build-finished", prepare_downloads)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def describe(
    _app: Sphinx, name: str, _template: str, context: dict[str, Any], _tree: nodes.document | None
) -> None:
    """Give the page its version and, where a repository is known, its links there and to Colab."""
    context["edition"] = sdpa_lib.__version__
    if repository := context.get("repository"):
        title = f"{name}, version {sdpa_lib.__version__}: "
        context["report_url"] = f"{repository}/issues/new?" + urlencode({"title": title})
        source = context.get("sourcename") or ""
        if (branch := context.get("published")) and source.endswith(".ipynb"):
            path = repository.removeprefix("https://github.com/")
            context["colab_url"] = f"{COLAB}/{path}/blob/{branch}/_sources/{source}"


def prepare_downloads(app: Sphinx, exception: Exception | None) -> None:
    """Let each notebook that the site offers begin with what it needs."""
    sources = Path(app.outdir, "_sources")
    if exception is not None or not sources.is_dir():
        return
    repository = app.config.html_context.get("repository")
    for path in sources.rglob("*.ipynb"):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        cell = first_cell(repository)
        if notebook["cells"][0].get("id") != cell["id"]:
            notebook["cells"].insert(0, cell)
            text = json.dumps(notebook, indent=1, ensure_ascii=False)
            path.write_text(text + "\n", encoding="utf-8")


def first_cell(repository: str | None) -> dict[str, Any]:
    """The cell that says what to install, or installs it, where the package is missing."""
    if repository:
        remedy = f'%pip install -q "sdpa-lib[book] @ git+{repository}"'
    else:
        remedy = (
            "raise SystemExit(\n"
            "        \"This notebook needs the book's package: pip install -e 'PATH[book]',\"\n"
            '        " with PATH the cloned or unpacked repository."\n'
            "    ) from None"
        )
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": "needs",
        "metadata": {},
        "outputs": [],
        "source": MISSING.format(remedy=remedy).splitlines(keepends=True),
    }
