"""The command that makes roots and brackets of the formulas' font fit in Chromium::

    python book/_ext formula_font

Chromium reserves for a root the advance of the widest radical that the font has, and draws the one
that fits: behind the radical of a line there was a gap of 0.42 em, and behind a bracket that grows
with what it holds one of 0.2 em. So all sizes of a radical get the advance of the smallest, and are
drawn narrower by as much. High brackets would be too thin, and may be wider by a part. Fractions
within a line become as high as TeX sets them, and indices and exponents stand on one level, whether
or not the letter beside them goes below the line or high above it. Run it after the font of the
style sheet has been made anew; it does nothing to one that is done. (The font's license reserves no
name.)
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from io import BytesIO
from pathlib import Path

from fontTools.ttLib import TTFont

STYLE = Path(__file__).parents[2] / "_theme" / "sdpa" / "static" / "formula_font.css"
FONT = re.compile(r'(?<=base64,)[^"]+')
WIDEST = {"√": 1.0, **dict.fromkeys("()[]{}⌊⌋", 1.3)}
"""How many times as wide as its smallest size a sign may be."""

CONSTANTS = {
    "FractionNumeratorShiftUp": 394,
    "FractionDenominatorShiftDown": 345,
    "SubscriptBaselineDropMin": 0,
    "SuperscriptBaselineDropMax": 350,
}
"""Distances within formulas, in thousandths of an em."""


def read(style: str) -> TTFont:
    """The font that a style sheet holds."""
    embedded = FONT.search(style)
    if embedded is None:
        raise ValueError('a style sheet holds its font after "base64,"; this one has none')
    return TTFont(BytesIO(b64decode(embedded[0])), recalcTimestamp=False)


def sizes(font: TTFont, sign: str) -> list[str]:
    """The glyphs of which a sign is made: those for its sizes, the smallest first, and the pieces
    of the largest.
    """
    variants, smallest = font["MATH"].table.MathVariants, font.getBestCmap()[ord(sign)]
    place = variants.VertGlyphCoverage.glyphs.index(smallest)
    construction = variants.VertGlyphConstruction[place]
    glyphs = [variant.VariantGlyph for variant in construction.MathGlyphVariantRecord]
    return glyphs + [piece.glyph for piece in construction.GlyphAssembly.PartRecords]


def fit(font: TTFont) -> None:
    """Make what is too wide narrower, by its advance and its drawing."""
    for sign, limit in WIDEST.items():
        smallest, *others = sizes(font, sign)
        advance = round(limit * font["hmtx"][smallest][0])
        for name in others:
            if font["hmtx"][name][0] <= advance:
                continue
            glyph, factor = font["glyf"][name], advance / font["hmtx"][name][0]
            glyph.coordinates.scale((factor, 1))
            glyph.coordinates.toInt()
            glyph.recalcBounds(font["glyf"])
            font["hmtx"][name] = (advance, glyph.xMin)


def set_distances(font: TTFont) -> None:
    """Set parts of formulas nearer to the line."""
    for name, value in CONSTANTS.items():
        getattr(font["MATH"].table.MathConstants, name).Value = value


def main() -> None:
    style, written = STYLE.read_text(encoding="utf-8"), BytesIO()
    font = read(style)
    fit(font)
    set_distances(font)
    font.save(written)
    STYLE.write_text(FONT.sub(b64encode(written.getvalue()).decode(), style), encoding="utf-8")


if __name__ == "__main__":
    main()
