"""What the build writes for the explorables, against the library and other sources."""

import io
import xml.etree.ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pytest
from colours import contrast, rgb
from matplotlib.markers import MarkerStyle
from PIL import Image

import sdpa_lib as sdpa
from sdpa_book.drawing import plotting, svg
from sdpa_book.writing.names import display_name

from .conftest import PLACES


def looks(data):
    return {look["name"]: look for look in data["rescalings"]}


# ---------------------------------------------------------------- looks


def test_every_rescaling_is_there_in_its_order(data):
    assert [look["name"] for look in data["rescalings"]] == list(sdpa.RESCALINGS)
    for name, look in looks(data).items():
        assert look["label"] == display_name(name)
        assert look["colours"][0] == plotting.style(name)["color"]


@pytest.mark.parametrize("theme", [0, 1])
def test_colours_are_legible_on_both_grounds(data, browser, base, theme):
    context = browser.new_context(color_scheme=("light", "dark")[theme])
    page = context.new_page()
    page.goto(f"{base}{PLACES['scalings']}#scalings:")
    app = page.locator(".explorable-app")
    app.wait_for()
    ground = app.evaluate("app => getComputedStyle(app).backgroundColor.match(/\\d+/g).map(Number)")
    assert (np.mean(ground) < 128) == bool(theme)
    pairs = [*data["colours"].values(), *(look["colours"] for look in data["rescalings"])]
    for pair in pairs:
        assert contrast(rgb(pair[theme]), np.array(ground) / 255) >= 3
    letters = [*data["letters"].values(), *(look["letters"] for look in data["rescalings"])]
    for pair in letters:
        assert contrast(rgb(pair[theme]), np.array(ground) / 255) >= 4.5
    # They are what is drawn.
    bar = page.locator("[data-panel=none] rect").first
    fill = bar.evaluate("bar => getComputedStyle(bar).fill.match(/\\d+/g).map(Number)")
    first = data["rescalings"][0]["colours"][theme]
    assert fill == [round(255 * x) for x in rgb(first)]
    context.close()


def test_dark_colours_are_those_of_figures_in_the_dark_theme(data, browser, base):
    context = browser.new_context(color_scheme="dark", java_script_enabled=False)
    page = context.new_page()
    page.goto(base + PLACES["scalings"])
    colours = [*data["colours"].values(), *(look["colours"] for look in data["rescalings"])]
    for light, dark in colours:
        figure, ax = plotting.figure()
        figure.set_facecolor(light)
        ax.set_axis_off()
        swatch = svg.svg(figure)
        plt.close(figure)
        image = page.locator(".explorable > picture > img")
        image.evaluate(
            "(image, svg) => image.src = 'data:image/svg+xml,' + encodeURIComponent(svg)", swatch
        )
        image.evaluate("image => image.decode()")
        picture = Image.open(io.BytesIO(image.screenshot())).convert("RGB")
        seen = np.array(picture.getpixel((20, 20)))
        assert np.abs(seen - 255 * rgb(dark)).max() <= 2, light
    context.close()


def test_marks_are_those_of_the_figures(data, scripts):
    box = """outline => {
        const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
        path.setAttribute("d", outline);
        const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
        svg.append(path);
        document.body.append(svg);
        const { x, y, width, height } = path.getBBox();
        const points = [[0, 0], [0, -3], [0, 3], [3, 3], [3, -3]];
        const inside = points.map((point) => path.isPointInFill(new DOMPoint(...point)));
        return [[x, y, x + width, y + height], inside];
    }"""
    for name, look in looks(data).items():
        style = MarkerStyle(plotting.style(name, marker=True)["marker"])
        path = style.get_path().transformed(style.get_transform())
        ((bounds, filled),) = scripts(box, [(look["marker"],)])
        size = (bounds[2] - bounds[0]) / path.get_extents().width  # pixels for Matplotlib's 1
        left, below, right, above = size * path.get_extents().extents
        assert bounds == pytest.approx([left, -above, right, -below], abs=0.02), name
        assert 8 < size < 18
        points = np.array([[0, 0], [0, 3], [0, -3], [3, -3], [3, 3]]) / size  # up is down
        if look["filled"]:
            assert filled == path.contains_points(points).tolist(), name
    assert len({(look["dashes"], look["marker"]) for look in data["rescalings"]}) == len(
        looks(data)
    )


def test_dashes_are_those_of_the_figures(data):
    """Matplotlib's own SVG has them in points, 72 to 100 pixels."""
    for name, look in looks(data).items():
        fig, ax = plotting.figure()
        ax.plot([0, 1], [0, 1], linewidth=2, gid="line", **plotting.style(name))
        svg = io.StringIO()
        fig.savefig(svg, format="svg")
        plotting.plt.close(fig)
        (group,) = xml.etree.ElementTree.fromstring(svg.getvalue()).iterfind(".//*[@id='line']")
        drawn = dict(pair.split(": ") for pair in group[0].get("style").split("; "))
        theirs = drawn.get("stroke-dasharray", "none").replace(",", " ")
        assert look["dashes"] == theirs, name
