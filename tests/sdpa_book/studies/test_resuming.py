"""Going on with a study: pieces, checkpoints, what is said on the way, and an interruption."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest
import torch

from sdpa_book.studies import NAMES, __main__, resuming
from sdpa_book.studies.depth import load_depth
from sdpa_book.studies.resuming import Checkpoint, resume, resume_tables


@pytest.mark.parametrize("workers", [1, 2])
def test_pieces_come_with_their_keys(workers):
    """From this process, and from processes of their own."""
    numbers = {"one": 1}
    calls = {name: partial(pow, base, 2) for name, base in {"nine": 3, "sixteen": 4}.items()}
    resume(Path("out"), 1, calls, numbers.__setitem__, workers=workers)
    assert numbers == {"one": 1, "nine": 9, "sixteen": 16}


def test_a_piece_that_waits_for_another_is_made_after_it(capsys):
    pieces = []

    def left():
        following = len(pieces) + 1
        return {following: partial(int, following)} if following <= 3 else {}

    resume(Path("out"), 0, left, lambda _, number: pieces.append(number))
    assert pieces == [1, 2, 3]
    assert capsys.readouterr().err == "0 of at least 1 stored in out\n3 of 3 stored in out\n"


def test_without_a_terminal_lines_come_while_a_piece_is_made(monkeypatch, capsys):
    monkeypatch.setattr(resuming, "LINE_EVERY", 0.01)
    progress = ""

    def patient():
        nonlocal progress
        end = time.monotonic() + 60
        while progress.count("\n") < 3 and time.monotonic() < end:
            time.sleep(0.01)
            progress += capsys.readouterr().err

    resume(Path("out"), 4, {"piece": patient}, lambda *_: None)
    assert progress.startswith("4 of 5 stored in out\n" * 3)
    assert capsys.readouterr().err.endswith("5 of 5 stored in out\n")


def test_an_interruption_says_what_is_stored(tmp_path):
    stored, checkpoint = [], tmp_path / "first"
    checkpoint.touch()

    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"^Interrupted: 1 of 2 stored in out; the same"):
        resume(
            Path("out"),
            0,
            {"first": partial(int, 1), "second": interrupted},
            lambda *piece: stored.append(piece),
            state=lambda name: tmp_path / name,
        )
    assert stored == [("first", 1)]
    assert not checkpoint.exists()  # a checkpoint goes once its piece is stored


def test_pieces_made_elsewhere_say_so_in_their_tables(tmp_path):
    path = tmp_path / "tables.json"

    def make(here, names, **settings):
        planned = {("table", name): partial(dict, a=len(name)) for name in names}
        resume_tables(path, planned, here, **settings)
        return resuming.json.loads(path.read_text())

    first = make({"device": "one"}, ["b"], settings={"size": 1})
    assert first == {
        "provenance": {"device": "one", "settings": {"size": 1}},
        "table": {"b": {"a": 1}},
    }
    both = make({"device": "other"}, ["b", "long"], settings={"size": 1})
    assert both["table"] == {"b": {"a": 1}, "long": {"a": 4, "made_with": {"device": "other"}}}
    again = make({"device": "one"}, ["b", "long"], whole=lambda key, piece: key[-1] == "long")
    assert again == both  # what is not whole is made again
    with pytest.raises(ValueError, match="size is 1 and not 2; give another folder"):
        make({"device": "one"}, ["b"], settings={"size": 2})


def test_a_checkpoint_is_due_after_four_minutes(monkeypatch, tmp_path):
    now = 1000.0
    monkeypatch.setattr(resuming.time, "monotonic", lambda: now)
    saved = Checkpoint(tmp_path / "state" / "piece.state")
    assert saved.load() is None
    dues = []
    for _ in range(10):  # ten minutes, a minute a step
        now += 60
        dues.append(saved.is_due())
        if dues[-1]:
            saved.save({"now": now, "bits": torch.tensor([0.1])})
    assert [minute for minute, due in enumerate(dues, 1) if due] == [4, 8]
    assert saved.load() == {"now": 1000.0 + 8 * 60, "bits": torch.tensor([0.1])}
    assert [path.name for path in saved.path.parent.iterdir()] == ["piece.state"]
    now += 3600
    assert not Checkpoint(None).is_due()


@pytest.mark.parametrize("name", NAMES)
def test_a_stored_study_says_so_and_stays_as_it_is(name, tmp_path, capsys):
    plan, run = (import_module(f"sdpa_book.studies.{name}.{part}") for part in ("plan", "run"))
    out = tmp_path / "results"
    shutil.copytree(plan.DECLARED.parent / "results", out, ignore=lambda *_: ["state"])
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    run.make(out, plan.load_plan())
    count, total = re.fullmatch(r"(\d+) of (\d+) stored in .*\n", capsys.readouterr().err).groups()
    assert count == total
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


PLAN = """
[quick]
question = "?"
scalings = ["none"]
d_k = [4]
n_layers = [1]
norms = ["pre"]
seeds = 1
[slow]
question = "?"
scalings = ["none"]
d_k = [8]
n_layers = [1]
norms = ["pre"]
seeds = {}
"""


@pytest.mark.skipif(os.name != "posix", reason="a terminal's interruption, as POSIX has it")
@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupted_command_ends_with_a_message_and_goes_on(
    workers, tmp_path, monkeypatch, capsys
):
    plan, out = tmp_path / "plan.toml", tmp_path / "out"
    plan.write_text(PLAN.format(10**7))  # the second piece takes hours
    options = ["depth", "--plan", plan, "--out", out, "--workers", workers]
    command = [sys.executable, "-m", "sdpa_book.studies", *map(str, options)]
    with subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # a job may ignore it
    ) as process:
        while not (out / "depth.json").exists() and process.poll() is None:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)  # what Ctrl-C does: the workers get it, too
        messages = process.communicate()[1]
    assert process.returncode == 130
    stored = re.escape(str(out / "depth.json"))
    assert re.fullmatch(
        rf"0 of 2 stored in {stored}\n(\d of 2 stored in {stored}\n)*"
        rf"Interrupted: 1 of 2 stored in {stored}; the same command goes on.\n",
        messages,
    )
    (first,) = load_depth(out / "depth.json")[1].values()
    plan.write_text(PLAN.format(1))
    for expected in ("1 of 2 stored", "2 of 2 stored"):
        monkeypatch.setattr(sys, "argv", ["studies", *map(str, options[:-1]), "1"])
        __main__.main()
        assert capsys.readouterr().err.startswith(expected)
    first_again, second = load_depth(out / "depth.json")[1].values()
    assert (first_again, second.cell.d_k) == (first, 8)
