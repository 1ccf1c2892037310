MODULE = '''
from typing import NamedTuple

BLOCK = 5
"""How many at a time: a block's stay in the cache."""

class Pair(NamedTuple):
    """A pair.

    It has a `left` and a `right`.
    """
    left: int
    right: int

    def total(self) -> int:
        """Both together."""
        return self.left + self.right
'''
PAGE = """# A

```{eval-rst}
.. automodule:: a_module_of_pairs
   :members:
```
"""
EXTENSIONS = ("sphinx.ext.autodoc", "sphinx.ext.napoleon", "docstrings")


def test_fields_are_not_listed_and_a_colon_names_no_type(build, tmp_path, monkeypatch):
    (tmp_path / "a_module_of_pairs.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    site = build({"index": PAGE}, *EXTENSIONS)
    assert [name.text for name in site.page().select(".descname")] == ["BLOCK", "Pair", "total"]
    assert "Alias" not in site.page().text
    assert site.warnings == ""
    assert "How many at a time: a block" in site.page().text  # and "How many at a time" no type
    assert "Type:" not in site.page().text
