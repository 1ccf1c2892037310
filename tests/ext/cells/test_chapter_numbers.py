def test_a_title_begins_with_the_number_of_its_file(build):
    pages = {
        "index": "# Start\n```{toctree}\n04_two\nnotes\n00_zero\n```",
        "04_two": "# Why *so*?\n\n## Because\n",
        "00_zero": "# Begin",
        "notes": "# 4 notes",
    }
    site = build(pages, "chapter_numbers")
    assert site.page("04_two").h1.text.startswith("4. Why so?")
    assert site.page("04_two").h2.text.startswith("Because")
    assert site.page("00_zero").h1.text.startswith("Begin")
    links = [a.text for a in site.page().select(".toctree-l1 > a")]
    assert links == ["4. Why so?", "4 notes", "Begin"]
    assert site.page("04_two").h1.parent["id"] == "why-so"
