"""A figure to move within a notebook: a document of its own, with all that it needs, for a frame.

It asks nobody for anything: the scripts are those of the site, ``book/_static/explore`` of the
repository, and lie with the style sheet within the document.
"""

from __future__ import annotations

import base64
import io
import os
import sys
from html import escape
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

STATIC = Path(__file__).parents[2] / "book" / "_static" / "explore"

PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<style>
{style}
body {{ margin: 0; font-family: system-ui, sans-serif }}
figure.explorable {{ margin: 0 }}
</style>
<script>
const lab = parent.document.body?.dataset.jpThemeLight;
if (lab) document.documentElement.dataset.theme = lab === "false" ? "dark" : "light";
</script>
<body>
<figure class="explorable" data-explorable="{name}"></figure>
<script>
{scripts}
Explorables.start(document.querySelector("figure"));
new ResizeObserver(() => {{
  frameElement.style.height = `${{document.querySelector("figure").offsetHeight}}px`;
}}).observe(document.querySelector("figure"));
</script>
"""


def is_live() -> bool:
    """Whether somebody looks at what this kernel puts out, and may move it: a notebook that is open
    in JupyterLab, VS Code or Colab, and none that is run from a command, by a test or the build.
    """
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    in_code = shell is not None and "__vsc_ipynb_file__" in shell.user_ns
    return in_code or "google.colab" in sys.modules or "JPY_SESSION_NAME" in os.environ


def document(name: str, script: str, style: str) -> str:
    """The page of an explorable, with its own data, ``script``, and code behind the shared ones.

    Raises:
        FileNotFoundError: the package stands alone, without the repository's ``book``.
    """
    files = [STATIC / f"{bundle}.min.js" for bundle in ("explorables", name)]
    code = [script, *(file.read_text(encoding="utf-8") for file in files)]
    return PAGE.format(
        name=name,
        style=style,
        scripts="\n".join(code).replace("</script", "<\\/script"),
    )


def show_live(name: str, script: str, style: str, picture: Figure, alt: str) -> None:
    """Put the figure out, with its picture for where no script may run."""
    from IPython.display import display

    page = escape(document(name, script, style))
    frame = (
        f'<iframe srcdoc="{page}" title="{escape(alt)}" '
        'style="width: 100%; max-width: 704px; height: 560px; border: 0"></iframe>'
    )
    png = io.BytesIO()
    picture.savefig(png, format="png", dpi=100, bbox_inches="tight")
    plt.close(picture)
    bundle = {
        "text/html": frame,
        "image/png": base64.b64encode(png.getvalue()).decode(),
        "text/plain": alt,
    }
    display(bundle, raw=True)  # type: ignore[no-untyped-call]
