"""How light colours are, and how far two stand apart (WCAG 2.2, contrast ratio)."""

import matplotlib as mpl
import numpy as np


def rgb(colour):
    return np.array(mpl.colors.to_rgb(colour))


def linear(values):
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(first, second):
    light, dark = sorted(
        (linear(x) @ [0.2126, 0.7152, 0.0722] + 0.05 for x in (first, second)), reverse=True
    )
    return light / dark
