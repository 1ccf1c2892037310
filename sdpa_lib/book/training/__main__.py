"""Make the study, or go on with it: ``python -m sdpa_lib.book.training``.

Each run is stored as soon as it is done. An interrupted study goes on where it stopped when the
command is given again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import joblib

from sdpa_lib.book.training.results import STORED, make_study


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m sdpa_lib.book.training", description=__doc__)
    parser.add_argument(
        "--out",
        type=Path,
        default=STORED,
        help="the file, begun or gone on with (default: the library's own)",
    )
    parser.add_argument(
        "--workers",
        type=int,
        default=joblib.cpu_count(),
        help="runs at a time (default: one for each core that this process may use)",
    )
    options = parser.parse_args()
    make_study(options.out, workers=options.workers)


if __name__ == "__main__":
    main()
