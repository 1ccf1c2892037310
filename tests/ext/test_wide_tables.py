def test_each_table_has_a_box_to_scroll_in(build):
    site = build({"index": "# A\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"}, "wide_tables")
    assert [cell.text for cell in site.page().select("div.table-wrap > table td")] == ["1", "2"]
    assert site.warnings == ""
