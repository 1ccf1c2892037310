"""Sphinx extension: a site with an address, ``html_baseurl``, has a map for search engines."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("build-finished", write_map)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_map(app: Sphinx, exception: Exception | None) -> None:
    if exception is not None or app.builder.format != "html" or not app.config.html_baseurl:
        return
    base = app.config.html_baseurl.rstrip("/")
    pages = [f"{base}/{app.builder.get_target_uri(page)}" for page in sorted(app.env.found_docs)]
    urls = "".join(f"<url><loc>{escape(page)}</loc></url>\n" for page in pages)
    (Path(app.outdir) / "sitemap.xml").write_text(
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{urls}</urlset>\n',
        encoding="utf-8",
    )
