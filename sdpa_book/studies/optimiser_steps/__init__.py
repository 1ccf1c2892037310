"""How far a step of training moves the scores: five optimisers, several powers of ``d_k``."""

from sdpa_book.studies.optimiser_steps.plan import (
    D_MODEL,
    FINE,
    FIRST_POWERS,
    MANY_WIDTHS,
    OPTIMISERS,
    RATE_WIDTHS,
    SHAPES,
    WIDTHS,
)
from sdpa_book.studies.optimiser_steps.problem import (
    Problem,
    excess,
    first_step,
    make_problem,
    scores,
)
from sdpa_book.studies.optimiser_steps.read import exponent, load_steps
