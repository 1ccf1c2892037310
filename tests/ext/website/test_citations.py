from pybtex.database import Person
from website.citations import Names

BIB = """@misc{one2020, author = {Nair, Anna}, year = {2020},
  title = {{Divide by sqrt(d\\_k) in all l\\_p norms?}}}
@misc{many2021, author = {He, B. and van Dam, C. and Eck, D.}, title = {Much}, year = {2021}}
@misc{team, author = {{The Team}}, title = {No year}}
"""
CITED = """# A

[Nair (2020)](bibliography.md#one2020) and others [[He et al., 2021](bibliography.md#many2021);
[The Team](bibliography.md#team)].
"""


def site(build, tmp_path, text):
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "references.bib").write_text(BIB)
    pages = {"index": text, "bibliography": "# B\n\n```{bibliography}\n:all:\n```\n"}
    settings = {"bibtex_bibfiles": ["references.bib"], "bibtex_default_style": "by_author"}
    return build(pages, "sphinxcontrib.bibtex", "citations", **settings)


def test_a_citation_leads_to_its_entry_and_names_it(build, tmp_path):
    built = site(build, tmp_path, CITED)
    assert built.warnings == ""
    entries = {
        x["id"] for x in built.page("bibliography").select("div.citation, div.citation [id]")
    }
    for link in built.page().select("p a"):
        page, _, key = link["href"].partition("#")
        assert page == "bibliography.html"
        assert key in entries | {x["id"] for x in built.page("bibliography").select("[id]")}
    assert "Divide by sqrt(d_k)" in built.page().select_one("p a")["title"]


def test_two_docstrings_cite_and_share_no_id(build, tmp_path):
    docstring = "```{eval-rst}\n:cite:t:`one2020`\n```\n"
    page = site(build, tmp_path, f"# A\n\n{docstring}\n{docstring}").page()
    assert len(page.select(".bibtex-citation")) == 2
    ids = [part["id"] for part in page.select("[id]")]
    assert len(ids) == len(set(ids))


def test_a_wrong_name_year_or_key_is_a_warning(build, tmp_path):
    wrong = "# A\n\n[Nair (2021)](bibliography.md#one2020), [He (2021)](bibliography.md#many2021)"
    warnings = site(build, tmp_path, f"{wrong} [Who (2020)](bibliography.md#nobody)\n").warnings
    assert (
        "a citation of one2020 reads Nair (2020) or Nair, 2020; this one reads: Nair (2021)"
        in warnings
    )
    assert "a citation of many2021 reads He et al. (2021)" in warnings
    assert "nothing in references.bib is called nobody" in warnings


def test_no_entry_has_a_role_and_its_title_is_set(build, tmp_path):
    page = site(build, tmp_path, CITED).page("bibliography")
    assert len(page.select("div.citation")) == 3
    assert page.select('[role="list"], [role="doc-biblioentry"]') == []
    assert "√dk in all lp norms" in page.text
    assert {"k", "p"} <= {sub.text for sub in page.find_all("sub")}


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
