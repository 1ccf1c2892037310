"""The reference's first page lists what its pages have, with the ids of one page."""

REFERENCE = """# Reference

```{modules} a_package
```

```{toctree}
halves
```
"""
HALVES = """# Halves: `a_package.halves`

```{eval-rst}
.. py:module:: a_package.halves

.. py:class:: Half

   Half of it.

   .. py:method:: other()

      The other one.
```
"""


def test_a_list_links_to_what_each_page_has_and_keeps_its_ids(build):
    site = build({"index": REFERENCE, "halves": HALVES}, "module_pages")
    (item,) = site.page().select("ul.modules > li")
    assert item["data-page"] == "halves.html"
    assert [(link.text, link["href"]) for link in item.select("a")] == [
        ("Halves: a_package.halves", "halves.html"),
        ("Half", "halves.html#a_package.halves.Half"),
    ]
    names = ("module-a_package.halves", "a_package.halves.Half", "a_package.halves.Half.other")
    assert [one["id"] for one in item.select("[id]")] == [*names]
    assert {*names} <= {one["id"] for one in site.page("halves").select("[id]")}
    assert site.warnings == ""


def test_a_list_has_no_module_of_another_package(build):
    site = build({"index": REFERENCE, "halves": HALVES.replace("a_pack", "b_pack")}, "module_pages")
    assert site.page().select("ul.modules > li") == []
