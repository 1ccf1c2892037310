"""The lecture: slides that Sphinx and reveal.js make of ``index.md`` when the book is built."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "book" / "_ext"))

project = "Why divide by √d_k? A lecture"
language = "en"
extensions = ["myst_parser", "sphinx_revealjs", "cells.mathml", "cells.headings", "editions.slides"]
myst_all_links_external = True  # to pages of the book
myst_enable_extensions = ["amsmath", "dollarmath"]
html_copy_source = False
html_favicon = "../book/_theme/sdpa/static/favicon.svg"
html_math_renderer = "mathml"
# Of reveal.js what the slides load; and lab.md is for the notebooks of the lab.
exclude_patterns = ["lab.md", "revealjs/css", "revealjs/plugin/[!n]*", "revealjs/dist/theme"]
exclude_patterns += ["**/*.map", "**/*.esm.js", "**/reset.css", "**/plugin.js", "**/*.html"]

lecture_minutes = 90
revealjs_html_theme = "revealjs-simple"
revealjs_style_theme = "lecture.css"
revealjs_static_path = ["static"]
revealjs_css_files = ["../../_static/formula_font.css"]  # the site's own
revealjs_use_section_ids = True
revealjs_script_plugins = [{"name": "RevealNotes", "src": "revealjs/plugin/notes/notes.js"}]
revealjs_script_conf = {
    "width": 1280,
    "height": 720,
    "margin": 0,
    "center": False,
    "display": "flex",
    "hash": True,
    "navigationMode": "linear",  # a part is a column of the overview
    "pdfSeparateFragments": False,
    "slideNumber": "c/t",
    "transition": "none",
    "scrollActivationWidth": 500,  # on a phone the slides stand one below the other
    "scrollLayout": "compact",
    "scrollSnap": False,
}
