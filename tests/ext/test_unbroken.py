PAGE = """# Chapter 3

In [chapter 7](other.md) 5 % are 0.97 ± 0.02, ten × longer; `5 %` stays.

## Exercise 1
"""


def test_a_number_stays_with_what_belongs_to_it(build):
    site = build({"index": PAGE, "other": "# Other"}, "unbroken")
    text = site.page().p.text.replace("\u00a0", "~")
    assert text == "In chapter~7 5~% are 0.97~±~0.02, ten × longer; 5 % stays."
    assert site.page().h1.text.startswith("Chapter 3")
