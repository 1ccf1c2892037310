"""Sphinx extension: chapters whose outputs are not known are executed two at a time.

MyST-NB executes a notebook when it reads its page, and so one after the other. Before the first
page is read the outputs are put where it looks for them first, in jupyter-cache. A notebook in
which a cell raises, or whose kernel does not start since another program took its port, is left to
it: it executes that one again, and reports what was raised.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from freshness import cache_of

KERNELS = 2  # at a time, each of which takes a core and half a gigabyte

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("env-before-read-docs", execute_unknown)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def execute_unknown(app: Sphinx, env: BuildEnvironment, names: list[str]) -> None:
    if app.config.nb_execution_mode == "cache":
        paths = (Path(env.doc2path(name)) for name in names)
        caches = {path: cache_of(app, path) for path in paths if path.suffix == ".ipynb"}
        asyncio.run(execute(caches, app.config.nb_execution_timeout))


async def execute(caches: Mapping[Path, Path], timeout: int) -> None:
    """Execute the notebooks that their caches don't know, and let these know them."""
    kernels = asyncio.Semaphore(KERNELS)

    async def execute_one(path: Path, notebook: Any) -> None:
        async with kernels:
            logger.info("executing %s", path.name)
            client = NotebookClient(
                notebook,
                timeout=timeout,
                record_timing=False,
                resources={"metadata": {"path": str(path.parent)}},
            )
            try:
                await client.async_execute()
            except (CellExecutionError, CellTimeoutError, RuntimeError):
                return
            get_cache(str(caches[path])).cache_notebook_bundle(
                CacheBundleIn(notebook, str(path)), check_validity=False, overwrite=True
            )

    async with asyncio.TaskGroup() as tasks:
        # The longest are the last of the book: they begin first, so that none runs on alone.
        for path in sorted(caches, reverse=True):
            notebook = nbformat.read(path, nbformat.NO_CONVERT)
            try:
                get_cache(str(caches[path])).match_cache_notebook(notebook)
            except KeyError:
                tasks.create_task(execute_one(path, notebook))
