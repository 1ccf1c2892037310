"""No text of a figure stands on its data, on another text, or beyond the edge; all are dark enough
on their ground, in the dark theme light enough, and on a phone large enough.

The drawings are looked at as a browser shows them, those for a wide column and those for a narrow
one: what is wrong at drawing (``svg.collisions``) and what goes wrong after it is found alike.
"""

import re
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pytest

from sdpa_book.drawing import plotting
from sdpa_book.drawing.svg import svg
from tests.site.browser import SITE
from tests.site.letters import faint_letters

FONT = "DejaVuSans-"

# Matplotlib clips the data to its axes, and nothing else. A tenth of a letter's height may touch.
FAULTS = """font => {
  const named = (use) => use.getAttribute("xlink:href");
  const root = document.documentElement.getBoundingClientRect();
  const letters = [...document.querySelectorAll("use")].filter(use => named(use).includes(font));
  const groups = new Set(letters.map(use => use.closest("g[transform]")));
  const frames = [...document.querySelectorAll('path[style*="stroke: #cccccc"]')];
  const box = element => {
    const { left, right, top, bottom } = element.getBoundingClientRect();
    const room = groups.has(element) ? Math.min(right - left, bottom - top) / 10 : 0;
    return { left: left + room, right: right - room, top: top + room, bottom: bottom - room };
  };
  const at = ({ left, top }) => `${Math.round(left)}, ${Math.round(top)}`;
  const within = (b, p) => b.left < p.x && p.x < b.right && b.top < p.y && p.y < b.bottom;
  const data = [];
  for (const path of document.querySelectorAll("path[clip-path]")) {
    const { stroke } = getComputedStyle(path);
    if (stroke === "none" || stroke === "rgb(217, 221, 227)") continue; // an area, the grid
    const clip = document.querySelector(path.getAttribute("clip-path").slice(4, -1));
    const axes = clip.firstElementChild.getBBox(), length = path.getTotalLength();
    for (let along = 0; along <= length; along += 1.5) {
      const point = path.getPointAtLength(along);
      const { x, y } = point;
      if (axes.x <= x && x <= axes.x + axes.width && axes.y <= y && y <= axes.y + axes.height)
        data.push(point.matrixTransform(path.getScreenCTM()));
    }
  }
  for (const marker of document.querySelectorAll("g[clip-path] use")) {
    const { left, right, top, bottom } = marker.getBoundingClientRect();
    data.push({ x: (left + right) / 2, y: (top + bottom) / 2 });
  }
  const faults = [], texts = [...groups].map(box);
  for (const b of [...texts, ...frames.map(box)])
    if (data.some(point => within(b, point))) faults.push(`data behind the text at ${at(b)}`);
  texts.forEach((a, i) => texts.slice(0, i).forEach(b => {
    if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)
      faults.push(`the texts at ${at(a)} and at ${at(b)} meet`);
  }));
  for (const b of texts)
    if (b.left < root.left || b.right > root.right || b.top < root.top || b.bottom > root.bottom)
      faults.push(`the text at ${at(b)} is cut`);
  return faults;
}"""

NARROWEST = """() => Math.min(...[...document.querySelectorAll("clipPath > rect")]
  .map(axes => axes.width.baseVal.value / document.documentElement.viewBox.baseVal.width))"""

# The height of the smallest letters that are not raised or lowered, in a column of 325 px, which a
# phone of 360 has: 9.2 there are 10 px on a phone of 390. Matplotlib's outlines are 100 units high.
LEAST = """font => {
  const size = (use) => {
    const { a, b } = use.closest("g[transform]").transform.baseVal.consolidate().matrix;
    return 100 * Math.hypot(a, b);
  };
  const letters = [...document.querySelectorAll(`use[*|href*="${font}"]`)];
  return Math.min(...letters.map(size)) * 325 / document.documentElement.viewBox.baseVal.width;
}"""


def drawings(kind: str) -> list[Path]:
    """Those that a page shows. The folder may have others, from builds before."""
    pages = "".join(page.read_text(encoding="utf-8") for page in SITE.rglob("*.html"))
    names = re.findall(rf'_images/({kind}[^"]+\.svg)"', pages)
    return [SITE / "_images" / name for name in sorted(set(names))]


@pytest.fixture
def look(tab):
    """What a script finds in each of some drawings, by name."""
    page, _ = tab("about:blank")

    def look_at(script: str, *files: Path) -> dict[str, Any]:
        by_drawing = {}
        for file in files:
            page.goto(file.as_uri())
            by_drawing[file.name] = page.evaluate(script, FONT)
        return by_drawing

    return look_at


@pytest.mark.parametrize("kind", ["narrow_", "(?!narrow_)"])
def test_no_text_of_a_figure_is_cut_or_stands_on_data(look, kind):
    by_drawing = look(FAULTS, *drawings(kind))
    assert len(by_drawing) > 30
    assert {name: faults for name, faults in by_drawing.items() if faults} == {}


def test_on_a_phone_the_data_has_two_fifths_of_the_width(look):
    shares = look(NARROWEST, *drawings("narrow_"))
    assert {name: share for name, share in shares.items() if share < 0.4} == {}


def test_every_figure_has_a_drawing_for_a_phone_with_letters_large_enough(look):
    pages = {
        page.relative_to(SITE).as_posix(): page.read_text(encoding="utf-8")
        for page in SITE.rglob("*.html")
    }
    one = r"<picture[^>]*><img"
    assert [name for name, text in pages.items() if re.search(one, text)] == []
    sizes = look(LEAST, *drawings("narrow_"))
    assert {name: size for name, size in sizes.items() if size < 9.2} == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["narrow_", "(?!narrow_)"])
def test_every_text_of_a_figure_has_a_contrast_of_4_5_to_its_ground(tab, kind, theme):
    page, _ = tab("about:blank", theme=theme)
    faint = {}
    for file in drawings(kind):
        page.goto(file.as_uri())
        faint[file.name] = faint_letters(page.locator(":root"))
    assert len(faint) > 30
    assert {name: texts for name, texts in faint.items() if texts} == {}


@pytest.mark.parametrize(("ground", "faint"), [("white", 1), (plotting.INK, 0)])
def test_white_letters_are_faint_on_white_alone(tab, tmp_path, ground, faint):
    figure = plt.figure(facecolor=ground)
    figure.text(0.5, 0.5, "white", color="white")
    file = tmp_path / "white.svg"
    file.write_text(svg(figure), encoding="utf-8")
    plt.close(figure)
    page, _ = tab(file.as_uri())
    assert len(faint_letters(page.locator(":root"))) == faint


def test_what_covers_data_is_found(look, tmp_path):
    figure, ax = plotting.figure()
    ax.plot([0, 1], [0, 1], label="rising")
    ax.text(0.5, 0.5, "on the line", ha="center", va="center")
    ax.text(0.2, 0.8, "one text", ha="center")
    ax.text(0.2, 0.8, "another", ha="center")
    ax.vlines(0.7, 0.1, 0.3)
    ax.text(0.7, 0.2, "on a bar of an error", ha="center")
    ax.legend(loc="upper right")  # its text and its frame
    file = tmp_path / "covered.svg"
    file.write_text(svg(figure), encoding="utf-8")
    plt.close(figure)
    faults = [fault.split(" at ")[0] for fault in look(FAULTS, file)[file.name]]
    assert faults == [*["data behind the text"] * 4, "the texts"]


@pytest.mark.parametrize(("width", "least", "most"), [(1280, 12, 15.5), (390, 10, 13)])
def test_the_letters_of_a_diagram_fit_the_width(tab, width, least, most):
    """Of a drawing by hand the style says how large its letters are; those of an index are less."""
    page, _ = tab("about:blank")
    for name in ("shapes", "small_large_dk"):
        file = SITE / "_static" / "diagrams" / f"{name}.svg"
        text_width = min(width, 704)  # the width of a text, or that of a phone
        page.set_viewport_size({"width": text_width, "height": 900})
        page.goto(file.as_uri())
        page.evaluate("document.documentElement.style.width = '100%'")
        sizes = page.evaluate(
            """() => [...document.querySelectorAll("text")]
              .filter(text => text.getAttribute("font-size") < 26)  // no operator
              .map(text => parseFloat(getComputedStyle(text).fontSize))"""
        )
        scale = text_width / 760
        assert least <= min(sizes) * scale
        assert max(sizes) * scale <= most


def test_a_diagram_has_the_width_of_a_phone(tab, base):
    page, _ = tab(f"{base}book/02_dot_products_grow.html", width=390)
    assert page.locator("img.diagram").first.bounding_box()["width"] == pytest.approx(390, abs=1)


def test_the_focus_of_a_slider_surrounds_its_name_its_value_and_its_ticks(tab, base):
    opened, _ = tab(f"{base}book/02_dot_products_grow.html", width=390)
    control = opened.locator(".explorable-control:has(input[type=range])").first
    slider = control.locator("input")
    slider.focus()
    opened.keyboard.press("ArrowRight")
    outline = "node => getComputedStyle(node).outlineStyle"
    assert slider.evaluate(outline) == "none"
    assert control.evaluate(outline) == "solid"
    around = control.bounding_box()
    for part in control.locator(":is(label, output, .explorable-marks)").all():
        box = part.bounding_box()
        assert around["y"] <= box["y"]
        assert box["y"] + box["height"] <= around["y"] + around["height"] + 3
