"""Sphinx extension: no page outlives what it was made from.

jupyter-cache knows a notebook by its cells, and would show old outputs after a change to
``sdpa_lib``: so outputs are cached by what cells depend on, too. Sphinx knows a page by its file,
and would overlook a changed extension and not repeat the warning that failed the last build: so
every page is read and written anew, which takes seconds once its outputs are cached.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

CELLS_DEPEND_ON = ("requirements.txt", "constraints.txt", "sdpa_lib", "sdpa_book")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", begin)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def begin(app: Sphinx, config: Config) -> None:
    caches = Path(app.outdir).parent / ".jupyter_cache"
    config.nb_execution_cache_path = str(caches / digest(Path(app.srcdir)))
    (Path(app.doctreedir) / "environment.pickle").unlink(missing_ok=True)


def digest(root: Path) -> str:
    """Of what cells depend on in ``root``, this Python, and the device asked for."""
    sha = hashlib.sha256(repr((sys.version_info[:2], os.environ.get("SDPA_DEVICE"))).encode())
    for name in CELLS_DEPEND_ON:
        for path in sorted([root / name, *(root / name).rglob("*")]):
            inside = path.relative_to(root)
            if path.is_file() and not any(p.startswith((".", "__pycache__")) for p in inside.parts):
                sha.update(inside.as_posix().encode())
                sha.update(hashlib.sha256(path.read_bytes()).digest())
    return sha.hexdigest()[:16]
