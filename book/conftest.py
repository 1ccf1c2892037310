"""nbval compares a figure's description, and not the drawing."""

import os
from typing import Any

import pytest

from sdpa_book.drawing.svg import WORDS_ALONE

os.environ[WORDS_ALONE] = "1"  # for the kernels, which the tests start


def pytest_collectstart(collector: pytest.Collector) -> None:
    notebook: Any = collector
    if hasattr(notebook, "skip_compare"):
        notebook.skip_compare += ("image/svg+xml",)


# As a module of doctests it would have the name of the one in tests.
collect_ignore = ["conftest.py"]
