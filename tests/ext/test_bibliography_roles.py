from bibliography_roles import Names
from pybtex.database import Person

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


def test_mathematics_in_titles_is_set(build):
    page = "# A\n\n```{eval-rst}\n.. [A2020] Divide by sqrt(d_k) in all l_p norms?\n```\n"
    entry = build({"index": page}, "bibliography_roles").page().select_one("div.citation")
    assert "Divide by √dk in all lp norms?" in entry.text
    assert [sub.text for sub in entry.find_all("sub")] == ["k", "p"]


def test_teams_stand_among_the_others():
    people = ("Zhai, Shuangfei", "{Gemma Team}", "Adams, Anna", "{OpenAI}", "He, Pengcheng")
    ordered = sorted(people, key=lambda name: Names().person_key(Person(name)))
    assert ordered == [
        "Adams, Anna",
        "{Gemma Team}",
        "He, Pengcheng",
        "{OpenAI}",
        "Zhai, Shuangfei",
    ]
