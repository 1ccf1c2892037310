import matplotlib.pyplot as plt
import pytest

from sdpa_book.drawing import plotting
from sdpa_book.drawing.svg import picture


@pytest.fixture
def drawing(tmp_path):
    """A figure of two panels in the pages' folder, as a cell stores it."""
    figure, axes = plotting.figure(columns=2)
    axes[0].plot([0, 1], [0, 1])
    text = picture(figure)
    plt.close(figure)
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "drawing.svg").write_text(text, encoding="utf-8")
    return text


def test_both_drawings_become_files_of_known_size(build, drawing):
    figure = "```{image} drawing.svg\n:alt: A line.\n```\n"
    site = build({"index": f"# A\n\n{figure}\n{figure}"}, "figures")
    first, later = site.page().select("picture img")
    assert "loading" not in first.attrs
    assert later["loading"] == "lazy"
    image, source = site.page().select_one("picture img"), site.page().select_one("picture source")
    assert (image["alt"], image["decoding"]) == ("A line.", "async")
    assert source["media"] == "(max-width: 32rem)"
    assert 740 < int(image["width"]) < 780
    assert 380 < int(source["width"]) < 420
    assert int(source["height"]) > int(image["height"])
    wide = (site.folder / image["src"]).read_text(encoding="utf-8")
    narrow = (site.folder / source["srcset"]).read_text(encoding="utf-8")
    assert wide in drawing.replace(f"<metadata>{narrow}</metadata>", "")
    assert narrow in drawing
    assert site.warnings == ""


def test_a_width_that_the_author_chose_stays(build, drawing):
    site = build({"index": "# A\n\n```{image} drawing.svg\n:width: 20px\n```\n"}, "figures")
    image = site.page().select_one("img")
    assert "20px" in image["style"]
    assert site.page().select_one("picture") is None
