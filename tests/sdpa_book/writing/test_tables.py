"""Cells of tables, and the figures with standard errors in them."""

import math

import pytest

from sdpa_book.writing.tables import Table


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ((63.9417, 0.2874), "63.94 ± 0.29"),
        ((1234.5, 56.0), "1234 ± 56"),
        ((1.5, 0.0), "1.500 ± 0"),
        ((1.5, math.nan), "1.500 ± nan"),
        ((1.5, math.inf), "1.500 ± inf"),
        ((math.nan, 0.1), "nan ± 0.10"),
        ((-math.inf, math.nan), "-inf ± nan"),
        ((1.5, 1e-300), "1.500 ± 1.0e-300"),
        ((1e300, 1e298), "1.000e300 ± 1.0e298"),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
        (1e300, "1.000e300"),
    ],
)
def test_every_number_has_a_cell(cell, text):
    table = Table({"figure": [cell]})
    assert repr(table).splitlines()[1].strip() == text
    assert f'<td class="number">{text}</td>' in table._repr_html_()
