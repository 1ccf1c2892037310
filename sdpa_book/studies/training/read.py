"""The stored study: a line of JSON for its provenance, then one for each run.

A run made elsewhere, with other versions or on another device, is kept like any other: it says what
it ran on, and a line before it the versions.
"""

from __future__ import annotations

import json
import multiprocessing
import platform
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

import sdpa_lib
from sdpa_book.studies.training import study
from sdpa_book.studies.training.plan import Comparison, Job, plan
from sdpa_book.studies.training.study import Cell, Record, Run, device_name, train
from sdpa_book.studies.training.tasks import TASKS
from sdpa_lib.device import get_device

STORED = Path(__file__).parent / "results" / "cpu.jsonl"
"""The results that come with the library."""


def provenance(device: torch.device) -> dict[str, Any]:
    """What decides a study's figures besides what stands in each run."""
    return {
        "settings": {
            "learned": study.LEARNED,
            "stay": study.STAY,
            "every": study.EVERY,
            "warm_up": study.WARM_UP,
            "tasks": {name: repr(task) for name, task in TASKS.items()},
        },
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in ("torch", "numpy", "scikit-learn")}
        | {"sdpa-lib": sdpa_lib.__version__},
        "device": device_name(device),
    }


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


def make_study(
    path: Path,
    comparisons: Iterable[Comparison],
    *,
    workers: int = 1,
    scheduler: str | None = None,
) -> None:
    """Make all runs of a study that ``path`` does not hold yet, and append them.

    Args:
        path: the file; made when it is not there.
        comparisons: what the study consists of; the first ones are made first.
        workers: how many runs are made at a time on this machine, each with one thread.
        scheduler: the address of a Dask scheduler, whose cluster makes the runs instead. A run
            whose worker is lost is made by another one. Runs and records travel as pickles, so that
            whoever answers there can run code here: give only the address of one that you trust.

    Raises:
        ValueError: the file holds a study with other settings: two studies don't mix. Runs of other
            versions and devices do, and say so.
    """
    comparisons = list(comparisons)
    records = _open(path)
    with (
        path.open("a", encoding="utf-8") as file,
        _executor(workers, scheduler) as (pool, at_a_time),
        tqdm(desc="runs", initial=len(records), disable=None) as bar,
    ):
        flying: dict[Future[Record], Run] = {}
        while True:
            jobs = [job for job in plan(records, comparisons) if job.run not in flying.values()]
            for job in jobs[: at_a_time - len(flying)]:
                flying[pool.submit(_make, job)] = job.run
            bar.total = len(records) + len(flying) + len(jobs)  # what is known of so far
            if not flying:
                break
            for done in wait(flying, return_when=FIRST_COMPLETED).done:
                del flying[done]
                records.append(done.result())
                file.write(_to_line(records[-1]))
                file.flush()
                bar.update()


@contextmanager
def _executor(workers: int, scheduler: str | None) -> Iterator[tuple[Executor, int]]:
    """Where runs are made, and how many are handed over at a time."""
    if scheduler is None:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(workers, context) as pool:
            yield pool, workers
    else:
        from distributed import Client  # an extra: pip install -e ".[cluster]"

        with Client(scheduler) as client:  # type: ignore[no-untyped-call]
            workers_there: dict[str, Any] = client.scheduler_info(n_workers=-1)["workers"]
            threads = sum(worker["nthreads"] for worker in workers_there.values())
            yield client.get_executor(pure=False, retries=3), max(1, threads)


def _make(job: Job) -> Record:
    """Make a run in a process that makes nothing else at the same time."""
    torch.set_num_threads(1)
    # weights of saturated rows underflow, and would make the CPU ten times slower
    torch.set_flush_denormal(True)
    return train(job.run, until=job.until)


def _open(path: Path) -> list[Record]:
    """The records that a file holds; a file that is not there yet is begun, a line cut off at the
    end is removed, and where versions or device have changed since, a line says what comes next.
    """
    here = json.loads(json.dumps(provenance(get_device())))
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(here) + "\n", encoding="utf-8")
    text = path.read_text(encoding="utf-8")
    there, records = load_study(path)
    if there[-1]["settings"] != here["settings"]:
        raise ValueError(
            f"path must hold a study made like this one, got {path}, with other settings; give "
            f"another path"
        )
    whole = text[: text.rindex("\n") + 1]
    if there[-1] != here:
        whole += json.dumps(here) + "\n"
    if whole != text:
        path.write_text(whole, encoding="utf-8")
    return records


def _to_line(record: Record) -> str:
    """A record as a line, without what has its default."""
    cell, made = record.run.cell, asdict(record)
    given = {f.name: getattr(cell, f.name) for f in fields(Cell)}
    line = {f.name: given[f.name] for f in fields(Cell) if given[f.name] != f.default}
    line |= {"scaling": record.run.scaling, "rate": record.run.rate, "seed": record.run.seed}
    line |= {name: value for name, value in made.items() if name != "run" and value != {}}
    return json.dumps(line, allow_nan=False) + "\n"


def _record(line: dict[str, Any]) -> Record:
    cell = Cell(**{f.name: line.pop(f.name) for f in fields(Cell) if f.name in line})
    run = Run(cell, line.pop("scaling"), line.pop("rate"), line.pop("seed"))
    return Record(run=run, **line)
