"""Run the benchmarks on the device at hand.

A report of which every part is run is stored in benchmarks/results, which the book reads. Of single
parts the tables are only printed, if --out does not say where to store them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks import costs, watching
from benchmarks.reports import RESULTS, Report, store
from sdpa_lib._checks import unknown_name

REPORTS = {"costs": costs.REPORT, "watching": watching.REPORT}


def chosen(names: Iterable[str], reports: Mapping[str, Report]) -> dict[str, list[str]]:
    """By report the parts that are named, or all.

    Args:
        names: reports, such as ``"watching"``, and parts, such as ``"costs.attention"``. Without
            any, everything.

    Raises:
        ValueError: a name is not known.

    Example:
        >>> chosen(["costs.memory", "costs.limits"], REPORTS)
        {'costs': ['limits', 'memory']}
    """
    parts = {name: [f"{name}.{part}" for part in report.parts] for name, report in reports.items()}
    known = [*reports, *(part for own in parts.values() for part in own)]
    named = set(names) or set(reports)
    for name in sorted(named):
        if name not in known:
            raise unknown_name("benchmark", name, known)
    run = {
        name: [part for part in report.parts if named & {name, f"{name}.{part}"}]
        for name, report in reports.items()
    }
    return {name: own for name, own in run.items() if own}


def main(arguments: Sequence[str] | None = None, reports: Mapping[str, Report] = REPORTS) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"{' or '.join(reports)}, or a part, such as costs.attention (default: everything)",
    )
    budgets = " or ".join(f"{report.budget:g} for {name}" for name, report in reports.items())
    parser.add_argument(
        "--budget",
        type=float,
        metavar="SECONDS",
        help=f"for each comparison (default: {budgets})",
    )
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="where results are stored instead"
    )
    options = parser.parse_args(arguments)
    try:
        runs = chosen(options.names, reports)
    except ValueError as error:
        parser.error(str(error))
    for name, parts in runs.items():
        report = reports[name]
        budget = report.budget if options.budget is None else options.budget
        results = report.measure(parts, budget)
        table = report.table(results)
        if options.out is not None or len(parts) == len(report.parts):
            store(results, table, (options.out or RESULTS) / report.folder)
        print(table)


if __name__ == "__main__":
    main()
