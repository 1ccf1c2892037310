import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def drawing(tmp_path):
    """A PNG in the pages' folder, half of it transparent."""
    pixels = np.zeros((30, 40, 4), dtype=np.uint8)
    pixels[:15] = (200, 30, 30, 255)
    (tmp_path / "source").mkdir()
    Image.fromarray(pixels).save(tmp_path / "source" / "drawing.png")
    return pixels


def test_a_png_becomes_a_webp_of_the_same_pixels_and_known_size(build, drawing):
    site = build({"index": "# A\n\n```{image} drawing.png\n:alt: Red above.\n```\n"}, "figures")
    image = site.page().select_one("img")
    assert (image["width"], image["height"]) == ("40", "30")
    assert (image["alt"], image["loading"], image["decoding"]) == ("Red above.", "lazy", "async")
    assert [file.name for file in (site.folder / "_images").iterdir()] == ["drawing.webp"]
    with Image.open(site.folder / image["src"]) as small:
        assert np.array_equal(np.array(small.convert("RGBA"))[:15], drawing[:15])
        assert not np.array(small.convert("RGBA"))[15:, :, 3].any()
    assert site.warnings == ""


def test_a_width_that_the_author_chose_stays(build, drawing):
    site = build({"index": "# A\n\n```{image} drawing.png\n:width: 20px\n```\n"}, "figures")
    image = site.page().select_one("img")
    assert image["src"].endswith(".webp")
    assert "20px" in image["style"]
    assert "height" not in image.attrs


def test_a_figure_that_is_missing_is_a_warning(build):
    site = build({"index": "# A\n\n```{image} none.png\n```\n"}, "figures")
    assert "image file not readable: none.png" in site.warnings
