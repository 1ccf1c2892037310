"""What more than one check asks of the stored decoders of chapter 10."""

from __future__ import annotations

from functools import cache

import torch

from sdpa_book.studies.heads.read import LONGER, STORED, WIDE, load_results
from sdpa_book.writing.measured import Measured, mean_and_error


@cache
def of_the_root(name: str, study: str = "stored") -> tuple[Measured, Measured]:
    """A figure of the decoders with the root, by its name in the results: the mean over heads at
    the start and at the end, over the seeds that there are.

    Args:
        name: of the figure.
        study: ``"stored"``, 600 steps; ``"longer"``, 2,400; or ``"wide"``, heads of 64.
    """
    path = {"stored": STORED, "longer": LONGER, "wide": WIDE}[study]
    runs = [r for r in load_results(path).results.values() if r.run.scaling == "sqrt_d_k"]
    start, end = (torch.stack([r.figures[name][i].mean() for r in runs]) for i in (0, -1))
    if len(runs) == 1:
        return Measured(start.item(), 0.0), Measured(end.item(), 0.0)
    return mean_and_error(start), mean_and_error(end)
