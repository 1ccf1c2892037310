"""Divisor, start and warm-up crossed: does the delay follow the spread of fresh scores?"""

from sdpa_book.studies.crossing.plan import load_plan
from sdpa_book.studies.crossing.read import (
    Gap,
    Group,
    groups,
    load_crossing,
    rank_correlation,
    widest_gap,
)
