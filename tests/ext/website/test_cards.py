import json
import re

from small_book import CHAPTER, NOTATION, SETTINGS


def cards(site):
    script = (site.folder / "cards.js").read_text("utf-8")
    data = re.search(r"= (\{.*\});$", script, re.M)[1]
    return json.loads(data)["cards"]


def test_a_symbol_has_the_address_of_its_entry(build):
    pages = {"notation": NOTATION, "04_softmax": CHAPTER, "index": "# Start"}
    page = build(pages, "mathml", "book_index", "cards", **SETTINGS).page("04_softmax")
    assert [m["data-symbol"] for m in page.select("math[data-symbol]")] == [
        "symbol-w-q-w-k",
        "symbol-c",
    ]


def test_a_card_tells_what_notation_says(build):
    pages = {"notation": NOTATION, "04_softmax": CHAPTER, "index": "# Start"}
    by_address = cards(build(pages, "mathml", "book_index", "cards", **SETTINGS))
    assert by_address["notation.html#symbol-c"]["text"] == "a divisor"
    assert "<mi>W</mi>" in by_address["notation.html#symbol-w-q-w-k"]["title"]
    entropy = by_address["notation.html#term-entropy"]
    assert entropy["title"] == "<strong>Entropy</strong>"
    assert entropy["text"].endswith("</math>, in nats.")
    assert "04_softmax.html" not in by_address  # nobody links there


def test_a_figure_has_a_card_with_its_picture_on_another_page(build, tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "a.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    pages = {
        "notation": NOTATION,
        "02_growth": "# Growth\n\n![Two *lines*, which rise side by side to the right.](a.svg)",
        "03_proof": "# Proof\n\nAs in Figure 2.1.",
        "index": "# Start",
    }
    site = build(pages, "mathml", "book_index", "captions", "cards", **SETTINGS)
    assert site.warnings == ""
    card = cards(site)["02_growth.html#figure-2-1"]
    assert card["src"] == "_images/a.svg"
    assert card["text"].startswith("<strong>Figure 2.1.</strong> Two lines")


def test_a_letter_of_a_page_s_own_is_no_symbol(build):
    page = "03_the_variance_derivation"
    pages = {"notation": NOTATION, page: "# Variance\n\n$c$ and $W_Q$", "index": "# Start"}
    built = build(pages, "mathml", "book_index", "cards", **SETTINGS).page(page)
    assert [m["data-symbol"] for m in built.select("math[data-symbol]")] == ["symbol-w-q-w-k"]
