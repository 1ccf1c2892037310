PAGE = """# A

```{admonition} Solution of $x$
:class: dropdown

It is *two*.
```

```{admonition} Predict
Guess.
```
"""


def test_a_dropdown_opens_without_a_script_and_other_admonitions_stay(build):
    site = build({"index": PAGE}, "folds", myst_enable_extensions=["dollarmath"])
    (fold,) = site.page().select("details")
    assert "dropdown" in fold["class"]
    assert fold.summary.find(class_="math") is not None
    assert fold.em.text == "two"
    (other,) = site.page().select("div.admonition")
    assert "Guess." in other.text
    assert site.warnings == ""
