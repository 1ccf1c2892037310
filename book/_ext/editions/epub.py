"""The whole book as an EPUB, for reading devices: ``make epub``.

Sphinx's own builder makes it, of the book's configuration less what is for a site in a browser. It
writes HTML as browsers forgive it, and does not say which pages have formulas; here both are put
right, so that epubcheck finds nothing. Figures to move are pictures.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import sdpa_lib
import yaml
from lxml import etree, html

ROOT = Path(__file__).parents[3]
NAME = "why-divide-by-sqrt-d_k"
FOR_A_BROWSER = {"website.search_index", "website.site_assets", "editions.teaching"}
LEFT_OUT = (
    "//script | //form | //noscript | //source | //link | //*[contains(@class, 'how-to-check')]"
)
XHTML, MATHML = "http://www.w3.org/1999/xhtml", "http://www.w3.org/1998/Math/MathML"
STYLE = "_static/epub.css"
OF_STYLE = {STYLE, "_static/file.png"}
Page = Any


def main() -> int:
    config = ROOT / "_build" / "epub.yml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(yaml.safe_dump(configuration()), encoding="utf-8")
    command = [str(Path(sys.executable).with_name("jupyter-book")), "build", str(ROOT), "-q"]
    command += ["--config", str(config), "--builder", "custom", "--custom-builder", "epub"]
    if subprocess.run(command, check=False).returncode:
        return 1
    raw = ROOT / "_build" / "epub" / f"{NAME}.epub"
    epub = ROOT / "_build" / f"{NAME}.epub"
    put_right(raw, epub)
    print(f"The book is an EPUB of {epub.stat().st_size / 1e6:.0f} MB: {epub}")
    return 0


def configuration() -> dict[str, Any]:
    """The book's, for a book that no browser shows."""
    config: dict[str, Any] = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    settings = config["sphinx"]["config"]
    settings["extensions"] = [x for x in settings["extensions"] if x not in FOR_A_BROWSER]
    settings["html_additional_pages"] = {}
    config["sphinx"]["local_extensions"] = {"cells.mathml": str(Path(__file__).parents[1])}
    settings |= {"version": sdpa_lib.__version__, "epub_basename": NAME}
    settings |= {"epub_title": config["title"], "epub_author": config["author"]}
    settings |= {"epub_show_urls": "no", "epub_language": "en"}
    return config


def put_right(raw: Path, epub: Path) -> None:
    with ZipFile(raw) as old, ZipFile(epub, "w", ZIP_DEFLATED) as new:
        names = [name for name in old.namelist() if "_static/" not in name or name in OF_STYLE]
        written = [name for name in names if name.endswith(".xhtml") and name != "nav.xhtml"]
        pages = {name: parsed(old.read(name)) for name in written}
        keep_links(pages)
        formulas = [name for name, page in pages.items() if page.xpath("//math")]
        for name in names:
            content = old.read(name)
            if name in pages:
                content = xhtml(pages[name], name)
            elif name.endswith(".svg"):  # of a space Matplotlib draws a path that goes nowhere
                content = re.sub(rb"<path (?![^>]*\bd=)", b'<path d="M0 0" ', content)
            elif name.endswith(".opf"):
                content = declared(content.decode(), formulas).encode()
            new.writestr(name, content, ZIP_STORED if name == "mimetype" else ZIP_DEFLATED)


def parsed(text: bytes) -> Page:
    """A page without what no reading device uses, and with each id once."""
    without = re.sub(r"<\?xml[^>]*\?>|<!DOCTYPE[^>]*>", "", text.decode())
    page = html.document_fromstring(re.sub(r"</?wbr ?/?>", "\u200b", without))
    for part in page.xpath(LEFT_OUT):
        part.drop_tree()
    known = set()
    for part in page.xpath("//*[@id]"):
        if part.get("id") in known:
            del part.attrib["id"]
        known.add(part.get("id"))
    for part in page.xpath("//mi | //mn"):  # which browsers read as operators
        part.attrib.pop("stretchy", None)
        part.attrib.pop("form", None)
    return page


def keep_links(pages: dict[str, Page]) -> None:
    """Of links to what the book has not got the text is left."""
    for name, page in pages.items():
        for link in page.xpath("//a[@href]"):
            link.attrib.pop("download", None)
            file, _, _ = link.get("href").partition("#")
            if ":" not in file and file and normpath(join(dirname(name), file)) not in pages:
                del link.attrib["href"]


def xhtml(page: Page, name: str) -> bytes:
    up = "../" * name.count("/")
    etree.SubElement(page.find("head"), "link", rel="stylesheet", type="text/css", href=up + STYLE)
    html.html_to_xhtml(page)
    for formula in page.iter(f"{{{XHTML}}}math"):
        for part in formula.iter(etree.Element):
            part.tag = part.tag.replace(XHTML, MATHML)
    etree.cleanup_namespaces(page, top_nsmap={None: XHTML})
    return b"<!DOCTYPE html>\n" + bytes(etree.tostring(page, encoding="utf-8"))


def declared(package: str, formulas: list[str]) -> str:
    """The list of files less those left out; with a word for pages that have formulas."""
    package = re.sub(r'\s*<item [^>]*href="_static/(?!epub\.css|file\.png)[^>]*/>', "", package)
    for name in formulas:
        package = re.sub(
            rf'(<item [^>]*href="{name}"[^>]*?) ?/>', r'\1 properties="mathml"/>', package
        )
    return package


if __name__ == "__main__":
    sys.exit(main())
