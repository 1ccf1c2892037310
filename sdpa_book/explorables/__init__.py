"""Figures that a reader can move: what they know of the library is measured, integrated and drawn
here, for a script that can't ask Python.

An explorable is a folder here, found by being here, with all that is its own:

- ``NAME.js``, the script, whose ``update`` draws;
- ``__init__.py`` with ``draw()``, which draws the picture for where no script runs, ``ALT``, what
  that shows, and ``data()``, if the script needs a table that no other explorable does: it finds
  what that returns as ``data.NAME``. The sliders take few values, so all that doesn't follow a drag
  is in such tables;
- ``NAME.css``, its two heights, and what else its style has of its own;
- ``test_NAME.py``, its own idea in a browser.

``_shared`` has the scripts and the style sheet of all, ``looks`` and ``live`` beside it what all
are for Python. ``make explorable NAME=...`` copies ``_template``.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

import sdpa_lib as sdpa
from sdpa_book.explorables import live, looks

FOLDER = Path(__file__).parent
SHARED = FOLDER / "_shared"
EXPLORABLES = tuple(
    sorted(path.name for path in FOLDER.iterdir() if (path / f"{path.name}.js").exists())
)


def explorable(name: str) -> Any:
    """The module of one of ``EXPLORABLES``."""
    return import_module(f"{__name__}.{name}")


def style(*names: str) -> str:
    """The style sheet of some explorables: what all share, and behind it each one's own."""
    sheets = [SHARED / "explorables.css", *(FOLDER / name / f"{name}.css" for name in names)]
    return "\n".join(sheet.read_text(encoding="utf-8") for sheet in sheets)


def movable(name: str) -> None:
    """Show one of ``EXPLORABLES``: in an open notebook to be moved, as on the site, and its picture
    where the notebook is run by a command.
    """
    if name not in EXPLORABLES:
        raise ValueError(f"name must be one of {', '.join(EXPLORABLES)}, got {name!r}")
    module = explorable(name)
    module.draw()
    if live.is_live():
        live.show_live(name, script(name), style(name), plt.gcf(), module.ALT)
    else:
        plt.show()


def script(name: str) -> str:
    """A classic script that adds to ``explorableData`` what the explorable ``name`` needs: pages
    must work from a folder, too, where no script may fetch.

    All have the colours of roles on the light ground and on the dark one, those of letters, and the
    rescalings in the book's order, with their looks. What the explorable's ``data`` gives stands
    under its name.
    """
    data: dict[str, object] = {
        "colours": {role: looks.on_both_grounds(color) for role, color in looks.COLOURS.items()},
        "letters": {role: looks.of_letters(color) for role, color in looks.COLOURS.items()},
        "rescalings": [{"name": name} | looks.look(name) for name in sdpa.RESCALINGS],
    }
    module = explorable(name)
    if hasattr(module, "data"):
        data[name] = module.data()
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"Object.assign(window.explorableData??={{}},{text});\n"


def rounded(x: float, digits: int = 4) -> float:
    """With more significant digits than are shown; a whole number without its point."""
    short = float(f"{x:.{digits}g}")
    return int(short) if short.is_integer() else short
