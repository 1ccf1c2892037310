import pytest

FORMULAS = {"myst_enable_extensions": ["dollarmath"]}
LONG = "Attention divides by a root, and *this* is long enough to say so to those who search "


@pytest.fixture
def theme(tmp_path):
    """A theme that shows the description."""
    folder = tmp_path / "themes" / "plain"
    folder.mkdir(parents=True)
    (folder / "theme.toml").write_text('[theme]\ninherit = "basic"\nstylesheets = []\n')
    (folder / "layout.html").write_text("<p>{{ page_description|e }}</p>")
    return {"html_theme": "plain", "html_theme_path": [str(tmp_path / "themes")]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Short.\n\n" + LONG, LONG.replace("*", "").strip()),
        ("Short.", "A site for a test."),
        (LONG + "\n\n**The answer.** It is $\\sqrt{d_k}$.", "It is √d_k."),
    ],
)
def test_the_answer_or_the_first_paragraph_of_some_length_describes_a_page(
    build, theme, text, expected
):
    site = build({"index": f"# A\n\n{text}\n"}, "descriptions", **theme, **FORMULAS)
    assert site.page().p.text == expected
    assert site.page("search").p.text == "A site for a test."


def test_a_long_one_is_cut_at_a_word(build, theme):
    site = build({"index": f"# A\n\n{LONG * 3}\n"}, "descriptions", **theme)
    text = site.page().p.text
    assert text.endswith(" …")
    assert 140 < len(text) <= 162
    assert (LONG * 3).replace("*", "").startswith(text.removesuffix("…"))
