"""Going on with a study where it was: what is stored is not made again, each piece is stored as it
comes, and a piece that takes long goes on from its last checkpoint.
"""

from __future__ import annotations

import hashlib
import io
import json
import multiprocessing
import signal
import sys
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import torch
from tqdm import tqdm

from sdpa_book.studies.making import check_settings, write

K = TypeVar("K", bound=Hashable)
Names = TypeVar("Names", bound=tuple[str, ...])
T = TypeVar("T")
Calls = Mapping[K, Callable[[], Any]]

LINE_EVERY = 50.0
"""Seconds from one line to the next where no terminal shows a bar: at least one a minute."""
SAVE_EVERY = 240.0
"""Seconds after which a checkpoint is due: with the step that is being made, less than five minutes
are lost.
"""


def resume(
    path: Path,
    stored: int,
    left: Calls[K] | Callable[[], Calls[K]],
    store: Callable[[K, Any], None],
    *,
    total: int | None = None,
    state: Callable[[K], Path | None] = lambda _: None,
    workers: int = 1,
    scheduler: str | None = None,
) -> None:
    """Make the pieces of a study that are left, and store each as soon as it is done.

    How many are stored is said at the start and at the end, and meanwhile by a bar on a terminal,
    or else by a line at least every minute.

    Args:
        path: where they are stored, to be named.
        stored: how many are there at the start.
        left: the calls that make the others, each by the key of its piece. Where a piece has to
            wait for another, a function that gives those that can be made now: it is asked again
            after each piece.
        store: is given the key of a piece and what its call returned.
        total: how many pieces the study has, if ``left`` is a function; ``None`` where only making
            them tells.
        state: by the key of a piece where its checkpoint is, to be removed once it is stored.
        workers, scheduler: as in :func:`executor`.

    Raises:
        KeyboardInterrupt: the study was interrupted; the message says what is stored.

    Example:
        >>> numbers = {"one": 1}
        >>> resume(Path("out"), 1, {"two": lambda: 2}, numbers.__setitem__)
        >>> numbers
        {'one': 1, 'two': 2}
    """
    total = total if callable(left) else stored + len(left)
    progress, stored_keys = _Progress(path, stored, total), set[K]()
    flying: dict[Future[Any], K] = {}

    def waiting() -> Calls[K]:
        calls = left() if callable(left) else left
        calls = {key: call for key, call in calls.items() if key not in stored_keys}
        progress.known = progress.stored + len(calls)
        return {key: call for key, call in calls.items() if key not in flying.values()}

    ready = waiting()
    progress.say()
    if not ready:
        return
    try:
        with progress.display(), executor(workers, scheduler) as (pool, at_a_time):
            while ready or flying:
                for key in list(ready)[: at_a_time - len(flying)]:
                    flying[pool.submit(alone, ready[key])] = key
                for done in wait(flying, return_when=FIRST_COMPLETED).done:
                    store(key := flying[done], done.result())
                    if (checkpoint := state(key)) is not None:
                        checkpoint.unlink(missing_ok=True)
                    stored_keys.add(flying.pop(done))
                    progress.stored += 1
                ready = waiting()
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"Interrupted: {progress}; the same command goes on.") from None
    progress.say()


def resume_tables(
    path: Path,
    planned: Calls[Names],
    here: Mapping[str, Any],
    *,
    settings: Mapping[str, Any] | None = None,
    whole: Callable[[Names, Any], bool] = lambda *_: True,
    state: Callable[[Names], Path | None] = lambda _: None,
    workers: int = 1,
    scheduler: str | None = None,
) -> None:
    """Do so in a JSON file of tables within tables, in which a key leads to its piece.

    Args:
        path: of the file.
        planned: all pieces of the study, each with the call that makes it, a table too.
        here: what the file notes as ``provenance`` when it is begun. Where it has changed since, it
            stands as ``made_with`` in a piece.
        settings: what decides the pieces, noted there as well, if anything does besides the keys.
        whole: whether a piece that is stored is all of it.
        state, workers, scheduler: as in :func:`resume`.

    Raises:
        ValueError: the file was made with other settings.
    """
    stored: dict[str, Any] = {"provenance": dict(here)}
    if path.exists():
        stored = json.loads(path.read_text(encoding="utf-8"))
    noted = stored["provenance"]
    if settings is not None:
        check_settings(path, noted.get("settings", {}), settings)
        noted["settings"] = noted.get("settings", {}) | settings
    elsewhere = {} if noted == noted | here else {"made_with": dict(here)}

    def table(key: Names) -> dict[str, Any]:
        """That which holds, or is to hold, a piece."""
        holder = stored
        for name in key[:-1]:
            holder = holder.setdefault(name, {})
        return holder

    def store(key: Names, piece: dict[str, Any]) -> None:
        table(key)[key[-1]] = piece | elsewhere
        write(path, json.dumps(stored, allow_nan=False) + "\n")

    there = {key: table(key).get(key[-1]) for key in planned}
    missing = {
        key: call
        for key, call in planned.items()
        if there[key] is None or not whole(key, there[key])
    }
    done = len(planned) - len(missing)
    resume(path, done, missing, store, state=state, workers=workers, scheduler=scheduler)


class _Progress:
    """How many pieces are stored, of how many; ``known`` are those that are known of."""

    def __init__(self, path: Path, stored: int, total: int | None) -> None:
        self.path, self.stored, self.total = path, stored, total
        self.known = stored

    def __str__(self) -> str:
        more = self.total is None and self.known > self.stored
        of = f"at least {self.known}" if more else f"{self.total or self.known}"
        return f"{self.stored} of {of} stored in {self.path}"

    def say(self) -> None:
        print(self, file=sys.stderr, flush=True)

    @contextmanager
    def display(self) -> Iterator[None]:
        """Within it a thread shows the progress, whatever else goes on."""
        bar = tqdm(total=self.total, initial=self.stored, disable=None)  # on a terminal alone
        over = threading.Event()

        def show() -> None:
            while not over.wait(LINE_EVERY if bar.disable else 0.5):
                if bar.disable:
                    self.say()
                    continue
                bar.total, bar.n = self.total or self.known, self.stored
                bar.refresh()

        shower = threading.Thread(target=show, daemon=True)
        shower.start()
        try:
            yield
        finally:
            over.set()
            shower.join()
            bar.close()


class InThisProcess(Executor):
    """Makes a piece where it is submitted: a process of its own takes seconds to start."""

    def submit(self, function: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        done: Future[T] = Future()
        done.set_result(function(*args, **kwargs))
        return done


class _Processes(ProcessPoolExecutor):
    """Processes that leave an interruption to the one that started them, and print no traceback."""

    def __init__(self, workers: int) -> None:
        context = multiprocessing.get_context("spawn")
        ignore = (signal.SIGINT, signal.SIG_IGN)
        super().__init__(workers, context, initializer=signal.signal, initargs=ignore)

    def submit(self, function: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        if sys.platform == "win32":
            return super().submit(function, *args, **kwargs)
        # a process inherits the mask, and so is deaf before its initializer runs, too
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return super().submit(function, *args, **kwargs)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def executor(workers: int, scheduler: str | None) -> Iterator[tuple[Executor, int]]:
    """Where pieces are made, and how many at a time. What is being made when it is left by an
    exception is given up.

    Args:
        workers: processes of this machine; with one, this process.
        scheduler: the address of a Dask scheduler, whose cluster makes the pieces instead. One
            whose worker is lost is made by another. Calls and results travel as pickles, so that
            whoever answers there can run code here: give only the address of one that you trust.
    """
    if scheduler is None and workers == 1:
        yield InThisProcess(), 1
    elif scheduler is None:
        others = multiprocessing.active_children()
        with _Processes(workers) as pool:
            try:
                yield pool, workers
            except BaseException:
                for process in set(multiprocessing.active_children()).difference(others):
                    process.terminate()
                raise
    else:
        from distributed import Client  # an extra: pip install -e ".[cluster]"

        with Client(scheduler) as client:  # type: ignore[no-untyped-call]
            workers_there: dict[str, Any] = client.scheduler_info(n_workers=-1)["workers"]
            threads = sum(worker["nthreads"] for worker in workers_there.values())
            yield client.get_executor(pure=False, retries=3), max(1, threads)


def alone(call: Callable[[], T]) -> T:
    """The result of a call with one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return call()
    finally:
        torch.set_num_threads(threads)


def state_path(out: Path, *of: object) -> Path:
    """The file of a piece's checkpoint in a study's folder, named by all that the piece depends on.

    Example:
        >>> state_path(Path("out"), "piece", {"torch": "2.9"}).parent.as_posix()
        'out/state'
    """
    digest = hashlib.sha256(repr(of).encode()).hexdigest()
    return out / "state" / f"{digest[:16]}.state"


class Checkpoint:
    """The state from which a run goes on, in a file.

    Args:
        path: of the file; ``None`` keeps none.
    """

    def __init__(self, path: Path | None) -> None:
        self.path, self._saved_at = path, time.monotonic()

    def load(self) -> Any:
        """The state that was saved last, and ``None`` where there is none."""
        if self.path is None or not self.path.exists():
            return None
        return torch.load(self.path, weights_only=True)

    def save(self, state: Any) -> None:
        """Save a state."""
        if self.path is not None:
            content = io.BytesIO()
            torch.save(state, content)
            write(self.path, content.getvalue())
        self._saved_at = time.monotonic()

    def is_due(self) -> bool:
        """Whether the last state was saved ``SAVE_EVERY`` ago."""
        return self.path is not None and time.monotonic() - self._saved_at >= SAVE_EVERY
