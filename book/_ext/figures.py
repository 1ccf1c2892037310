"""Sphinx extension: figures are small files of known size that load when they are scrolled to.

Notebooks draw PNG. The site shows lossless WebP, a third of the size, and tells the browser how
much room a figure needs, so that nothing moves when it arrives.
"""

from __future__ import annotations

import posixpath
from pathlib import Path
from typing import Any
from urllib.parse import quote

from docutils import nodes
from PIL import Image
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms.images import BaseImageConverter
from sphinx.writers.html5 import HTML5Translator


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_post_transform(LosslessWebP)
    app.add_node(nodes.image, override=True, html=(visit_image, HTML5Translator.depart_image))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class LosslessWebP(BaseImageConverter):
    """Each PNG of a page becomes WebP, and its node knows its size in ``pixels``."""

    default_priority = 200  # after the choice among the outputs of a cell

    def match(self, node: nodes.image) -> bool:
        known, html = node["uri"] in self.env.images, self.app.builder.format == "html"
        return html and known and node["uri"].endswith(".png")

    def handle(self, node: nodes.image) -> None:
        _, name = self.env.images[node["uri"]]
        small = Path(self.imagedir, name).with_suffix(".webp")
        small.parent.mkdir(parents=True, exist_ok=True)
        with Image.open(self.app.srcdir / node["uri"]) as image:
            image.save(small, lossless=True, method=4)
            node["pixels"] = image.size
        node["uri"] = str(small)
        node["candidates"] = {"*": node["uri"]}
        self.env.images.add_file(self.env.docname, node["uri"])


def visit_image(translator: HTML5Translator, node: nodes.image) -> None:
    if "pixels" not in node or {"width", "height", "scale"} & node.attributes.keys():
        HTML5Translator.visit_image(translator, node)
        return
    width, height = node["pixels"]
    name = quote(translator.builder.images[node["uri"]])
    source = posixpath.join(translator.builder.imgpath, name)
    room = {"width": width, "height": height, "loading": "lazy", "decoding": "async"}
    alt = node.get("alt", "")
    translator.body.append(translator.emptytag(node, "img", "\n", src=source, alt=alt, **room))
