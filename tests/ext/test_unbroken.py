PAGE = """# Chapter 3

In [chapter 7](other.md) 5 % are 0.97 ± 0.02, ten × longer; `5 %` stays,
and so do 24 blocks, from step 520 on.

## Exercise 1
"""


def test_a_number_stays_with_what_belongs_to_it(build):
    site = build({"index": PAGE, "other": "# Other"}, "unbroken")
    text = site.page().p.text.replace("\u00a0", "~")
    joined, also = text.split("\n")
    assert joined == "In chapter~7 5~% are 0.97~±~0.02, ten × longer; 5 % stays,"
    assert also == "and so do 24~blocks, from step~520 on."
    assert site.page().h1.text.startswith("Chapter 3")


def test_long_code_may_be_broken_at_its_parts(build):
    site = build({"index": "# A\n\n`sdpa_lib.transformers.register(Root())` and `d_k`"}, "unbroken")
    text = str(site.page().p)
    assert "lib.<wbr/>transformers.<wbr/>register(<wbr/>Root()" in text
    assert ">d_k<" in text
