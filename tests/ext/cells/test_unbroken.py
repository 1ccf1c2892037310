from bs4 import BeautifulSoup
from cells import unbroken

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


def test_a_number_that_a_cell_prints_stays_on_one_line():
    printed = "p = 7.5e-67, (2.91 ± 0.19)·10⁻⁸ or 1.4 (1.0 to 1.7), <b>12</b> in 3 - 4"
    start = '<div class="output stream notranslate"><div class="highlight"><pre>'
    context = {"body": f"<pre>1e-3</pre>{start}{printed}</pre></div></div><pre>1e-3</pre>"}
    unbroken.keep_printed_numbers(None, "page", "page.html", context, None)
    page = BeautifulSoup(context["body"], "html.parser")
    whole = [span.text for span in page.select("span.together")]
    assert whole == ["7.5e-67,", "(2.91 ± 0.19)·10⁻⁸", "(1.0 to 1.7)"]
    assert page.select("pre")[1].text == BeautifulSoup(printed, "html.parser").text


def test_what_a_cell_of_a_table_holds_is_not_parted():
    context = {"body": '<td class="text">100 %; 97 %</td><td>a – b</td><p>5 %</p>'}
    unbroken.keep_printed_numbers(None, "page", "page.html", context, None)
    page = BeautifulSoup(context["body"], "html.parser")
    assert page.td.text == "100\u00a0%; 97\u00a0%"
    assert page.text.endswith("a – b5 %")
