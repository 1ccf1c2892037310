"""Training under every scaling: a small Transformer, two tasks, and when it learns."""

from sdpa_book.studies.training.censoring import (
    holm,
    log_rank,
    median_time,
    ratio_of_ratios,
    step_down,
    survival,
    times_as_long,
)
from sdpa_book.studies.training.plan import Cell, Run, load_plan
from sdpa_book.studies.training.read import contrasts, load_study, reported, sweep
from sdpa_book.studies.training.run import make_model, train
