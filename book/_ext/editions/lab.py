"""Open JupyterLab so that a chapter which was only looked at counts as unchanged.

JupyterLab marks a notebook as changed, and two minutes later writes it, where the kernel says
anything of itself that the notebook does not. Stored notebooks say all of it but the version of
Python, which is not the same for everyone: here a notebook has it while it is open.
"""

from __future__ import annotations

import sys
from typing import Any

from ipykernel.ipkernel import IPythonKernel
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from jupyterlab.labapp import LabApp


class Notebooks(AsyncLargeFileManager):
    """The files of the folder that JupyterLab shows."""

    async def get(self, path: str, *arguments: Any, **options: Any) -> dict[str, Any]:
        files: Any = super()  # jupyter_server's functions have no types
        model: dict[str, Any] = await files.get(path, *arguments, **options)
        language = of_language(model)
        if language.get("name") == IPythonKernel.language_info["name"]:
            language.setdefault("version", IPythonKernel.language_info["version"])
        return model

    async def save(self, model: dict[str, Any], path: str = "") -> dict[str, Any]:
        files: Any = super()
        of_language(model).pop("version", None)
        saved: dict[str, Any] = await files.save(model, path)
        return saved


def of_language(model: dict[str, Any]) -> dict[str, Any]:
    """What a notebook says of its language; nothing where a file is no notebook or not loaded."""
    if model.get("type") != "notebook" or not model.get("content"):
        return {}
    language: dict[str, Any] = model["content"]["metadata"].get("language_info", {})
    return language


if __name__ == "__main__":
    LabApp.launch_instance(
        [*sys.argv[1:], f"--ServerApp.contents_manager_class={__name__}.{Notebooks.__name__}"]
    )
