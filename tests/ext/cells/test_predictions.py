"""Predict boxes: what is marked of them, and what fails the build."""

import pytest

BOX = """# A

## Why it *is* so

:::{{admonition}} Predict
:class: hint
How large is it?

- 1{first}
- {option}

{where}
:::
{behind}"""


@pytest.fixture
def built(build):
    def build_box(where, option="8 <!-- right -->", first="", behind=""):
        page = BOX.format(where=where, option=option, first=first, behind=behind)
        pages = {"index": page}
        extensions = ["colon_fence", "dollarmath"]
        return build(pages, "predictions", myst_enable_extensions=extensions)

    return build_box


def test_a_box_has_options_and_leads_to_the_section_with_the_answer(built):
    site = built("(*Why it is so* has the answer.)")
    (box,) = site.page().select(".admonition.predict")
    assert [item.text.strip() for item in box.select("ul.options > li")] == ["1", "8"]
    assert [item.text for item in box.select("li.right p")] == ["8"]
    assert "<!--" not in str(box)
    (where,) = box.select("p.where")
    assert where.a["href"] == "#why-it-is-so"
    assert where.text == "(Why it is so has the answer.)"
    assert site.warnings == ""


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("(*Why not* has the answer.)", "names a section that the page hasn't: Why not"),
        ("Below.", "ends with a paragraph in brackets"),
    ],
)
def test_a_box_that_leads_nowhere_fails_the_build(built, where, message):
    assert message in built(where).warnings


def test_a_box_without_options_fails_the_build(build):
    box = ":::{admonition} Predict\nHow large is it?\n\n(Below.)\n:::"
    site = build({"index": f"# A\n\n{box}"}, "predictions", myst_enable_extensions=["colon_fence"])
    assert "has no options to choose from" in site.warnings


@pytest.mark.parametrize(
    ("first", "option", "message"),
    [("", "8", "of these 0 are: 1 / 8"), (" <!-- right -->", "8 <!-- right -->", "of these 2 are")],
)
def test_one_option_of_a_question_is_the_right_one(built, first, option, message):
    site = built("(*Why it is so* has the answer.)", option=option, first=first)
    assert message in site.warnings


def test_the_answer_behind_a_box_is_one_element_up_to_the_line_in_italics(built):
    behind = "\n**The answer.** It is 8.\n\n$8 = 2^3$\n\n*Ten minutes.*\n\nMore.\n"
    site = built("(*Why it is so* has the answer.)", behind=behind)
    (answer,) = site.page().select(".predict + .the-answer")
    first, _ = answer.select("p")
    assert first.text == "The answer. It is 8."
    assert answer.find_next_sibling("p").text == "Ten minutes."


def test_what_is_no_answer_stays_where_it_is(built):
    site = built("(*Why it is so* has the answer.)", behind="\n**A word.** It is 8.\n")
    assert site.page().select(".the-answer") == []
