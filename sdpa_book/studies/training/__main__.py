"""Make the study, or go on with it: ``python -m sdpa_book.studies.training``.

Each run is stored as soon as it is done. An interrupted study goes on where it stopped when the
command is given again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import joblib

from sdpa_book.studies.training.plan import DECLARED, load_comparisons
from sdpa_book.studies.training.results import STORED, make_study


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m sdpa_book.studies.training", description=__doc__
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=STORED,
        help="the file, begun or gone on with (default: the library's own)",
    )
    parser.add_argument(
        "--study",
        type=Path,
        default=DECLARED,
        help="the comparisons to make, a TOML file (default: those of the book)",
    )
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="NAME",
        help="comparisons of the file (default: all of them)",
    )
    parser.add_argument(
        "--workers",
        type=int,
        default=joblib.cpu_count(),
        help="runs at a time (default: one for each core that this process may use)",
    )
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="a Dask scheduler, such as tcp://10.0.0.1:8786, whose workers make the runs instead",
    )
    options = parser.parse_args()
    comparisons = load_comparisons(options.study)
    if unknown := set(options.only or ()) - set(comparisons):
        parser.error(f"--only must name comparisons of {options.study}, got {sorted(unknown)}")
    make_study(
        options.out,
        [comparisons[name] for name in options.only or comparisons],
        workers=options.workers,
        scheduler=options.scheduler,
    )


if __name__ == "__main__":
    main()
