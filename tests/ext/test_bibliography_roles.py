PAGE = """# A

```{eval-rst}
.. [Someone2017] A paper. See [Someone2017]_.
.. [Other2018] Another. See [Other2018]_.
```
"""


def test_no_entry_has_a_role(build):
    site = build({"index": PAGE}, "bibliography_roles")
    entries = site.page().select("div.citation")
    assert [entry.span.text for entry in entries] == ["[Someone2017]", "[Other2018]"]
    assert site.page().select('[role="list"], [role="doc-biblioentry"]') == []
    assert site.page().select_one("a[href='#other2018']") is not None
    assert site.warnings == ""
