"""Words become links to their entries, and numbers to figures and tables."""

import re

from small_book import CHAPTER, NOTATION, SETTINGS


def test_the_first_occurrence_of_a_term_and_what_has_a_number_are_links(build):
    pages = {"notation": NOTATION, "04_softmax": CHAPTER, "index": "# Start\n\nThe entropy."}
    site = build(pages, "mathml", "book_index", "named_links", "cards", **SETTINGS)
    page = site.page("04_softmax")
    terms = [(link.text, link["href"]) for link in page.select("a.term")]
    assert terms == [
        ("entropy", "notation.html#term-entropy"),
        ("QK-norm", "notation.html#term-qk-norm"),
    ]
    named = [(link.text, link["href"]) for link in page.select("a.named")]
    assert named == [
        ("Figure 4.1", "#figure-4-1"),
        ("Tables 4.1", "#table-4-1"),
        ("4.2", "#table-4-2"),
    ]
    assert site.page("index").select("a.term") == []
    assert len(re.findall("nothing has the number", site.warnings)) == 3
