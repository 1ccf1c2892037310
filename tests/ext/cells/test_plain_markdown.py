"""What plain Markdown becomes on the site."""

import pytest

PAGE = """# A

> **Predict.** How large is $x$?
>
> - 1 <!-- right -->
> - 2
>
> (*B* says it.)

> A quotation.

<details>
<summary>Why $x$ &lt; 2, and not more?</summary>

It is *less*.

**Table.** Of one column.

| a |
|---|
| 1 |

</details>

![Two boxes.](_static/diagrams/boxes.svg)

## B
"""
SETTINGS = {"myst_enable_extensions": ["dollarmath", "html_image"], "suppress_warnings": ["image"]}


@pytest.fixture
def page(build):
    return build({"index": PAGE}, "plain_markdown", "predictions", "folds", **SETTINGS).page()


def test_a_labelled_quotation_is_a_box(page):
    (box,) = page.select("div.admonition")
    assert {"hint", "predict"} <= set(box["class"])
    assert box.select_one(".admonition-title").text == "Predict"
    assert box.select("p")[1].text.startswith("How large is")
    assert [option.text.strip() for option in box.select("li.right")] == ["1"]
    assert [quotation.text.strip() for quotation in page.select("blockquote")] == ["A quotation."]


def test_details_are_a_fold_with_markdown_in_it(page):
    (fold,) = page.select("details")
    assert fold.summary.text.endswith("< 2, and not more?")
    assert fold.summary.select_one(".math") is not None
    assert fold.em.text == "less"
    assert fold.caption.text.startswith("Of one column.")
    assert "Table." not in fold.text


def test_a_diagram_is_as_wide_as_the_text(page):
    image = page.select_one("img.diagram")
    assert image["style"] == "width: 100%;"
    assert image.parent.name != "p"


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("> **Guess.** How large?", "a box is called"),
        ("<details>\n<summary>Why?</summary>\n\nSo.", "a fold has no end: Why?"),
        ("<details>\n\nSo.\n\n</details>", "a fold begins with"),
        ("**Table.** Of nothing.\n\nA paragraph.", "none stands behind"),
    ],
)
def test_what_was_meant_otherwise_is_a_warning(build, text, warning):
    assert warning in build({"index": f"# A\n\n{text}\n"}, "plain_markdown").warnings
