"""The tests compute with the number of threads that the book's package sets."""

import sdpa_book  # noqa: F401
