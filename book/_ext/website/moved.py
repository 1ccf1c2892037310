"""Sphinx extension: an address that a page had once leads to the page.

``moved`` in ``_config.yml`` has, by each folder that pages were in, the one in which they are now.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("moved", {}, "html", dict)
    app.connect("html-collect-pages", old_addresses)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def old_addresses(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """At each old address a page that leads on, to the same place of the page."""
    if app.builder.name != "html":
        return
    for before, now in app.config.moved.items():
        for page in sorted(app.env.found_docs):
            if page.startswith(f"{now}/"):
                old = f"{before}/{page.removeprefix(f'{now}/')}"
                title = app.env.titles[page].astext()
                to = app.builder.get_relative_uri(old, page)
                yield old, {"title": title, "to": to}, "moved.html"
