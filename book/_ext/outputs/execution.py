"""Sphinx extension: a page shows the outputs that its notebook stores where these are known to be
its own (``freshness``). What is not known is executed, two notebooks at a time.

MyST-NB executes a notebook when it reads its page, and so one after the other. Before the first
page is read the outputs of those that are not known are put where it looks for them first, in
jupyter-cache, in a folder named by all that they depend on: jupyter-cache knows a notebook by its
cells, and would show old outputs after a change to ``sdpa_lib``. A notebook in which a cell raises
is left to MyST-NB, which executes it again and reports what was raised.

With ``FRESH`` in the environment every notebook is executed, and where a device is asked for, by
``SDPA_DEVICE``: the site then shows what this machine computes.

Sphinx knows a page by its file, and would overlook a changed extension and not repeat the warning
that failed the last build: so every page is read and written anew.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import nbformat
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from outputs.freshness import is_known, of_inputs
from outputs.narrow import folder_of, join

KERNELS = 2  # at a time, each of which takes a core and half a gigabyte

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", forget_pages)
    app.connect("env-before-read-docs", execute_unknown)
    app.connect("source-read", choose_outputs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def forget_pages(app: Sphinx, _config: Config) -> None:
    (Path(app.doctreedir) / "environment.pickle").unlink(missing_ok=True)


def execute_unknown(app: Sphinx, env: BuildEnvironment, names: list[str]) -> None:
    """Execute what neither the notebooks nor the caches of earlier builds know."""
    if app.config.nb_execution_mode != "cache":
        return
    paths = [Path(env.doc2path(name)) for name in names]
    unknown = []
    for path in paths:
        if path.suffix == ".ipynb" and not shows_stored(app, path):
            if is_fresh():
                shutil.rmtree(cache_of(app, path), ignore_errors=True)
            try:
                get_cache(str(cache_of(app, path))).match_cache_notebook(read(path))
            except KeyError:
                unknown.append(path)

    def keep(path: Path, notebook: Any) -> None:
        get_cache(str(cache_of(app, path))).cache_notebook_bundle(
            CacheBundleIn(notebook, str(path)), check_validity=False, overwrite=True
        )

    # The longest are the last of the book: they begin first, so that none runs on alone.
    unknown.sort(reverse=True)
    asyncio.run(
        execute(
            unknown,
            begin=lambda path: logger.info("executing %s", path.name),
            done=keep,
            failed=lambda path, _cell, _error: logger.info("a cell of %s raised", path.name),
            timeout=app.config.nb_execution_timeout,
        )
    )


def choose_outputs(app: Sphinx, name: str, source: list[str]) -> None:
    """Have MyST-NB take for the page that is read next the stored outputs, with the drawings for
    narrow screens, or look for outputs in the cache of its own.
    """
    path = Path(app.env.doc2path(name))
    if path.suffix != ".ipynb":
        return
    settings: Any = app.env
    if shows_stored(app, path):
        notebook = read(path)
        join(notebook, folder_of(path, Path(app.srcdir) / "book"))
        source[0] = nbformat.writes(notebook)
        settings.mystnb_config = settings.mystnb_config.copy(execution_mode="off")
    else:
        settings.mystnb_config = settings.mystnb_config.copy(
            execution_mode=app.config.nb_execution_mode,
            execution_cache_path=str(cache_of(app, path)),
        )


def shows_stored(app: Sphinx, path: Path) -> bool:
    """Whether the page of a notebook shows its stored outputs."""
    return not is_fresh() and is_known(Path(app.srcdir), path)


def is_fresh() -> bool:
    """Whether every notebook is to be executed."""
    return bool(os.environ.get("FRESH") or os.environ.get("SDPA_DEVICE"))


def cache_of(app: Sphinx, path: Path) -> Path:
    """The folder of the outputs of a notebook that was executed with what it depends on now."""
    return Path(app.outdir).parent / ".jupyter_cache" / of_inputs(Path(app.srcdir), path)


async def execute(
    paths: Iterable[Path],
    *,
    begin: Callable[[Path], None],
    done: Callable[[Path, Any], None],
    failed: Callable[[Path, int, Exception], None],
    timeout: int,
) -> None:
    """Execute notebooks, two at a time.

    Args:
        paths: the notebooks, which stay as they are.
        begin: is told of each when it begins.
        done: is given each that was executed, with its outputs.
        failed: is given each that was not, the number of the cell, and what was raised.
        timeout: seconds for a cell.
    """
    kernels = asyncio.Semaphore(KERNELS)

    async def execute_one(path: Path) -> None:
        async with kernels:
            begin(path)
            for last_try in (False, True):
                started: list[int] = []
                notebook = read(path)
                try:
                    await client(notebook, path, started, timeout).async_execute()
                except (CellExecutionError, CellTimeoutError, RuntimeError) as error:
                    # Two kernels that start at a time may take the same port, and one dies of it.
                    if started or last_try:
                        failed(path, (started or [-1])[-1], error)
                        return
                else:
                    done(path, notebook)
                    return

    async with asyncio.TaskGroup() as tasks:
        for path in paths:
            tasks.create_task(execute_one(path))


def client(notebook: Any, path: Path, started: list[int], timeout: int) -> NotebookClient:
    """What executes a notebook, and notes the cells that have begun."""
    return NotebookClient(
        notebook,
        timeout=timeout,
        record_timing=False,
        coalesce_streams=True,  # what a cell prints is one output, in however many pieces it came
        resources={"metadata": {"path": str(path.parent)}},
        extra_arguments=["--log-level=ERROR"],  # no word from each kernel about its transport
        on_cell_start=lambda cell, cell_index: started.append(cell_index),
    )


def read(path: Path) -> Any:
    return nbformat.read(path, nbformat.NO_CONVERT)
