"""A site whose repository is known says where it is; one without says nothing of it."""

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from sphinx.errors import ConfigError
from website import edition

REPOSITORY = "https://github.com/owner/name"
ADDRESS = "https://owner.github.io/name"
ROOT = Path(__file__).parents[3]
NOTEBOOK = {
    "cells": [{"cell_type": "markdown", "id": "a", "metadata": {}, "source": "# A"}],
    "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}


@pytest.fixture
def published(build, tmp_path):
    """A function that builds a page and a notebook with the theme of the book."""

    def publish(repository, **settings):
        folder = tmp_path / "source" / "book"
        folder.mkdir(parents=True)
        (folder / "02_x.ipynb").write_text(json.dumps(NOTEBOOK), encoding="utf-8")
        return build(
            {"index": "# Home", "a&b": "# Other"},
            *("descriptions", "edition", "headings", "myst_nb"),
            html_theme="sdpa",
            html_theme_path=[str(ROOT / "book" / "_theme")],
            html_sourcelink_suffix="",
            html_additional_pages={"start": "index.html", "404": "404.html"},
            html_context={"description": "A site.", "author": "A", "repository": repository},
            nb_execution_mode="off",
            source_suffix=dict.fromkeys([".md", ".ipynb"], "myst-nb"),
            **settings,
        )

    return publish


def test_with_a_repository_each_page_says_where_it_is(published):
    site = published(REPOSITORY)
    for name, address in (("a&b", "/a&b.html"), ("book/02_x", "/book/02_x.html"), ("start", "/")):
        head = site.page(name).head
        assert head.find("link", rel="canonical")["href"] == ADDRESS + address
        assert head.find("meta", property="og:url")["content"] == ADDRESS + address
        preview = head.find("meta", property="og:image")["content"].removeprefix(f"{ADDRESS}/")
        assert (ROOT / "book" / preview).is_file()
    assert site.page("404").a["href"].startswith(ADDRESS)
    assert (
        site.page("book/02_x")
        .find("a", class_="report")["href"]
        .startswith(f"{REPOSITORY}/issues/new?title=book%2F02_x")
    )
    places = ElementTree.parse(site.folder / "sitemap.xml").iter(
        "{http://www.sitemaps.org/schemas/sitemap/0.9}loc"
    )
    assert {place.text for place in places} == {
        f"{ADDRESS}/{page}.html" for page in ("index", "a%26b", "book/02_x")
    }


def test_with_a_repository_each_page_says_how_it_is_cited(published):
    site = published(REPOSITORY, copyright="2026", html_title="A book")
    for name, title in (("a&b", "Other"), ("book/02_x", "A")):
        metas = site.page(name).select("meta[name^=citation_]")
        assert {one["name"].removeprefix("citation_"): one["content"] for one in metas} == {
            "title": title,
            "author": "A",
            "publication_date": "2026",
            "inbook_title": "A book",
            "public_url": f"{ADDRESS}/{name}.html",
        }
    assert site.page("404").select("meta[name^=citation_]") == []


def test_a_notebook_opens_in_colab_and_brings_the_book(published):
    site = published(REPOSITORY)
    path = "_sources/book/02_x.ipynb"
    (button,) = site.page("book/02_x").select("a[href*=colab]")
    assert button["href"] == (
        f"https://colab.research.google.com/github/owner/name/blob/gh-pages/{path}"
    )
    assert site.page().select("a[href*=colab]") == []  # it is no notebook
    first, *_ = json.loads((site.folder / path).read_text(encoding="utf-8"))["cells"]
    source = "".join(first["source"])
    assert f"git clone -q --depth 1 {REPOSITORY} name" in source
    assert '-e "name[book]"' in source


def test_without_one_no_page_has_a_trace_of_it(published):
    site = published("")
    for page in site.folder.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for trace in ("canonical", "og:url", "og:image", "citation_", "github", "colab", "report"):
            assert trace not in text, (page.name, trace)
    assert not (site.folder / "sitemap.xml").exists()
    notebook = (site.folder / "_sources" / "book" / "02_x.ipynb").read_text(encoding="utf-8")
    assert "git" not in notebook
    assert "import sdpa_book" in notebook


def test_an_address_of_ones_own_is_kept(published):
    site = published("https://codeberg.org/owner/name", html_baseurl="https://example.org/")
    assert site.page().find("link", rel="canonical")["href"] == "https://example.org/index.html"
    assert site.page("book/02_x").select("a[href*=colab]") == []  # which opens GitHub's alone


@pytest.mark.parametrize("repository", ["https://codeberg.org/o/n", "https://github.com/o"])
def test_a_repository_elsewhere_needs_an_address(repository):
    config = SimpleNamespace(html_context={"repository": repository}, html_baseurl="")
    with pytest.raises(ConfigError, match=re.escape(repository)):
        edition.place(None, config)


def test_where_the_package_is_missing_a_notebook_without_a_repository_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "sdpa_book", None)
    with pytest.raises(SystemExit, match="package"):
        exec("".join(edition.first_cell(None)["source"]), {})
