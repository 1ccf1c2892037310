"""Sphinx extension: the reference has a page a module, and a first page with the names of all.

The directive ``{modules} PACKAGE`` lists those pages below its own that describe a module of the
package: what each has is a link to its place there. A list has the ids that the places had when all
was one page, so that a link from then lands on the right name, and a script takes it to the place.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.domains.python import ObjectEntry
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

WITHIN = {"method", "attribute", "property", "classmethod", "staticmethod"}
"""What stands in a class."""
GO_ON = """<script>
(() => {
  const at = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const module = at?.closest("[data-page]");
  if (module) location.replace(module.dataset.page + location.hash);
})();
</script>
"""


class Modules(nodes.General, nodes.Element):
    """The place of a list, and the ``package`` whose modules it has."""


class ListModules(SphinxDirective):
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        return [Modules(package=self.arguments[0])]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("modules", ListModules)
    app.add_node(Modules)
    app.add_post_transform(FillLists)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class FillLists(SphinxPostTransform):
    default_priority = 400

    def run(self, **_kwargs: Any) -> None:
        lists = list(self.document.findall(Modules))
        for place in lists:
            items = "".join(self.items(f"{place['package']}."))
            place.replace_self(
                nodes.raw("", f"<ul class='modules'>\n{items}</ul>\n", format="html")
            )
        if lists:
            self.document[0].append(nodes.raw("", GO_ON, format="html"))  # type: ignore[attr-defined]

    def items(self, package: str) -> Iterator[str]:
        """An item a page: its title, and the names of what it has."""
        objects: dict[str, ObjectEntry] = self.env.get_domain("py").objects  # type: ignore[attr-defined]
        for page in self.env.toctree_includes.get(self.env.docname, ()):
            of_page = {
                name: one
                for name, one in objects.items()
                if one.docname == page and not one.aliased
            }
            modules = [name for name, one in of_page.items() if one.objtype == "module"]
            if not all(f"{name}.".startswith(package) for name in modules):
                continue
            uri = escape(self.app.builder.get_relative_uri(self.env.docname, page))
            within: dict[str, list[str]] = {}
            for name, one in of_page.items():
                if one.objtype in WITHIN:
                    within.setdefault(name.rpartition(".")[0], []).append(one.node_id)
            names = ", ".join(
                f'<a class="internal" id="{one.node_id}" href="{uri}#{one.node_id}">'
                f"<code>{name.rpartition('.')[2]}</code></a>"
                + "".join(f'<span id="{inner}"></span>' for inner in within.get(name, ()))
                for name, one in of_page.items()
                if one.objtype not in WITHIN | {"module"}
            )
            anchors = "".join(f'<span id="{of_page[name].node_id}"></span>' for name in modules)
            title = self.env.titles[page]
            yield (
                f'<li data-page="{uri}">{anchors}<p><a class="internal" href="{uri}">'
                f"{escape(title.astext())}</a></p>\n<p>{names}</p></li>\n"
            )
