"""The command that makes roots of the formulas' font fit in Chromium::

    python book/_ext/formula_font.py

Chromium reserves for a root the advance of the widest radical that the font has, and draws the one
that fits: behind the radical of a line there was a gap of 0.42 em. So all radicals get the advance
of the smallest, and are drawn narrower by as much. Run it after the font of the style sheet has
been made anew; it does nothing to one that is done. (The font's license reserves no name.)
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from io import BytesIO
from pathlib import Path

from fontTools.ttLib import TTFont

STYLE = Path(__file__).parents[1] / "_theme" / "sdpa" / "static" / "formula_font.css"
FONT = re.compile(r'(?<=base64,)[^"]+')


def read(style: str) -> TTFont:
    """The font that a style sheet holds."""
    found = FONT.search(style)
    if found is None:
        raise ValueError('a style sheet holds its font after "base64,"; this one has none')
    return TTFont(BytesIO(b64decode(found[0])), recalcTimestamp=False)


def radicals(font: TTFont) -> list[str]:
    """The glyphs of which a root is made: those for lower and higher roots, and the pieces of the
    highest.
    """
    variants, smallest = font["MATH"].table.MathVariants, font.getBestCmap()[ord("√")]
    place = variants.VertGlyphCoverage.glyphs.index(smallest)
    made = variants.VertGlyphConstruction[place]
    glyphs = [variant.VariantGlyph for variant in made.MathGlyphVariantRecord]
    return glyphs + [piece.glyph for piece in made.GlyphAssembly.PartRecords]


def fit(font: TTFont) -> None:
    """Give all radicals the advance of the smallest."""
    smallest, *others = radicals(font)
    advance = font["hmtx"][smallest][0]
    for name in others:
        glyph, factor = font["glyf"][name], advance / font["hmtx"][name][0]
        glyph.coordinates.scale((factor, 1))
        glyph.coordinates.toInt()
        glyph.recalcBounds(font["glyf"])
        font["hmtx"][name] = (advance, glyph.xMin)


def main() -> None:
    style, written = STYLE.read_text(encoding="utf-8"), BytesIO()
    font = read(style)
    fit(font)
    font.save(written)
    STYLE.write_text(FONT.sub(b64encode(written.getvalue()).decode(), style), encoding="utf-8")


if __name__ == "__main__":
    main()
