"""Trained heads: a small decoder on the source of Python's standard library, under several
scalings, and what its queries and keys are like.
"""

from sdpa_book.studies.heads.plan import SCALINGS, DecoderRun, load_plan, rate_at
from sdpa_book.studies.heads.read import (
    LONGER,
    STORED,
    WIDE,
    load_causal,
    load_results,
    load_values,
    load_vectors,
    mean_over_heads,
)
from sdpa_book.studies.heads.run import PLACED
