"""What the explorables know of the library, measured, integrated and drawn here, for a script that
can't ask Python.

An explorable is a module here, ``NAME_explorable``, found by being here, and a script of its name
in ``book/_explore/src``. The module has

- ``draw()``, which draws the picture for where no script runs, and ``ALT``, what that shows;
- ``data()``, if it needs a table that no other explorable does: the script finds what it returns as
  ``data.NAME``. The sliders take few values, so all that doesn't follow a drag is in such tables.

A new one is copied from ``template.py`` beside them and ``book/_explore/template.js``.
"""

from __future__ import annotations

import json
import pkgutil
from importlib import import_module
from typing import Any

import matplotlib.pyplot as plt

import sdpa_lib as sdpa
from sdpa_book.explorables import live, looks

SUFFIX = "_explorable"
EXPLORABLES = tuple(
    m.name.removesuffix(SUFFIX) for m in pkgutil.iter_modules(__path__) if m.name.endswith(SUFFIX)
)


def explorable(name: str) -> Any:
    """The module of one of ``EXPLORABLES``."""
    return import_module(f"{__name__}.{name}{SUFFIX}")


def movable(name: str) -> None:
    """Show one of ``EXPLORABLES``: in an open notebook to be moved, as on the site, and its picture
    where the notebook is run by a command.
    """
    if name not in EXPLORABLES:
        raise ValueError(f"name must be one of {', '.join(EXPLORABLES)}, got {name!r}")
    module = explorable(name)
    module.draw()
    if live.is_live():
        live.show_live(name, script(name), plt.gcf(), module.ALT)
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
