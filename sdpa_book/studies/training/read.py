"""What is stored of the training study, and what its chapters ask of it: the runs that report, and
the tests of the declared contrasts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from sdpa_book.studies.tasks import TASKS
from sdpa_book.studies.training.censoring import Median, holm, log_rank, median_time
from sdpa_book.studies.training.plan import Cell, Comparison, Record, Run, best_rate, by_scaling

STORED = Path(__file__).parent / "results" / "cpu.jsonl"
"""The runs that come with the book."""

LEVEL = 0.05
"""The chance that any contrast of a study is called a difference where there is none."""


def load_study(path: Path = STORED) -> tuple[list[dict[str, Any]], list[Record]]:
    """The provenances and the records of a study.

    A last line that an interruption cut off is left out.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a line is no record, and not the last one.

    Example:
        >>> provenances, records = load_study()
        >>> provenances[0]["settings"]["learned"]
        0.9
    """
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines.pop()
    if not lines:
        raise ValueError(
            f"path must hold a study, its provenance in the first line, got {path}, which has no "
            f"whole line"
        )
    provenances, records = [], []
    for number, line in enumerate(lines, start=1):
        try:
            parsed = json.loads(line)
            if "task" in parsed:
                records.append(_record(parsed))
            else:
                provenances.append(parsed)
        except (json.JSONDecodeError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(
                f"path must hold one JSON object a line, a provenance or a run, got {path}, line "
                f"{number}: {error}"
            ) from None
    return provenances, records


def _record(line: dict[str, Any]) -> Record:
    cell = Cell(**{f.name: line.pop(f.name) for f in fields(Cell) if f.name in line})
    run = Run(cell, line.pop("scaling"), line.pop("rate"), line.pop("seed"))
    return Record(run=run, **line)


def reported(records: Iterable[Record], comparison: Comparison) -> dict[str, list[Record]]:
    """The runs that report, each at the rate that was chosen for its fold, by scaling and in the
    order of seeds. A scaling whose runs are not all made is left out.

    Example:
        >>> from sdpa_book.studies.training import load_plan, load_study, reported
        >>> comparison = load_plan()["recall, d_k 64"]
        >>> len(reported(load_study()[1], comparison)["sqrt_d_k"])
        10
    """
    table = by_scaling(records, comparison.cell)
    n_folds = TASKS[comparison.cell.task].n_folds
    complete = {}
    for scaling in comparison.scalings:
        rates = table.get(scaling, {})
        chosen = [best_rate(comparison, rates, fold) for fold in range(n_folds)]
        runs = [
            rates.get(rate, {}).get(seed) if (rate := chosen[seed % n_folds]) is not None else None
            for seed in range(comparison.reporting)
        ]
        if all(runs):
            complete[scaling] = [run for run in runs if run is not None]
    return complete


class Contrast(NamedTuple):
    """A declared contrast and its test.

    Attributes:
        comparison: the name of the comparison that declares it.
        scaling: what is compared.
        against: with what it is compared.
        median: of the runs with ``scaling``.
        other: of those with ``against``.
        p_value: of :func:`log_rank` over all relabelings.
        adjusted: the same after Holm's correction for all contrasts of the study.
    """

    comparison: str
    scaling: str
    against: str
    median: Median
    other: Median
    p_value: float
    adjusted: float

    @property
    def verdict(self) -> str:
        """``"later"``, ``"sooner"``, or what a test can say of no difference."""
        if self.adjusted >= LEVEL:
            return "no difference shown"
        return "later" if self.median.steps > self.other.steps else "sooner"


def contrasts(records: Iterable[Record], comparisons: Mapping[str, Comparison]) -> list[Contrast]:
    """Every declared contrast whose runs are made, tested and corrected for the number of all that
    are declared.
    """
    records = list(records)
    declared = sum(len(comparison.contrasts) for comparison in comparisons.values())
    tested = []
    for name, comparison in comparisons.items():
        runs = reported(records, comparison)
        for scaling in comparison.contrasts:
            if scaling in runs and comparison.against in runs:
                ours, theirs = runs[scaling], runs[comparison.against]
                medians = median_time(ours), median_time(theirs)
                p_value = log_rank(ours, theirs).p_value
                tested.append(Contrast(name, scaling, comparison.against, *medians, p_value, 1.0))
    adjusted = holm([contrast.p_value for contrast in tested], declared)
    return [c._replace(adjusted=p) for c, p in zip(tested, adjusted, strict=True)]


def sweep(
    records: Iterable[Record], comparison: Comparison, scaling: str
) -> list[tuple[float, float, bool]]:
    """Of the seeds that choose: for each learning rate the mean of their times, and whether they
    all learned; where not, the mean is known to be longer.
    """
    rates = by_scaling(records, comparison.cell).get(scaling, {})
    rows = []
    for rate, seeds in rates.items():
        runs = [record for record in seeds.values() if record.run.chooses]
        if runs:
            times = sum(record.time for record in runs) / len(runs)
            rows.append((10**rate, times, all(r.learned_at is not None for r in runs)))
    return rows
