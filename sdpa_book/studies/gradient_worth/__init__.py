"""Why louder gradients learn later: what the gradient of W_Q is worth, with each divisor."""

from sdpa_book.studies.gradient_worth.plan import load_plan
from sdpa_book.studies.gradient_worth.read import load_worth, mean, shared
