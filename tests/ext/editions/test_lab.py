"""What `make lab` shows of a notebook, and what it writes."""

import asyncio
import shutil

import pytest
from ipykernel.ipkernel import IPythonKernel
from outputs import stored
from traitlets.config import Config

pytestmark = pytest.mark.tools


def test_a_chapter_that_is_opened_and_saved_is_as_it_was(tmp_path):
    from editions.lab import Notebooks

    shutil.copy(stored.path_of("00"), tmp_path / "chapter.ipynb")
    before = (tmp_path / "chapter.ipynb").read_bytes()
    # The signatures of trusted notebooks would be those of this user.
    settings = Config(NotebookNotary={"data_dir": str(tmp_path), "db_file": ":memory:"})
    files = Notebooks(root_dir=str(tmp_path), config=settings)
    model = asyncio.run(files.get("chapter.ipynb"))
    # JupyterLab changes a notebook where it lacks any of this.
    assert model["content"]["metadata"]["language_info"] == IPythonKernel.language_info
    assert asyncio.run(files.get("chapter.ipynb", content=False))["content"] is None
    asyncio.run(files.save(model, "chapter.ipynb"))
    assert (tmp_path / "chapter.ipynb").read_bytes() == before


def test_a_file_that_is_no_notebook_is_itself(tmp_path):
    from editions.lab import Notebooks

    (tmp_path / "a.txt").write_text("a")
    assert asyncio.run(Notebooks(root_dir=str(tmp_path)).get("a.txt"))["content"] == "a"
