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
