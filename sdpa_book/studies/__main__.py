"""Make a study, or go on with it.

What is stored is not made again. Ctrl-C says what is stored, and the same command goes on from
there, and from checkpoints that are at most five minutes old. Without --plan it is the book's, and
its results are stored with the book.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path

import joblib

from sdpa_book.studies import NAMES


def main() -> None:
    """The command."""
    plans = {name: import_module(f"sdpa_book.studies.{name}.plan") for name in NAMES}
    parser = argparse.ArgumentParser(
        prog="python -m sdpa_book.studies",
        description=__doc__,
        epilog="the studies, and how long they take on one core: "
        + "; ".join(f"{name}, {plan.TAKES}" for name, plan in plans.items()),
    )
    parser.add_argument("name", choices=NAMES, help="the study")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="where results are stored, or gone on with (default: the study's folder results)",
    )
    parser.add_argument(
        "--plan",
        type=Path,
        metavar="FILE",
        help="a plan of your own, like the study's plan.toml; give --out as well",
    )
    parser.add_argument(
        "--only", nargs="+", metavar="TABLE", help="tables of the plan (default: all of them)"
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
    if options.plan is not None and options.out is None:
        parser.error("--plan needs --out: the default folder holds the results of the book's plan")
    if options.workers < 1:
        parser.error(f"--workers must be at least 1, got {options.workers}")
    declared = plans[options.name].DECLARED
    out = declared.parent / "results" if options.out is None else options.out
    try:
        plan = plans[options.name].load_plan(options.plan or declared)
        if unknown := sorted(set(options.only or ()) - set(plan)):
            parser.error(f"--only must name tables of the plan, {', '.join(plan)}, got {unknown}")
        chosen = {name: plan[name] for name in options.only or plan}
        run = import_module(f"sdpa_book.studies.{options.name}.run")
        run.make(out, chosen, workers=options.workers, scheduler=options.scheduler)
    except (ValueError, FileNotFoundError) as error:
        parser.error(str(error))
    except KeyboardInterrupt as interrupted:
        print(str(interrupted) or "Interrupted.", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
