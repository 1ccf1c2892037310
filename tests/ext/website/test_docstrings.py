MODULE = '''
from typing import NamedTuple

BLOCK = 5
"""How many at a time: a block's stay in the cache."""

PLACES = {"here": 1}
"""Where they are."""

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
    names = [name.text for name in site.page().select(".descname")]
    assert names == ["BLOCK", "PLACES", "Pair", "total"]
    assert "Alias" not in site.page().text
    assert site.warnings == ""
    assert "How many at a time: a block" in site.page().text  # and "How many at a time" no type
    assert "Type:" not in site.page().text
    constants = [name.text for name in site.page().select("dl.data > dt")]
    assert "BLOCK = 5" in constants[0]
    assert "=" not in constants[1]  # of a dictionary nothing is shown


RECORD = '''
from dataclasses import dataclass, field
from collections.abc import Mapping

def _unchanged(x):
    return x

class Part:
    """A part."""

@dataclass(frozen=True)
class Whole:
    """A whole.

    Attributes:
        part: what it is made of.
    """
    part: Part
    more: Mapping[str, Part] = field(default_factory=dict)
    after: object = _unchanged
'''


def test_a_signature_is_python_and_types_go_by_their_own_names(build, tmp_path, monkeypatch):
    (tmp_path / "a_package_of_parts").mkdir()
    package = tmp_path / "a_package_of_parts"
    (package / "__init__.py").write_text(
        "from ._wholes import Part, Whole\n__all__ = ['Part', 'Whole']"
    )
    (package / "_wholes.py").write_text(RECORD)
    monkeypatch.syspath_prepend(tmp_path)
    site = build({"index": PAGE.replace("a_module_of_pairs", package.name)}, *EXTENSIONS)
    signature = site.page().select("dl.class > dt")[-1].text
    assert "more: Mapping[str, Part] = ..., after: object = ..." in signature
    assert "._wholes" not in site.page().select_one("body").text
    assert site.page().select_one("dl.attribute > dt").text.strip("\n¶") == "part: Part"
    assert "Type:" not in site.page().text
