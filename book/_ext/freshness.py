"""Sphinx extension: no page outlives what it was made from.

Two things are remembered from one build to the next, and each forgets something that this book depends on:

* the execution cache knows a notebook by its own cells, and would show old outputs after a change to ``sdpa_lib``;
* Sphinx's environment knows a page as read, and would not repeat the warning that made the last build fail.

So the cache is dropped when what all notebooks depend on has changed, and the environment is kept only after a build that ended
without a warning on the same inputs. It works for a plain ``jupyter-book build .`` as for ``make book``.
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

MARKER = ".built"  # in the site: Sphinx came to its end; check_pages.py looks for it
INPUTS = "inputs.sha256"  # in the cache and beside the environment: the inputs that each was made from


def setup(app: Sphinx) -> dict[str, Any]:
    inputs = inputs_digest(Path(app.srcdir))
    cache = Path(app.outdir).parent / ".jupyter_cache"
    cache_inputs = cache / INPUTS
    environment = Path(app.doctreedir) / "environment.pickle"
    environment_inputs = Path(app.doctreedir) / INPUTS

    def begin(_app: Sphinx, _config: Config) -> None:
        if _read(cache_inputs) != inputs:
            if cache.exists():
                shutil.rmtree(cache)
            _write(cache_inputs, inputs)
        if _read(environment_inputs) != inputs:
            environment.unlink(missing_ok=True)
        # Absent while the build runs: an interrupted one is followed by one that reads every page again.
        environment_inputs.unlink(missing_ok=True)

    def end(app: Sphinx, exception: Exception | None) -> None:
        if exception is None:
            _write(Path(app.outdir) / MARKER, "")
            if app._warncount == 0:
                _write(environment_inputs, inputs)

    app.connect("config-inited", begin)
    app.connect("build-finished", end)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def inputs_digest(root: Path) -> str:
    """What every executed cell depends on besides its own code: the library, the pins, Python and the device asked for."""
    digest = hashlib.sha256(repr((sys.version_info[:2], os.environ.get("SDPA_DEVICE"))).encode())
    for path in [root / "requirements.txt", root / "constraints.txt", *sorted((root / "sdpa_lib").rglob("*"))]:
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(path.relative_to(root).as_posix().encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _read(path: Path) -> str | None:
    return path.read_text() if path.exists() else None


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
