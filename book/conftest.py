"""nbval compares a figure's description, and not the drawing, and a table's
plain text before its HTML. Of a cell that fails it says where that stands.
"""

import os
import re
from typing import Any

import pytest
from forked_kernels import launch
from jupyter_client.provisioning import local_provisioner

from sdpa_book.drawing.svg import WORDS_ALONE

os.environ[WORDS_ALONE] = "1"  # for the kernels, which the tests start
local_provisioner.launch_kernel = launch


def pytest_collectstart(collector: pytest.Collector) -> None:
    notebook: Any = collector
    if hasattr(notebook, "skip_compare"):
        notebook.skip_compare += ("image/svg+xml",)


def pytest_itemcollected(item: pytest.Item) -> None:
    cell: Any = item
    if hasattr(cell.parent, "skip_compare"):
        compare, explain = cell.compare_outputs, cell.repr_failure
        cell.compare_outputs = lambda test, ref: compare(
            *map(plain_first, (test, ref))
        )
        cell.repr_failure = lambda failure: (
            f"{whereabouts(cell)}\n{explain(failure)}"
        )


def plain_first(outputs: list[Any]) -> list[Any]:
    """The outputs, of each its plain text before all else and its HTML last:
    of what differs nbval shows the first alone.
    """
    place = {"text/plain": 0, "text/html": 2}
    for output in outputs:
        if "data" in output:
            kinds = sorted(output["data"], key=lambda kind: place.get(kind, 1))
            output["data"] = {kind: output["data"][kind] for kind in kinds}
    return outputs


def whereabouts(item: Any) -> str:
    """The cell by its notebook, its id and the nearest heading above it."""
    cells = item.parent.nb.cells
    above = cells[: cells.index(item.cell)]
    text = "\n".join(x.source for x in above if x.cell_type == "markdown")
    headings = re.findall(r"^#+ +(.*\S)", text, re.M) or ["no heading"]
    return f"{item.path.name}, cell {item.cell.id}, below “{headings[-1]}”"


# As a module of doctests it would have the name of the one in tests.
collect_ignore = ["conftest.py"]
