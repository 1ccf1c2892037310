"""Sphinx extension: no page outlives what it was made from.

Two things are remembered from one build to the next, and each overlooks something that this book
depends on:

* the execution cache knows a notebook by its own cells, and would show old outputs after a change
to ``sdpa_lib``;
* Sphinx's environment knows a page by its own file, and would neither copy a changed style sheet
nor repeat the warning that made
  the last build fail.

So the cache is dropped when what executed cells depend on has changed, and the environment is kept
only after a build that ended without a warning, from the same files. It works for a plain
``jupyter-book build .`` as for ``make book``.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

CELLS_DEPEND_ON = (
    "requirements.txt",
    "constraints.txt",
    "sdpa_lib",
    "book/claims.csv",
)
PAGES_DEPEND_ON = (*CELLS_DEPEND_ON, "book/_ext", "book/_static", "book/_theme")
# in the cache and beside the environment: the digest of what each was made from
MADE_FROM = "made_from.sha256"
MARKER = ".built"  # in the site: Sphinx came to its end; check_pages.py looks for it


def setup(app: Sphinx) -> dict[str, Any]:
    root = Path(app.srcdir)
    cells, pages = digest(root, CELLS_DEPEND_ON), digest(root, PAGES_DEPEND_ON)
    cache = Path(app.outdir).parent / ".jupyter_cache"
    environment = Path(app.doctreedir) / "environment.pickle"

    def begin(_app: Sphinx, _config: Config) -> None:
        if _read(cache / MADE_FROM) != cells:
            if cache.exists():
                shutil.rmtree(cache)
            _write(cache / MADE_FROM, cells)
        if _read(environment.with_name(MADE_FROM)) != pages:
            environment.unlink(missing_ok=True)
        # Absent while a build runs, so that an interrupted one is followed by one that reads every
        # page again.
        environment.with_name(MADE_FROM).unlink(missing_ok=True)

    def end(app: Sphinx, exception: Exception | None) -> None:
        if exception is None:
            _write(Path(app.outdir) / MARKER, "")
            if app._warncount == 0:
                _write(environment.with_name(MADE_FROM), pages)

    app.connect("config-inited", begin)
    app.connect("build-finished", end)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def digest(root: Path, names: tuple[str, ...]) -> str:
    """Of the files and folders ``names`` in ``root``, this Python, and the device asked for."""
    sha = hashlib.sha256(repr((sys.version_info[:2], os.environ.get("SDPA_DEVICE"))).encode())
    for name in names:
        for path in sorted([root / name, *(root / name).rglob("*")]):
            inside = path.relative_to(root)
            if path.is_file() and not any(
                part.startswith((".", "__pycache__")) for part in inside.parts
            ):
                sha.update(inside.as_posix().encode())
                sha.update(hashlib.sha256(path.read_bytes()).digest())
    return sha.hexdigest()


def _read(path: Path) -> str | None:
    return path.read_text() if path.exists() else None


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
