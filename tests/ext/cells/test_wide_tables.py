def test_each_table_has_a_box_to_scroll_in(build):
    site = build({"index": "# A\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"}, "wide_tables")
    assert [cell.text for cell in site.page().select("div.table-wrap > table td")] == ["1", "2"]
    assert site.warnings == ""


def test_columns_of_text_say_how_long_it_is(build):
    row = f"| {'word ' * 14} | {'word ' * 6} | word |"
    site = build({"index": f"# A\n\n| a | b | c |\n|---|---|---|\n{row}\n"}, "wide_tables")
    kinds = [
        set(cell.get("class", [])) & {"sentence", "phrase"} for cell in site.page().select("th, td")
    ]
    assert kinds == [{"sentence"}, {"phrase"}, set()] * 2


def table(build, *cells):
    columns = "|---" * len(cells)
    heads = "|".join(["a0", "a1", "a2?"][: len(cells)])
    return build(
        {"index": f"# A\n\n|{heads}|\n{columns}|\n|{'|'.join(cells)}|\n"},
        "wide_tables",
    ).page()


PHRASE, SENTENCE = "word " * 6, "word " * 14


def test_a_table_that_is_mostly_text_becomes_cards_named_by_its_heads(build):
    for cells in (("x", "x", SENTENCE), ("x", PHRASE, PHRASE), (PHRASE, SENTENCE, "x")):
        page = table(build, *cells)
        assert page.select_one(".table-wrap.cards") is not None, cells
        assert [cell["data-head"] for cell in page.select("td")] == ["a0:", "a1:", "a2?"]
        assert page.select("th[data-head]") == []


def test_a_table_of_numbers_or_of_two_columns_does_not(build):
    for cells in (("x", "x", "x"), (PHRASE, PHRASE), (PHRASE, SENTENCE), (SENTENCE, "x", PHRASE)):
        page = table(build, *cells)
        assert page.select(".cards, [data-head]") == [], cells
