MODULE = '''
from typing import NamedTuple

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


def test_fields_are_not_listed_and_methods_are(build, tmp_path, monkeypatch):
    (tmp_path / "a_module_of_pairs.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    site = build({"index": PAGE}, "sphinx.ext.autodoc", "named_tuples")
    assert [name.text for name in site.page().select(".descname")] == ["Pair", "total"]
    assert "Alias" not in site.page().text
    assert site.warnings == ""
