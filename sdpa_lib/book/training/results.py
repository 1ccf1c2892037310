"""The stored study: a line of JSON for its provenance, then one for each run.

Runs that other versions made follow a provenance of their own.
"""

from __future__ import annotations

import json
import multiprocessing
import platform
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

import sdpa_lib
from sdpa_lib.book.training import study as plans
from sdpa_lib.book.training.study import STUDY, Cell, Record, Run, plan, train
from sdpa_lib.device import get_device

STORED = Path(__file__).parent / "results" / "cpu.jsonl"
"""The results that come with the library."""


def provenance(device: torch.device) -> dict[str, Any]:
    """What decides a study's figures besides the seeds that stand in each run."""
    return {
        "settings": {
            "seeds": plans.SEEDS,
            "sweep_seeds": plans.SWEEP_SEEDS,
            "warm_up": plans.WARM_UP,
            "log_every": plans.LOG_EVERY,
            "tasks": {name: repr(task) for name, task in plans.TASKS.items()},
            "rates": plans.RATES,
            "limits": plans.LIMITS,
            "model": "d_model 32, 2 heads",
        },
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in ("torch", "numpy", "scikit-learn")}
        | {"sdpa-lib": sdpa_lib.__version__},
        "device": torch.cuda.get_device_name(device)
        if device.type == "cuda"
        else f"{platform.machine()} {device.type}",
    }


def load_study(path: Path = STORED) -> tuple[dict[str, Any], list[Record]]:
    """The provenance and the records of a study.

    A last line that an interruption cut off is left out.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a line is no record, and not the last one.

    Example:
        >>> provenance, records = load_study()
        >>> provenance["settings"]["seeds"]
        5
    """
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines.pop()
    if not lines:
        raise ValueError(
            f"path must hold a study, its provenance in the first line, got {path}, which has no "
            f"whole line"
        )
    parsed = []
    for number, line in enumerate(lines, start=1):
        try:
            parsed.append(json.loads(line))
        except json.JSONDecodeError as error:
            raise ValueError(
                f"path must hold one JSON object a line, got {path}, line {number}: {error}"
            ) from None
    return parsed[0], [_record(line) for line in parsed if "run" in line]


def make_study(
    path: Path, study: Mapping[Cell, tuple[str, ...]] = STUDY, *, workers: int = 1
) -> None:
    """Make all runs of a study that ``path`` does not hold yet, and append them.

    Args:
        path: the file; made when it is not there.
        study: the cells, with the scalings that each compares.
        workers: how many runs are made at a time, each with one thread.

    Raises:
        ValueError: the file holds a study with other settings or of another device: two studies
            don't mix. Runs of other versions do, and follow a line that says which.
    """
    records = _open(path)
    with (
        path.open("a", encoding="utf-8") as file,
        ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), _start_worker) as pool,
        tqdm(desc="runs", initial=len(records), disable=None) as bar,
    ):
        while runs := plan(records, study):
            bar.total = len(records) + len(runs)  # a sweep's outcome may call for more
            for done in as_completed([pool.submit(train, run) for run in runs]):
                records.append(done.result())
                file.write(_to_line(records[-1]))
                file.flush()
                bar.update()


def _open(path: Path) -> list[Record]:
    """The records that a file holds; a file that is not there yet is begun, a line cut off at the
    end is removed, and where versions have changed since, a line says which come next.
    """
    here = json.loads(json.dumps(provenance(get_device())))
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(here) + "\n", encoding="utf-8")
    text = path.read_text(encoding="utf-8")
    there, records = load_study(path)
    if changed := [name for name in ("settings", "device") if there.get(name) != here[name]]:
        raise ValueError(
            f"path must hold a study made like this one, got {path}, with other "
            f"{' and '.join(changed)}; give another path"
        )
    whole = text[: text.rindex("\n") + 1]
    last = [line for line in map(json.loads, whole.splitlines()) if "run" not in line][-1]
    if last != here:
        whole += json.dumps(here) + "\n"
    if whole != text:
        path.write_text(whole, encoding="utf-8")
    return records


def _start_worker() -> None:
    torch.set_num_threads(1)
    # weights of saturated rows underflow, and would make the CPU ten times slower
    torch.set_flush_denormal(True)


def _to_line(record: Record) -> str:
    return json.dumps(asdict(record), allow_nan=False) + "\n"


def _record(line: dict[str, Any]) -> Record:
    cell, scaling, rate, seed = line.pop("run")
    return Record(run=Run(Cell(*cell), scaling, rate, seed), **line)
