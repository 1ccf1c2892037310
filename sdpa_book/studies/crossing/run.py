"""The crossing is made as the training study makes its runs."""

from sdpa_book.studies.training.run import make

__all__ = ["make"]
