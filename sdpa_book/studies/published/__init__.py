"""Released models: what the heads of two models that others trained are like, and what another
divisor costs them.
"""

from sdpa_book.studies.published.plan import load_plan
from sdpa_book.studies.published.read import effective_keys, load_published
