"""Sphinx extension: the site carries its own MathJax, so that formulas are set in a lecture hall without a network.

MathJax comes from the package sphinx-mathjax-offline. Of its 24 MB the site needs one file: the one that holds every TeX
extension and draws its letters itself, so that nothing is loaded later, neither scripts nor fonts.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

MATHJAX = "tex-svg-full.js"


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", use_own_mathjax)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def use_own_mathjax(_app: Sphinx, config: Config) -> None:
    spec = find_spec("sphinx-mathjax-offline")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("sphinx-mathjax-offline is not installed: run pip install -r requirements.txt")
    config.html_static_path.append(str(Path(spec.origin).parent / "static" / "mathjax" / MATHJAX))
    config.mathjax_path = MATHJAX
