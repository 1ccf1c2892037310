"""Which letters of a page are hard to read (WCAG 2.2, contrast of text)."""

import io

import matplotlib.pyplot as plt
import numpy as np
from colours import contrast
from playwright.sync_api import Locator

# Texts of a page, and groups of outlined letters, which are what Matplotlib's figures have. Each
# has its colour, red, green, blue and opacity, and its place within the root.
LETTERS = """(root, outlined) => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].map(x => x / 255);
  };
  const groups = [...root.querySelectorAll(outlined)].map(use => use.closest("g[transform]"));
  const letters = [...new Set(groups)].map(group => ({ owner: group.querySelector("use"),
    box: group.getBoundingClientRect(), text: group.id }));
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let text; (text = walker.nextNode());) {
    const range = document.createRange();
    range.selectNodeContents(text);
    letters.push({ owner: text.parentElement, box: range.getBoundingClientRect(),
      text: text.data.trim() });
  }
  const origin = root.getBoundingClientRect();
  return letters.flatMap(({ owner, box, text }) => {
    const style = getComputedStyle(owner), drawn = owner.namespaceURI.endsWith("svg");
    const unseen = style.visibility !== "visible" || owner.closest(
      "style, title, desc, metadata, .explorable-spoken, figcaption, select, :disabled");
    if (unseen || box.width < 1 || (owner.localName !== "use" && !text)) return [];
    const color = rgba(drawn ? style.fill : style.color);
    for (let e = owner; e && e !== root; e = e.parentElement)
      color[3] *= getComputedStyle(e).opacity;
    if (drawn) color[3] *= style.fillOpacity;
    const [x, y] = [box.x - origin.x, box.y - origin.y];
    return [{ text: text || `${Math.round(x)}, ${Math.round(y)}`, color,
      box: [x, y, box.width, box.height] }];
  });
}"""

OUTLINED = 'use:is([*|href^="#DejaVu"], [*|href^="#STIX"])'
NO_LETTERS = f"""* {{ color: transparent !important }}
svg text, svg tspan, {OUTLINED} {{ fill: transparent !important }}"""

HIDE = """(root, rules) => {
  const style = document.createElementNS(root.namespaceURI, "style");
  style.textContent = rules;
  return root.appendChild(style);
}"""


def faint_letters(root: Locator) -> dict[str, float]:
    """The texts within an element whose contrast is below 4.5 to what most of them stands on."""
    letters = root.evaluate(LETTERS, OUTLINED)
    assert letters
    style = root.evaluate_handle(HIDE, NO_LETTERS)
    pixels = plt.imread(io.BytesIO(root.screenshot(animations="disabled")))
    style.evaluate("style => style.remove()")
    faint = {}
    for letter in letters:
        x, y, width, height = letter["box"]
        behind = pixels[max(round(y), 0) : round(y + height), max(round(x), 0) : round(x + width)]
        shades, counts = np.unique(behind[..., :3].reshape(-1, 3), axis=0, return_counts=True)
        ground = shades[counts.argmax()]
        *color, opacity = letter["color"]
        seen = opacity * np.array(color) + (1 - opacity) * ground
        if contrast(seen, ground) < 4.5:
            faint[letter["text"]] = round(float(contrast(seen, ground)), 2)
    return faint
