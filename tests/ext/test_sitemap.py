from xml.etree import ElementTree

import pytest


@pytest.mark.parametrize("address", ["https://example.org/book", "https://example.org/book/"])
def test_a_site_with_an_address_has_a_map(build, address):
    site = build({"index": "# A", "a&b": "# B"}, "sitemap", html_baseurl=address)
    tree = ElementTree.parse(site.folder / "sitemap.xml")
    assert [url.text for url in tree.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")] == [
        "https://example.org/book/a%26b.html",
        "https://example.org/book/index.html",
    ]


def test_a_site_without_an_address_has_none(build):
    assert not (build({"index": "# A"}, "sitemap").folder / "sitemap.xml").exists()
