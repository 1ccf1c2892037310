"""An address that a page had once leads to the page."""

from pathlib import Path

THEME = Path(__file__).parents[3] / "book" / "_theme"


def test_an_old_address_leads_to_where_the_page_is_now(build):
    pages = {"index": "# Start", "articles/a_links": "# Links\n\nText.", "notes/a_links": "# Notes"}
    site = build(
        pages,
        "moved",
        "headings",
        moved={"studies": "articles"},
        html_theme="sdpa",
        html_theme_path=[str(THEME)],
    )
    page = site.page("studies/a_links")
    assert page.title.text == "Links"
    assert page.a["href"] == page.select_one("link[rel=canonical]")["href"]
    target = (site.folder / "studies" / page.a["href"]).resolve()
    assert target == site.folder / "articles" / "a_links.html"
    assert {file.name for file in (site.folder / "studies").iterdir()} == {"a_links.html"}
