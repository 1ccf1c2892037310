"""Sphinx extension: figures are SVG of known size that load when they are scrolled to, but for the
first of a page, which is seen at once; and a narrow screen gets the drawing that is made for it.

A cell's SVG has both drawings in it, see ``sdpa_book/drawing/svg.py``; here each becomes a file.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms.images import BaseImageConverter
from sphinx.writers.html5 import HTML5Translator

from outputs.narrow import NARROW

SIZE = re.compile(r'<svg [^>]*?width="([\d.]+)pt" height="([\d.]+)pt"')
PIXELS_PER_POINT = 96 / 72
PHONE = "(max-width: 32rem)"


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_post_transform(TwoDrawings)
    app.add_node(nodes.image, override=True, html=(visit_image, HTML5Translator.depart_image))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class TwoDrawings(BaseImageConverter):
    """The node of an SVG that Matplotlib drew, whose size is in points, has the sizes of its
    ``wide`` drawing and, where there is one, its ``narrow`` one in pixels.
    """

    default_priority = 200  # after the choice among the outputs of a cell

    def match(self, node: nodes.image) -> bool:
        known, html = node["uri"] in self.env.images, self.app.builder.format == "html"
        return html and known and node["uri"].endswith(".svg")

    def handle(self, node: nodes.image) -> None:
        _, name = self.env.images[node["uri"]]
        text = Path(self.app.srcdir, node["uri"]).read_text(encoding="utf-8")
        if SIZE.match(text) is None:
            return
        if narrow := NARROW.search(text):
            node["narrow"] = self.add(f"narrow_{name}", narrow[1])
        node["wide"] = self.add(name, NARROW.sub("", text))
        node["uri"], _ = node["wide"]
        node["candidates"] = {"*": node["uri"]}

    def add(self, name: str, drawing: str) -> tuple[str, list[int]]:
        """Make a file of a drawing; returns its path and its size."""
        file = Path(self.imagedir, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(drawing, encoding="utf-8")
        self.app.builder.images[str(file)] = self.env.images.add_file(self.env.docname, str(file))
        size = SIZE.match(drawing)
        assert size is not None
        return str(file), [round(PIXELS_PER_POINT * float(length)) for length in size.groups()]


def visit_image(translator: HTML5Translator, node: nodes.image) -> None:
    if "wide" not in node or {"width", "height", "scale"} & node.attributes.keys():
        HTML5Translator.visit_image(translator, node)
        return

    def drawing(kind: str, tag: str, **attributes: str) -> str:
        file, (width, height) = node[kind]
        address = f"{translator.builder.imgpath}/{quote(translator.builder.images[file])}"
        source = {"srcset" if tag == "source" else "src": address}
        size = {"width": width, "height": height}
        return translator.emptytag(nodes.Element(), tag, "", **attributes, **source, **size)

    alt = node.get("alt", "")
    later = {} if is_first(node) else {"loading": "lazy"}
    picture = drawing("wide", "img", alt=alt, **later, decoding="async")
    if "narrow" in node:
        picture = drawing("narrow", "source", media=PHONE) + picture
    start = translator.starttag(node, "picture", "")
    translator.body.append(f"{start}{picture}</picture>\n")


def is_first(image: nodes.image) -> bool:
    assert image.document is not None
    return next(image.document.findall(nodes.image)) is image
