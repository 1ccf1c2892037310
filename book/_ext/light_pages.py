"""Sphinx extension: what a page is besides its text, and nothing that it doesn't need.

Packages that make the book add style sheets and scripts of their own to every page; the theme has
what the book uses, so they are left out. Figures become small files of known size that load when
they are scrolled to, folded admonitions become ``<details>``, wide tables scroll inside themselves,
and each page gets its description, and a site with an address its map.
"""

from __future__ import annotations

import base64
import re
import shutil
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from docutils import nodes
from PIL import Image
from sphinx.application import Sphinx

OF_THE_SITE = {
    "documentation_options.js",
    "doctools.js",
    "searchtools.js",
    "language_data.js",
    "sphinx_highlight.js",
}  # what search needs
FIGURE = re.compile(r'<img(?P<before>[^>]*?) src="(?P<source>[^"]+\.png)"(?P<after>[^>]*?)\s*/?>')


NO_ROLE = re.compile(
    r' role="(?:doc-biblioentry|list)"'
)  # bibliographies have them where they are not allowed


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-skip-member", skip_fields)
    app.connect("doctree-resolved", fold_and_wrap)
    app.connect("html-page-context", describe, priority=900)
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def skip_fields(
    _app: Sphinx, _what: str, _name: str, member: object, skip: bool, _options: object
) -> bool:
    """The fields of a named tuple are in its docstring; "Alias for field number 0" tells nobody
    anything.
    """
    return skip or type(member).__name__ == "_tuplegetter"


def fold_and_wrap(app: Sphinx, doctree: nodes.document, _page: str) -> None:
    if app.builder.format != "html":
        return
    for admonition in [
        node for node in doctree.findall(nodes.admonition) if "dropdown" in node["classes"]
    ]:
        title, *rest = admonition.children
        before = raw(f'<details class="solution"><summary>{escape(title.astext())}</summary>')
        admonition.parent.replace(admonition, [before, *rest, raw("</details>")])
    for table in list(doctree.findall(nodes.table)):
        table.parent.replace(table, [raw('<div class="table-wrap">'), table, raw("</div>")])


def raw(html: str) -> nodes.raw:
    return nodes.raw("", html, format="html")


def describe(
    app: Sphinx, _page: str, _template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """The page's description; no scripts and styles of others."""
    context["css_files"], context["script_files"] = [], []
    paragraphs = (
        []
        if doctree is None
        else [re.sub(r"\s+", " ", p.astext()).strip() for p in doctree.findall(nodes.paragraph)]
    )
    context["page_description"] = shorten(
        next((p for p in paragraphs if len(p) > 60), app.config.html_context["description"])
    )


def shorten(text: str, length: int = 160) -> str:
    return text if len(text) <= length else text[:length].rsplit(" ", 1)[0] + " …"


def finish(app: Sphinx, exception: Exception | None) -> None:
    if exception is not None or app.builder.format != "html":
        return
    site = Path(app.outdir)
    shrink_figures(site)
    embed_font(site / "_static")
    for file in (site / "_static").glob("*.*"):
        theme = Path(app.srcdir) / "book/_theme/sdpa/static" / file.name
        if (
            file.name not in OF_THE_SITE
            and not theme.exists()
            and not (Path(app.srcdir) / "book/_static" / file.name).exists()
        ):
            file.unlink()
    for folder in ("scripts", "styles", "vendor", "design-tabs", "images"):
        shutil.rmtree(site / "_static" / folder, ignore_errors=True)
    if app.config.html_baseurl:
        base = app.config.html_baseurl.rstrip("/")
        pages = sorted(app.env.found_docs)
        urls = "".join(f"<url><loc>{escape(f'{base}/{page}.html')}</loc></url>" for page in pages)
        sitemap = f'<?xml version="1.0" encoding="utf-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'
        (site / "sitemap.xml").write_text(sitemap, encoding="utf-8")


def embed_font(static: Path) -> None:
    """The font of the formulas goes into the style sheet: it is there with the first line of a
    page, and nothing moves later.
    """
    style, font = static / "site.css", static / "fonts" / "stix-two-math.woff"
    if not font.exists():  # Sphinx copied neither anew, so the last build's style sheet has it
        return
    data = base64.b64encode(font.read_bytes()).decode()
    style.write_text(
        style.read_text(encoding="utf-8").replace(
            "fonts/stix-two-math.woff", f"data:font/woff;base64,{data}"
        ),
        encoding="utf-8",
    )
    font.unlink()


def shrink_figures(site: Path) -> None:
    """PNG figures become lossless WebP, a third of the size, and tell the browser how much room
    they need.
    """
    made: dict[Path, tuple[str, int, int]] = {}

    def small(match: re.Match[str], page: Path) -> str:
        source = (page.parent / match["source"]).resolve()
        if source not in made:
            with Image.open(source) as image:
                image.convert("RGB").save(source.with_suffix(".webp"), lossless=True, method=4)
                made[source] = (source.with_suffix(".webp").name, *image.size)
        name, width, height = made[source]
        folder = match["source"].rpartition("/")[0]
        size = f'width="{width}" height="{height}" loading="lazy" decoding="async"'
        return f'<img{match["before"]} src="{folder}/{name}"{match["after"]} {size}>'

    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        new = FIGURE.sub(lambda match, page=page: small(match, page), NO_ROLE.sub("", text))
        if new != text:
            page.write_text(new, encoding="utf-8")
    for figure in (
        *made,
        *(site / "_static" / "explore").glob("*.png"),
    ):  # the latter are drawn anew for pages that stayed as they were
        figure.unlink(missing_ok=True)
