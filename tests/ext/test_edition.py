"""Links to the repository, and to Colab: each where its address is known, and nowhere else."""

import pytest
from edition import describe

REPOSITORY = "https://github.com/owner/name"


@pytest.mark.parametrize("source", ["book/02_x.ipynb", "book/about.md", None])
@pytest.mark.parametrize("published", ["", "gh-pages"])
@pytest.mark.parametrize("repository", ["", REPOSITORY])
def test_a_page_links_to_what_is_configured(repository, published, source):
    context = {"repository": repository, "published": published, "sourcename": source}
    describe(None, "book/02_x", "page.html", context, None)
    assert ("report_url" in context) == bool(repository)
    notebook = bool(source) and source.endswith(".ipynb")
    assert ("colab_url" in context) == bool(repository and published and notebook)
    if repository:
        assert context["report_url"].startswith(f"{REPOSITORY}/issues/new?title=book%2F02_x")
    if "colab_url" in context:
        assert context["colab_url"] == (
            "https://colab.research.google.com/github/owner/name/blob/gh-pages/_sources/"
            "book/02_x.ipynb"
        )
